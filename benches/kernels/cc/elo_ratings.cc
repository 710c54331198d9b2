// Minus the log likelihood of matches, d = r_first + advantage - r_second: sum of log(1 + exp d) - score d, and
// |r|^2 / 20; its gradients by ratings and advantage: sigmoid(d) - score for each match.

#include "input.h"
#include <cmath>

extern "C" void elo_ratings_value(const Input *in, double *out) {
  const int64_t players = in[0].size[0], n = in[3].size[0];
  const double *ratings = in[0].floats, advantage = *in[1].floats, *scores = in[3].floats;
  const int64_t *matches = in[2].integers;
  double sum = 0.0, squares = 0.0;
  for (int64_t m = 0; m < n; m++) {
    const double d = ratings[matches[2 * m]] + advantage - ratings[matches[2 * m + 1]];
    sum += (d > 0.0 ? d : 0.0) + std::log(1.0 + std::exp(-std::fabs(d))) - scores[m] * d;
  }
  for (int64_t p = 0; p < players; p++) {
    squares += ratings[p] * ratings[p];
  }
  *out = sum + 0.05 * squares;
}

extern "C" void elo_ratings_gradient(const Input *in, double *__restrict out) {
  const int64_t players = in[0].size[0], n = in[3].size[0];
  const double *ratings = in[0].floats, advantage = *in[1].floats, *scores = in[3].floats;
  const int64_t *matches = in[2].integers;
  for (int64_t p = 0; p < players; p++) {
    out[p] = 0.1 * ratings[p];
  }
  double by_advantage = 0.0;
  for (int64_t m = 0; m < n; m++) {
    const int64_t first = matches[2 * m], second = matches[2 * m + 1];
    const double d = ratings[first] + advantage - ratings[second], g = 1.0 / (1.0 + std::exp(-d)) - scores[m];
    out[first] += g;
    out[second] -= g;
    by_advantage += g;
  }
  out[players] = by_advantage;
}
