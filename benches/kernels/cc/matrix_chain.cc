// The trace of M_0 M_1 .. , and its gradient: d/dM_t = (M_{t+1} .. M_0 .. M_{t-1})^T, of what stands behind it times
// what stands before it.
//
//   P_t = M_0 .. M_{t-1},   S_t = M_{t+1} ..,   d/dM_t = P_t^T S_t^T = (S_t P_t)^T

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

// c = a b
void multiply(const double *__restrict a, const double *__restrict b, double *__restrict c, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double *row = c + i * n;
    std::fill_n(row, n, 0.0);
    for (int64_t k = 0; k < n; k++) {
      const double x = a[i * n + k];
      for (int64_t j = 0; j < n; j++) {
        row[j] += x * b[k * n + j];
      }
    }
  }
}

void transpose(const double *__restrict a, double *__restrict b, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      b[j * n + i] = a[i * n + j];
    }
  }
}

} // namespace

extern "C" void matrix_chain_value(const Input *in, double *out) {
  const int64_t count = in[0].size[0], n = in[0].size[1], square = n * n;
  const double *m = in[0].floats;
  std::vector<double> p(m, m + square), q(square);
  for (int64_t t = 1; t < count; t++) {
    multiply(p.data(), m + t * square, q.data(), n);
    p.swap(q);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += p[i * n + i];
  }
  *out = sum;
}

extern "C" void matrix_chain_gradient(const Input *in, double *__restrict out) {
  const int64_t count = in[0].size[0], n = in[0].size[1], square = n * n;
  const double *m = in[0].floats;
  // Prefixes; the one of t = 0 is the unit matrix, and is left out.
  std::vector<double> prefixes(count * square), suffix(square), next(square), product(square);
  std::copy_n(m, square, &prefixes[0]);
  for (int64_t t = 1; t + 1 < count; t++) {
    multiply(&prefixes[(t - 1) * square], m + t * square, &prefixes[t * square], n);
  }
  for (int64_t i = 0; i < n; i++) {
    suffix[i * n + i] = 1.0;
  }
  for (int64_t t = count - 1; t > 0; t--) {
    if (t == count - 1) {
      transpose(&prefixes[(t - 1) * square], out + t * square, n);
      std::copy_n(m + t * square, square, suffix.data());
      continue;
    }
    multiply(suffix.data(), &prefixes[(t - 1) * square], product.data(), n);
    transpose(product.data(), out + t * square, n);
    multiply(m + t * square, suffix.data(), next.data(), n);
    suffix.swap(next);
  }
  transpose(suffix.data(), out, n);
}
