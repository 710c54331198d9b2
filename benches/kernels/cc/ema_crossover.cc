// The gain of holding tanh (k (f_t - s_t)) of an asset, where f and s are a fast and a slow moving average of its
// price, and its gradients by the rates a and b of the averages, and by k.
//
//   f_t = f_{t-1} + a (p_t - f_{t-1}), s_t = s_{t-1} + b (p_t - s_{t-1});  the sum of tanh (..) (p_{t+1} - p_t)

#include "input.h"
#include <cmath>
#include <vector>

namespace {

// Leaves the spreads f_t - s_t for all days but the last.
void spreads(double a, double b, const double *p, double *__restrict spread, int64_t days) {
  double fast = p[0], slow = p[0];
  for (int64_t t = 0; t < days; t++) {
    fast += a * (p[t] - fast);
    slow += b * (p[t] - slow);
    spread[t] = fast - slow;
  }
}

} // namespace

extern "C" void ema_crossover_value(const Input *in, double *out) {
  const double k = *in[2].floats, *p = in[3].floats;
  const int64_t days = in[3].size[0] - 1;
  std::vector<double> spread(days);
  spreads(*in[0].floats, *in[1].floats, p, spread.data(), days);
  double gain = 0.0;
  for (int64_t t = 0; t < days; t++) {
    gain += std::tanh(k * spread[t]) * (p[t + 1] - p[t]);
  }
  *out = gain;
}

extern "C" void ema_crossover_gradient(const Input *in, double *__restrict out) {
  const double a = *in[0].floats, b = *in[1].floats, k = *in[2].floats, *p = in[3].floats;
  const int64_t days = in[3].size[0] - 1;
  std::vector<double> scratch(3 * days);
  double *__restrict d = scratch.data(), *__restrict fasts = d + days, *__restrict slows = fasts + days;
  double fast = p[0], slow = p[0];
  for (int64_t t = 0; t < days; t++) {
    fasts[t] = fast; // before the step
    slows[t] = slow;
    fast += a * (p[t] - fast);
    slow += b * (p[t] - slow);
    d[t] = fast - slow;
  }
  double dk = 0.0;
  for (int64_t t = 0; t < days; t++) {
    const double held = std::tanh(k * d[t]), to = (1.0 - held * held) * (p[t + 1] - p[t]);
    dk += to * d[t];
    d[t] = k * to;
  }
  double da = 0.0, db = 0.0, dfast = 0.0, dslow = 0.0;
  for (int64_t t = days; t-- > 0;) {
    dfast += d[t];
    dslow -= d[t];
    da += dfast * (p[t] - fasts[t]);
    db += dslow * (p[t] - slows[t]);
    dfast *= 1.0 - a;
    dslow *= 1.0 - b;
  }
  out[0] = da;
  out[1] = db;
  out[2] = dk;
}
