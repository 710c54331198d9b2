// log-sum-exp of each row, and its transposed derivative: softmax of each row, times the row's cotangent.

#include "input.h"
#include <algorithm>
#include <cmath>

extern "C" void logsumexp_rows_value(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], d = in[0].size[1];
  for (int64_t i = 0; i < n; i++) {
    const double *v = in[0].floats + i * d, largest = *std::max_element(v, v + d);
    double total = 0.0;
    for (int64_t j = 0; j < d; j++) {
      total += std::exp(v[j] - largest);
    }
    out[i] = largest + std::log(total);
  }
}

extern "C" void logsumexp_rows_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], d = in[0].size[1];
  for (int64_t i = 0; i < n; i++) {
    const double *v = in[0].floats + i * d, largest = *std::max_element(v, v + d);
    double *to = out + i * d, total = 0.0;
    for (int64_t j = 0; j < d; j++) {
      to[j] = std::exp(v[j] - largest);
      total += to[j];
    }
    const double scale = in[1].floats[i] / total;
    for (int64_t j = 0; j < d; j++) {
      to[j] *= scale;
    }
  }
}
