// log |det A| by LU without pivoting, and its gradient, the transpose of A's inverse.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// L below the diagonal, U on and above it.
std::vector<double> factored(const double *a, int64_t n) {
  std::vector<double> m(a, a + n * n);
  for (int64_t k = 0; k < n; k++) {
    const double *pivot = &m[k * n], inverse = 1.0 / pivot[k];
    for (int64_t i = k + 1; i < n; i++) {
      double *__restrict row = &m[i * n];
      const double l = row[k] * inverse;
      row[k] = l;
      for (int64_t j = k + 1; j < n; j++) {
        row[j] -= l * pivot[j];
      }
    }
  }
  return m;
}

} // namespace

extern "C" void determinant_lu_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0];
  const std::vector<double> m = factored(in[0].floats, n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += std::log(std::fabs(m[i * n + i]));
  }
  *out = sum;
}

extern "C" void determinant_lu_gradient(const Input *in, double *__restrict out) {
  // A = L U, so A^T = U^T L^T. X = A^-T solves U^T Y = 1, L^T X = Y; all columns of X at once, by rows.
  const int64_t n = in[0].size[0];
  const std::vector<double> m = factored(in[0].floats, n);
  std::fill_n(out, n * n, 0.0);
  for (int64_t i = 0; i < n; i++) {
    double *row = out + i * n;
    row[i] = 1.0;
    for (int64_t k = 0; k < i; k++) {
      const double u = m[k * n + i], *above = out + k * n;
      for (int64_t j = 0; j <= k; j++) {
        row[j] -= u * above[j];
      }
    }
    const double inverse = 1.0 / m[i * n + i];
    for (int64_t j = 0; j <= i; j++) {
      row[j] *= inverse;
    }
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    double *row = out + i * n;
    for (int64_t k = i + 1; k < n; k++) {
      const double l = m[k * n + i], *below = out + k * n;
      for (int64_t j = 0; j < n; j++) {
        row[j] -= l * below[j];
      }
    }
  }
}
