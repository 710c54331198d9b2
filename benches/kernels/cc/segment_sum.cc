// The means m of values v by segments, weighted by w = softmax (scores) in each segment, the sum of their squares, and
// its gradients: dv_k = 2 m w_k, dscore_k = 2 m w_k (v_k - m).

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Segments {
  const double *scores, *values;
  const int64_t *starts;
  int64_t count, places;

  explicit Segments(const Input *in)
      : scores(in[0].floats), values(in[1].floats), starts(in[3].integers), count(in[3].size[0] - 1),
        places(in[0].size[0]) {}

  // The weights of a segment, not yet divided by their sum, which is returned; and the mean.
  double weigh(int64_t i, double *__restrict weights, double &mean) const {
    const int64_t first = starts[i], size = starts[i + 1] - first;
    const double *s = scores + first, *v = values + first, top = *std::max_element(s, s + size);
    double total = 0.0, sum = 0.0;
    for (int64_t k = 0; k < size; k++) {
      weights[k] = std::exp(s[k] - top);
    }
    for (int64_t k = 0; k < size; k++) {
      total += weights[k];
      sum += weights[k] * v[k];
    }
    mean = sum / total;
    return total;
  }
};

} // namespace

extern "C" void segment_sum_value(const Input *in, double *out) {
  const Segments s(in);
  int64_t longest = 0;
  for (int64_t i = 0; i < s.count; i++) {
    longest = std::max(longest, s.starts[i + 1] - s.starts[i]);
  }
  std::vector<double> weights(longest);
  double sum = 0.0;
  for (int64_t i = 0; i < s.count; i++) {
    double mean;
    s.weigh(i, weights.data(), mean);
    sum += mean * mean;
  }
  *out = sum;
}

extern "C" void segment_sum_gradient(const Input *in, double *__restrict out) {
  const Segments s(in);
  double *__restrict dscores = out, *__restrict dvalues = out + s.places;
  for (int64_t i = 0; i < s.count; i++) {
    double mean;
    const double total = s.weigh(i, dvalues + s.starts[i], mean), scale = 2.0 * mean / total;
    for (int64_t k = s.starts[i]; k < s.starts[i + 1]; k++) {
      dvalues[k] *= scale;
      dscores[k] = dvalues[k] * (s.values[k] - mean);
    }
  }
}
