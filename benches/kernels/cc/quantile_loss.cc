// The mean over points of tau r for r > 0, else (tau - 1) r, r = y - X beta, and its gradient by beta.

#include "dot.h"
#include "input.h"
#include <algorithm>

namespace {

double residual(const Input *in, int64_t i) {
  const int64_t d = in[1].size[1];
  const double *beta = in[0].floats, *row = in[1].floats + i * d;
  return in[2].floats[i] - dot(row, beta, d);
}

} // namespace

extern "C" void quantile_loss_value(const Input *in, double *out) {
  const int64_t n = in[1].size[0];
  const double tau = *in[3].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double r = residual(in, i);
    sum += std::max(tau * r, (tau - 1.0) * r);
  }
  *out = sum / n;
}

extern "C" void quantile_loss_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double above = -*in[3].floats / n, below = above + 1.0 / n;
  std::fill_n(out, d, 0.0);
  for (int64_t i = 0; i < n; i++) {
    const double w = residual(in, i) > 0.0 ? above : below, *row = in[1].floats + i * d;
    for (int64_t j = 0; j < d; j++) {
      out[j] += w * row[j];
    }
  }
}
