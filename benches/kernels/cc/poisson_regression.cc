// sum of exp(eta) - y eta + log y!, eta = X beta, and its gradient X^T (exp(eta) - y) by beta.

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>

extern "C" void poisson_regression_value(const Input *in, double *out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double *beta = in[0].floats, *x = in[1].floats;
  const int64_t *y = in[2].integers;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double eta = dot(x + i * d, beta, d);
    sum += std::exp(eta) - y[i] * eta + std::lgamma(y[i] + 1.0);
  }
  *out = sum;
}

extern "C" void poisson_regression_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double *beta = in[0].floats, *x = in[1].floats;
  const int64_t *y = in[2].integers;
  std::fill_n(out, d, 0.0);
  for (int64_t i = 0; i < n; i++) {
    const double *row = x + i * d, r = std::exp(dot(row, beta, d)) - y[i];
    for (int64_t j = 0; j < d; j++) {
      out[j] += r * row[j];
    }
  }
}
