// The mean over rows of logsumexp(v) - v_label, and its gradient (softmax(v) - onehot(label)) / n.

#include "input.h"
#include <algorithm>
#include <cmath>

extern "C" void softmax_cross_entropy_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], classes = in[0].size[1];
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double *v = in[0].floats + i * classes, largest = *std::max_element(v, v + classes);
    double total = 0.0;
    for (int64_t c = 0; c < classes; c++) {
      total += std::exp(v[c] - largest);
    }
    sum += largest + std::log(total) - v[in[1].integers[i]];
  }
  *out = sum / n;
}

extern "C" void softmax_cross_entropy_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], classes = in[0].size[1];
  const double share = 1.0 / n;
  for (int64_t i = 0; i < n; i++) {
    const double *v = in[0].floats + i * classes, largest = *std::max_element(v, v + classes);
    double *to = out + i * classes, total = 0.0;
    for (int64_t c = 0; c < classes; c++) {
      to[c] = std::exp(v[c] - largest);
      total += to[c];
    }
    const double scale = share / total;
    for (int64_t c = 0; c < classes; c++) {
      to[c] *= scale;
    }
    to[in[1].integers[i]] -= share;
  }
}
