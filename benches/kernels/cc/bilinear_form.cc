// x^T A y, and its gradients A y, x y^T, A^T x by x, A, y.

#include "dot.h"
#include "input.h"
#include <algorithm>

extern "C" void bilinear_form_value(const Input *in, double *out) {
  const int64_t m = in[1].size[0], n = in[1].size[1];
  const double *x = in[0].floats, *a = in[1].floats, *y = in[2].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < m; i++) {
    sum += x[i] * dot(a + i * n, y, n);
  }
  *out = sum;
}

extern "C" void bilinear_form_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[1].size[0], n = in[1].size[1];
  const double *x = in[0].floats, *a = in[1].floats, *y = in[2].floats;
  double *dx = out, *da = out + m, *dy = da + m * n;
  std::fill_n(dy, n, 0.0);
  for (int64_t i = 0; i < m; i++) {
    const double xi = x[i], *row = a + i * n;
    double *drow = da + i * n, sum = 0.0;
    for (int64_t j = 0; j < n; j++) {
      drow[j] = xi * y[j];
      dy[j] += xi * row[j];
      sum += row[j] * y[j];
    }
    dx[i] = sum;
  }
}
