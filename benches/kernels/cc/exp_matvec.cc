// sum (exp (W x)), and its gradients by W and x.

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>

extern "C" void exp_matvec_value(const Input *in, double *out) {
  const int64_t m = in[0].size[0], n = in[0].size[1];
  const double *w = in[0].floats, *x = in[1].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < m; i++) {
    sum += std::exp(dot(w + i * n, x, n));
  }
  *out = sum;
}

extern "C" void exp_matvec_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], n = in[0].size[1];
  const double *w = in[0].floats, *x = in[1].floats;
  double *dw = out, *dx = out + m * n;
  std::fill_n(dx, n, 0.0);
  for (int64_t i = 0; i < m; i++) {
    const double *row = w + i * n, e = std::exp(dot(row, x, n));
    double *drow = dw + i * n;
    for (int64_t j = 0; j < n; j++) {
      drow[j] = e * x[j];
      dx[j] += e * row[j];
    }
  }
}
