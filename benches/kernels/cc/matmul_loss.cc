// The sum of squares of R = A B - C, and its gradients: 2 R B^T, 2 A^T R, -2 R.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

// row += sum over k of a_k b_k, four rows of b at a time.
void combine(const double *__restrict a, const double *__restrict b, int64_t inner, int64_t n, double *__restrict row) {
  int64_t k = 0;
  for (; k + 4 <= inner; k += 4) {
    const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
    const double *b0 = b + k * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
    for (int64_t j = 0; j < n; j++) {
      row[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
  }
  for (; k < inner; k++) {
    for (int64_t j = 0; j < n; j++) {
      row[j] += a[k] * b[k * n + j];
    }
  }
}

void residual(const double *a, const double *b, const double *c, int64_t inner, int64_t n, double *__restrict row) {
  for (int64_t j = 0; j < n; j++) {
    row[j] = -c[j];
  }
  combine(a, b, inner, n, row);
}

} // namespace

extern "C" void matmul_loss_value(const Input *in, double *out) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  const double *a = in[0].floats, *b = in[1].floats, *c = in[2].floats;
  std::vector<double> row(n);
  double sum = 0.0;
  for (int64_t i = 0; i < m; i++) {
    residual(a + i * inner, b, c + i * n, inner, n, row.data());
    for (int64_t j = 0; j < n; j++) {
      sum += row[j] * row[j];
    }
  }
  *out = sum;
}

extern "C" void matmul_loss_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  const double *a = in[0].floats, *b = in[1].floats, *c = in[2].floats;
  double *da = out, *db = da + m * inner, *dc = db + inner * n;
  std::vector<double> transposed(n * inner);
  for (int64_t k = 0; k < inner; k++) {
    for (int64_t j = 0; j < n; j++) {
      transposed[j * inner + k] = b[k * n + j];
    }
  }
  std::fill(da, dc, 0.0);
  for (int64_t i = 0; i < m; i++) {
    double *row = dc + i * n;
    residual(a + i * inner, b, c + i * n, inner, n, row);
    for (int64_t j = 0; j < n; j++) {
      row[j] *= 2.0;
    }
    combine(row, transposed.data(), n, inner, da + i * inner);
  }
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) {
    const double *r0 = dc + i * n, *r1 = r0 + n, *r2 = r1 + n, *r3 = r2 + n;
    for (int64_t k = 0; k < inner; k++) {
      const double *ak = a + i * inner + k;
      const double a0 = ak[0], a1 = ak[inner], a2 = ak[2 * inner], a3 = ak[3 * inner];
      double *to = db + k * n;
      for (int64_t j = 0; j < n; j++) {
        to[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j];
      }
    }
  }
  for (; i < m; i++) {
    for (int64_t k = 0; k < inner; k++) {
      for (int64_t j = 0; j < n; j++) {
        db[k * n + j] += a[i * inner + k] * dc[i * n + j];
      }
    }
  }
  for (int64_t e = 0; e < m * n; e++) {
    dc[e] = -dc[e];
  }
}
