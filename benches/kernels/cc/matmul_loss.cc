// The sum of squares of R = A B - C, and its gradients: 2 R B^T, 2 A^T R, -2 R.

#include "input.h"
#include "multiply.h"
#include <algorithm>
#include <vector>

namespace {

void residual(const Input *in, double *r) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  for (int64_t e = 0; e < m * n; e++) {
    r[e] = -in[2].floats[e];
  }
  multiply({in[0].floats, inner, 1}, in[1].floats, r, m, inner, n);
}

} // namespace

extern "C" void matmul_loss_value(const Input *in, double *out) {
  const int64_t count = in[0].size[0] * in[1].size[1];
  std::vector<double> r(count);
  residual(in, r.data());
  double sum = 0.0;
  for (double x : r) {
    sum += x * x;
  }
  *out = sum;
}

extern "C" void matmul_loss_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  const double *a = in[0].floats, *b = in[1].floats;
  double *da = out, *db = da + m * inner, *dc = db + inner * n;
  std::vector<double> transposed(n * inner);
  for (int64_t k = 0; k < inner; k++) {
    for (int64_t j = 0; j < n; j++) {
      transposed[j * inner + k] = b[k * n + j];
    }
  }
  residual(in, dc);
  for (int64_t e = 0; e < m * n; e++) {
    dc[e] *= 2.0;
  }
  std::fill(da, dc, 0.0);
  multiply({dc, n, 1}, transposed.data(), da, m, n, inner);
  multiply({a, 1, inner}, dc, db, inner, m, n);
  for (int64_t e = 0; e < m * n; e++) {
    dc[e] = -dc[e];
  }
}
