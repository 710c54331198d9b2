// sum of 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2, and its gradient.

#include "input.h"

extern "C" void rosenbrock_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0];
  const double *x = in[0].floats;
  double sum = 0.0;
  for (int64_t i = 0; i + 1 < n; i++) {
    const double u = x[i + 1] - x[i] * x[i], v = 1.0 - x[i];
    sum += 100.0 * u * u + v * v;
  }
  *out = sum;
}

extern "C" void rosenbrock_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0];
  const double *x = in[0].floats;
  // Element i has a term as the first of a pair, and one as the second of the pair before.
  for (int64_t i = 0; i + 1 < n; i++) {
    out[i] = -400.0 * x[i] * (x[i + 1] - x[i] * x[i]) - 2.0 * (1.0 - x[i]);
  }
  out[n - 1] = 0.0;
  for (int64_t i = 1; i < n; i++) {
    out[i] += 200.0 * (x[i] - x[i - 1] * x[i - 1]);
  }
}
