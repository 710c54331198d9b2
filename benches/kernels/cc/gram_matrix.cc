// The squares of E = X^T X - 1, over 4, and its gradient X E.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

// E, of which only what is not above the diagonal is summed up.
std::vector<double> rest(const double *x, int64_t n, int64_t d) {
  std::vector<double> e(d * d);
  for (int64_t i = 0; i < d; i++) {
    e[i * d + i] = -1.0;
  }
  double *__restrict to = e.data();
  int64_t r = 0;
  for (; r + 4 <= n; r += 4) {
    const double *x0 = x + r * d, *x1 = x0 + d, *x2 = x1 + d, *x3 = x2 + d;
    for (int64_t i = 0; i < d; i++) {
      for (int64_t j = 0; j <= i; j++) {
        to[i * d + j] += x0[i] * x0[j] + x1[i] * x1[j] + x2[i] * x2[j] + x3[i] * x3[j];
      }
    }
  }
  for (; r < n; r++) {
    for (int64_t i = 0; i < d; i++) {
      for (int64_t j = 0; j <= i; j++) {
        to[i * d + j] += x[r * d + i] * x[r * d + j];
      }
    }
  }
  for (int64_t i = 0; i < d; i++) {
    for (int64_t j = 0; j < i; j++) {
      to[j * d + i] = to[i * d + j];
    }
  }
  return e;
}

} // namespace

extern "C" void gram_matrix_value(const Input *in, double *out) {
  double sum = 0.0;
  for (double e : rest(in[0].floats, in[0].size[0], in[0].size[1])) {
    sum += e * e;
  }
  *out = 0.25 * sum;
}

extern "C" void gram_matrix_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], d = in[0].size[1];
  const double *x = in[0].floats;
  const std::vector<double> e = rest(x, n, d);
  std::fill_n(out, n * d, 0.0);
  for (int64_t r = 0; r < n; r++) {
    double *to = out + r * d;
    for (int64_t i = 0; i < d; i++) {
      const double xi = x[r * d + i], *row = &e[i * d];
      for (int64_t j = 0; j < d; j++) {
        to[j] += xi * row[j];
      }
    }
  }
}
