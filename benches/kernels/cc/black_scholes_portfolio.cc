// The value of a portfolio of European options by Black and Scholes, and its gradients by spots, strikes, vols, times,
// amounts and rate.
//
//   a = vol sqrt t,   d1 = (log(s / k) + rate t) / a + a / 2,   d2 = d1 - a,   b = k exp(-rate t)
//   call = s P(d1) - b P(d2),   put = call + b - s
//   call_s = P(d1),   call_k = - P(d2) b / k,   call_a = s p(d1),   call_rate = t b P(d2),
//   call_t = call_a vol / (2 sqrt t) + rate b P(d2)      (s p(d1) = b p(d2))

#include "input.h"
#include <cmath>

namespace {

double cdf(double x) {
  return 0.5 + 0.5 * std::erf(x * M_SQRT1_2);
}

double density(double x) {
  return 0.3989422804014327 * std::exp(-0.5 * x * x);
}

} // namespace

extern "C" void black_scholes_portfolio_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0];
  const double *spots = in[0].floats, *strikes = in[1].floats, *vols = in[2].floats, *times = in[3].floats;
  const double *amounts = in[4].floats, rate = *in[6].floats;
  const int64_t *kinds = in[5].integers;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double s = spots[i], k = strikes[i], t = times[i], a = vols[i] * std::sqrt(t);
    const double d1 = (std::log(s / k) + rate * t) / a + 0.5 * a, b = k * std::exp(-rate * t);
    const double call = s * cdf(d1) - b * cdf(d1 - a);
    sum += amounts[i] * (kinds[i] == 1 ? call : call + b - s);
  }
  *out = sum;
}

extern "C" void black_scholes_portfolio_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0];
  const double *spots = in[0].floats, *strikes = in[1].floats, *vols = in[2].floats, *times = in[3].floats;
  const double *amounts = in[4].floats, rate = *in[6].floats;
  const int64_t *kinds = in[5].integers;
  double *ds = out, *dk = ds + n, *dv = dk + n, *dt = dv + n, *da = dt + n, by_rate = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double s = spots[i], k = strikes[i], t = times[i], root = std::sqrt(t), a = vols[i] * root;
    const double d1 = (std::log(s / k) + rate * t) / a + 0.5 * a, discount = std::exp(-rate * t), b = k * discount;
    const double below = kinds[i] == 1 ? 0.0 : 1.0; // what a put has less of both
    const double delta = cdf(d1) - below, bond = cdf(d1 - a) - below, w = amounts[i], vega = w * s * density(d1);
    ds[i] = w * delta;
    dk[i] = -w * discount * bond;
    dv[i] = vega * root;
    dt[i] = 0.5 * vega * vols[i] / root + w * rate * b * bond;
    da[i] = s * delta - b * bond;
    by_rate += w * t * b * bond;
  }
  out[5 * n] = by_rate;
}
