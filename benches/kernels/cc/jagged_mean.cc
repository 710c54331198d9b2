// The weighted sum of the squared means m of vectors of different sizes, one after the other, and its gradients:
// 2 w m / size for each number, m^2 for each weight.

#include "input.h"
#include <algorithm>

namespace {

double mean(const double *values, int64_t size) {
  double sum = 0.0;
  for (int64_t k = 0; k < size; k++) {
    sum += values[k];
  }
  return sum / double(size);
}

} // namespace

extern "C" void jagged_mean_value(const Input *in, double *out) {
  const double *values = in[0].floats, *weights = in[1].floats;
  const int64_t *starts = in[2].integers, n = in[1].size[0];
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double m = mean(values + starts[i], starts[i + 1] - starts[i]);
    sum += weights[i] * m * m;
  }
  *out = sum;
}

extern "C" void jagged_mean_gradient(const Input *in, double *__restrict out) {
  const double *values = in[0].floats, *weights = in[1].floats;
  const int64_t *starts = in[2].integers, n = in[1].size[0];
  double *__restrict dvalues = out, *__restrict dweights = out + in[0].size[0];
  for (int64_t i = 0; i < n; i++) {
    const int64_t size = starts[i + 1] - starts[i];
    const double m = mean(values + starts[i], size);
    std::fill_n(dvalues + starts[i], size, 2.0 * weights[i] * m / double(size));
    dweights[i] = m * m;
  }
}
