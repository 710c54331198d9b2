// Log-sum-exp (`demos/lse.ks`) and its gradient, exp(x_i) / sum exp(x).

#include "input.h"
#include <algorithm>
#include <cmath>

namespace {

double largest_of(const double *x, int64_t n) {
  double largest = x[0];
#pragma omp parallel for reduction(max : largest)
  for (int64_t i = 1; i < n; i++) {
    largest = std::max(largest, x[i]);
  }
  return largest;
}

} // namespace

extern "C" void lse_value(const Input *in, double *out) {
  const double *x = in[0].floats;
  const int64_t n = in[0].size[0];
  const double largest = largest_of(x, n);
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    sum += std::exp(x[i] - largest);
  }
  *out = largest + std::log(sum);
}

extern "C" void lse_gradient(const Input *in, double *__restrict out) {
  const double *x = in[0].floats;
  const int64_t n = in[0].size[0];
  const double largest = largest_of(x, n);
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    out[i] = std::exp(x[i] - largest);
    sum += out[i];
  }
  const double scale = 1.0 / sum;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    out[i] *= scale;
  }
}
