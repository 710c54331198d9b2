// Linear least squares: |A x - b|^2 / 2, and its gradient by x, A^T (A x - b).

#include "input.h"
#include <algorithm>

namespace {

struct System {
  const double *a, *b, *x;
  int64_t m, n;

  explicit System(const Input *in)
      : a(in[0].floats), b(in[1].floats), x(in[2].floats), m(in[0].size[0]), n(in[0].size[1]) {}

  double residual(int64_t i) const {
    double sum = -b[i];
    for (int64_t j = 0; j < n; j++) {
      sum += a[i * n + j] * x[j];
    }
    return sum;
  }
};

} // namespace

extern "C" void llsq_value(const Input *in, double *out) {
  const System s(in);
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < s.m; i++) {
    const double r = s.residual(i);
    sum += r * r;
  }
  *out = 0.5 * sum;
}

extern "C" void llsq_gradient(const Input *in, double *__restrict out) {
  const System s(in);
  const int64_t n = s.n;
  std::fill_n(out, n, 0.0);
#pragma omp parallel for reduction(+ : out[ : n])
  for (int64_t i = 0; i < s.m; i++) {
    const double r = s.residual(i), *row = s.a + i * n;
    for (int64_t j = 0; j < n; j++) {
      out[j] += r * row[j];
    }
  }
}
