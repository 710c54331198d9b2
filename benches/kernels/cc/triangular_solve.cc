// f = |x|^2 / 2 with L x = b, L lower triangular; its gradients by L (zero above the diagonal) and b.
//
//   L^T w = x,   df/db = w,   df/dL_ij = - w_i x_j for j <= i

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

std::vector<double> solved(const Input *in) {
  const int64_t n = in[1].size[0];
  const double *l = in[0].floats, *b = in[1].floats;
  std::vector<double> x(n);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (int64_t j = 0; j < i; j++) {
      sum += l[i * n + j] * x[j];
    }
    x[i] = (b[i] - sum) / l[i * n + i];
  }
  return x;
}

} // namespace

extern "C" void triangular_solve_value(const Input *in, double *out) {
  double sum = 0.0;
  for (double x : solved(in)) {
    sum += x * x;
  }
  *out = 0.5 * sum;
}

extern "C" void triangular_solve_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0];
  const double *l = in[0].floats;
  const std::vector<double> solution = solved(in);
  const double *x = solution.data();
  double *dl = out, *w = out + n * n;
  std::copy_n(x, n, w);
  for (int64_t i = n - 1; i >= 0; i--) {
    const double *row = l + i * n, wi = w[i] / row[i];
    double *drow = dl + i * n;
    w[i] = wi;
    for (int64_t j = 0; j < i; j++) {
      w[j] -= wi * row[j];
      drow[j] = -wi * x[j];
    }
    drow[i] = -wi * x[i];
    std::fill(drow + i + 1, drow + n, 0.0);
  }
}
