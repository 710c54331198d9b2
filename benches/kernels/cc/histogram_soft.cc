// The squared distance of a histogram to a target, where each number is shared by the two bins next to it, and its
// gradient by the numbers: the difference of the two bins' cotangents, times the number of bins' steps.

#include "input.h"
#include <vector>

namespace {

// Returns counts / n - target.
std::vector<double> distances(const Input *in) {
  const double *xs = in[0].floats, *target = in[1].floats;
  const int64_t n = in[0].size[0], bins = in[1].size[0];
  const double scale = double(bins - 1), weight = 1.0 / double(n);
  // Two tables, as neighbours often have the same bin.
  std::vector<double> tables(2 * (bins + 1), 0.0);
  double *even = tables.data(), *odd = even + bins + 1;
  auto add = [=](double *counts, double x) {
    const double t = scale * x;
    const int64_t b = int64_t(t);
    const double part = t - double(b);
    counts[b] += 1.0 - part;
    counts[b + 1] += part;
  };
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) {
    add(even, xs[i]);
    add(odd, xs[i + 1]);
  }
  if (i < n) {
    add(even, xs[i]);
  }
  for (int64_t b = 0; b < bins; b++) {
    even[b] = weight * (even[b] + odd[b]) - target[b];
  }
  return tables;
}

} // namespace

extern "C" void histogram_soft_value(const Input *in, double *out) {
  const std::vector<double> d = distances(in);
  double sum = 0.0;
  for (int64_t b = 0; b < in[1].size[0]; b++) {
    sum += d[b] * d[b];
  }
  *out = sum;
}

extern "C" void histogram_soft_gradient(const Input *in, double *__restrict out) {
  std::vector<double> d = distances(in);
  const double *xs = in[0].floats;
  const int64_t n = in[0].size[0], bins = in[1].size[0];
  const double scale = double(bins - 1), weight = 2.0 * scale / double(n);
  double *__restrict rise = d.data();
  for (int64_t b = 0; b + 1 < bins; b++) {
    rise[b] = weight * (rise[b + 1] - rise[b]);
  }
  for (int64_t i = 0; i < n; i++) {
    out[i] = rise[int64_t(scale * xs[i])];
  }
}
