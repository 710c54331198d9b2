// The Rayleigh quotient x^T A x after 20 steps of x <- A x / |A x|, and its gradients by A and the first vector.
//
//   f = x^T A x, |x| = 1:   dx = A x + A^T x,   dA = x x^T
//   x' = y / r, y = A x, r = |y|:   dy = (dx' - (x' . dx') x') / r,   dx = A^T dy,   dA += dy x^T

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr int64_t STEPS = 20;

void times(const double *a, const double *x, double *__restrict y, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    y[i] = dot(a + i * n, x, n);
  }
}

double normalise(double *x, int64_t n) {
  const double norm = std::sqrt(dot(x, x, n)), inverse = 1.0 / norm;
  for (int64_t i = 0; i < n; i++) {
    x[i] *= inverse;
  }
  return norm;
}

} // namespace

extern "C" void power_iteration_value(const Input *in, double *out) {
  const int64_t n = in[1].size[0];
  const double *a = in[0].floats;
  std::vector<double> x(in[1].floats, in[1].floats + n), y(n);
  for (int64_t k = 0; k < STEPS; k++) {
    times(a, x.data(), y.data(), n);
    normalise(y.data(), n);
    x.swap(y);
  }
  times(a, x.data(), y.data(), n);
  *out = dot(x.data(), y.data(), n);
}

extern "C" void power_iteration_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0];
  const double *a = in[0].floats;
  double *da = out, *dx = out + n * n;
  // All vectors, and all adjoints: so dA is one pass over the matrix, by rows.
  std::vector<double> states((STEPS + 1) * n), adjoints((STEPS + 1) * n), norms(STEPS), image(n);
  std::copy_n(in[1].floats, n, states.data());
  for (int64_t k = 0; k < STEPS; k++) {
    times(a, &states[k * n], &states[(k + 1) * n], n);
    norms[k] = normalise(&states[(k + 1) * n], n);
  }
  const double *last = &states[STEPS * n];
  times(a, last, dx, n);
  std::copy_n(last, n, &adjoints[STEPS * n]);
  for (int64_t k = STEPS; k >= 0; k--) {
    double *dy = &adjoints[k * n];
    if (k < STEPS) {
      const double *x = &states[(k + 1) * n], along = dot(x, dx, n), inverse = 1.0 / norms[k];
      for (int64_t i = 0; i < n; i++) {
        dy[i] = (dx[i] - along * x[i]) * inverse;
      }
      std::fill_n(dx, n, 0.0);
    }
    for (int64_t i = 0; i < n; i++) {
      const double e = dy[i], *row = a + i * n;
      for (int64_t j = 0; j < n; j++) {
        dx[j] += e * row[j];
      }
    }
  }
  for (int64_t i = 0; i < n; i++) {
    double *row = da + i * n;
    std::fill_n(row, n, 0.0);
    for (int64_t k = 0; k <= STEPS; k++) {
      const double e = adjoints[k * n + i], *x = &states[k * n];
      for (int64_t j = 0; j < n; j++) {
        row[j] += e * x[j];
      }
    }
  }
}
