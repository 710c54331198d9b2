// The sum over points of Huber's loss, r^2 / 2 for |r| <= cut, else cut (|r| - cut / 2), r = y - X beta; its gradient
// by beta.

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>

namespace {

double residual(const Input *in, int64_t i) {
  const int64_t d = in[1].size[1];
  const double *beta = in[0].floats, *row = in[1].floats + i * d;
  return in[2].floats[i] - dot(row, beta, d);
}

} // namespace

extern "C" void huber_regression_value(const Input *in, double *out) {
  const int64_t n = in[1].size[0];
  const double cut = *in[3].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double a = std::fabs(residual(in, i)), c = std::min(a, cut);
    sum += c * (a - 0.5 * c);
  }
  *out = sum;
}

extern "C" void huber_regression_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double cut = *in[3].floats;
  std::fill_n(out, d, 0.0);
  for (int64_t i = 0; i < n; i++) {
    const double w = std::max(-cut, std::min(cut, residual(in, i))), *row = in[1].floats + i * d;
    for (int64_t j = 0; j < d; j++) {
      out[j] -= w * row[j];
    }
  }
}
