// |A x - b|^2 / 2 + exp(lambda) |x|^2 / 2, and its gradients A^T (A x - b) + exp(lambda) x and exp(lambda) |x|^2 / 2
// by x and lambda.

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>

extern "C" void llsq_ridge_value(const Input *in, double *out) {
  const int64_t m = in[0].size[0], n = in[0].size[1];
  const double *a = in[0].floats, *b = in[1].floats, *x = in[2].floats;
  double sum = std::exp(*in[3].floats) * dot(x, x, n);
  for (int64_t i = 0; i < m; i++) {
    const double r = dot(a + i * n, x, n) - b[i];
    sum += r * r;
  }
  *out = 0.5 * sum;
}

extern "C" void llsq_ridge_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], n = in[0].size[1];
  const double *a = in[0].floats, *b = in[1].floats, *x = in[2].floats, weight = std::exp(*in[3].floats);
  for (int64_t j = 0; j < n; j++) {
    out[j] = weight * x[j];
  }
  out[n] = 0.5 * weight * dot(x, x, n);
  for (int64_t i = 0; i < m; i++) {
    const double *row = a + i * n, r = dot(row, x, n) - b[i];
    for (int64_t j = 0; j < n; j++) {
      out[j] += r * row[j];
    }
  }
}
