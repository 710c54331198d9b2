// Squared errors of Elo's predictions p = sigmoid(r_a - r_b) while ratings are updated, r_a += k e, r_b -= k e with
// e = score - p; gradients by the first ratings and k.
//
//   backwards, g the adjoint of ratings:  h = g_a - g_b,  dk += e h,  t = - (2 e + k h) p (1 - p),  g_a += t,  g_b -= t

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Season {
  int64_t players, n;
  const double *scores;
  const int64_t *matches;
  double k;
  std::vector<double> ratings;

  explicit Season(const Input *in)
      : players(in[0].size[0]), n(in[3].size[0]), scores(in[3].floats), matches(in[2].integers), k(*in[1].floats),
        ratings(in[0].floats, in[0].floats + players) {}

  // Plays a match; returns the prediction.
  double play(int64_t m) {
    double &a = ratings[matches[2 * m]], &b = ratings[matches[2 * m + 1]];
    const double p = 1.0 / (1.0 + std::exp(b - a)), points = k * (scores[m] - p);
    a += points;
    b -= points;
    return p;
  }
};

} // namespace

extern "C" void elo_updates_value(const Input *in, double *out) {
  Season s(in);
  double sum = 0.0;
  for (int64_t m = 0; m < s.n; m++) {
    const double e = s.scores[m] - s.play(m);
    sum += e * e;
  }
  *out = sum;
}

extern "C" void elo_updates_gradient(const Input *in, double *__restrict out) {
  Season s(in);
  std::vector<double> predictions(s.n);
  for (int64_t m = 0; m < s.n; m++) {
    predictions[m] = s.play(m);
  }
  std::fill_n(out, s.players, 0.0);
  double by_k = 0.0;
  for (int64_t m = s.n - 1; m >= 0; m--) {
    double &a = out[s.matches[2 * m]], &b = out[s.matches[2 * m + 1]];
    const double p = predictions[m], e = s.scores[m] - p, h = a - b;
    by_k += e * h;
    const double t = -(2.0 * e + s.k * h) * p * (1.0 - p);
    a += t;
    b -= t;
  }
  out[s.players] = by_k;
}
