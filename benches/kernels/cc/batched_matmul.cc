// The sum over a batch of squares of R = A B - C, and its gradients: 2 R B^T, 2 A^T R, -2 R.

#include "input.h"
#include <algorithm>

namespace {

// All of r = a b - c, for matrices of 4 x 4.
inline void residual(const double *__restrict a, const double *__restrict b, const double *__restrict c,
                     double *__restrict r) {
  for (int i = 0; i < 4; i++) {
    double row[4];
    for (int j = 0; j < 4; j++) {
      row[j] = -c[4 * i + j];
    }
    for (int k = 0; k < 4; k++) {
      for (int j = 0; j < 4; j++) {
        row[j] += a[4 * i + k] * b[4 * k + j];
      }
    }
    std::copy_n(row, 4, r + 4 * i);
  }
}

} // namespace

extern "C" void batched_matmul_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0];
  double lanes[4] = {};
  for (int64_t t = 0; t < n; t++) {
    double r[16];
    residual(in[0].floats + 16 * t, in[1].floats + 16 * t, in[2].floats + 16 * t, r);
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 4; j++) {
        lanes[j] += r[4 * i + j] * r[4 * i + j];
      }
    }
  }
  *out = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

extern "C" void batched_matmul_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0];
  for (int64_t t = 0; t < n; t++) {
    const double *a = in[0].floats + 16 * t, *b = in[1].floats + 16 * t;
    double *da = out + 16 * t, *db = da + 16 * n, *dc = db + 16 * n;
    double r[16], bt[16];
    residual(a, b, in[2].floats + 16 * t, r);
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 4; j++) {
        r[4 * i + j] *= 2.0;
        dc[4 * i + j] = -r[4 * i + j];
        bt[4 * j + i] = b[4 * i + j];
      }
    }
    for (int i = 0; i < 4; i++) {
      double row[4] = {}, column[4] = {};
      for (int j = 0; j < 4; j++) {
        for (int k = 0; k < 4; k++) {
          row[k] += r[4 * i + j] * bt[4 * j + k];    // row i of 2 R B^T
          column[k] += a[4 * j + i] * r[4 * j + k];  // row i of 2 A^T R
        }
      }
      std::copy_n(row, 4, da + 4 * i);
      std::copy_n(column, 4, db + 4 * i);
    }
  }
}
