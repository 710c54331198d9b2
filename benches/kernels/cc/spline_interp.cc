// Cubic interpolation in a table by Catmull and Rom, whose ends are repeated, at many places, the sum of the squares,
// and its gradients by the table and by the places.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

// The table with one number before and two after it.
std::vector<double> lengthened(const double *table, int64_t n) {
  std::vector<double> v(n + 3);
  v[0] = table[0];
  std::copy_n(table, n, &v[1]);
  v[n + 1] = v[n + 2] = table[n - 1];
  return v;
}

struct Cubic {
  double b, slope, bend, twist;

  explicit Cubic(const double *p)
      : b(p[1]), slope(p[2] - p[0]), bend(2.0 * p[0] - 5.0 * p[1] + 4.0 * p[2] - p[3]),
        twist(3.0 * (p[1] - p[2]) + p[3] - p[0]) {}

  double at(double t) const { return b + 0.5 * t * (slope + t * (bend + t * twist)); }
  double derivative(double t) const { return 0.5 * (slope + t * (2.0 * bend + 3.0 * t * twist)); }
};

} // namespace

extern "C" void spline_interp_value(const Input *in, double *out) {
  const std::vector<double> table = lengthened(in[0].floats, in[0].size[0]);
  const double *xs = in[1].floats;
  double sum = 0.0;
  for (int64_t k = 0; k < in[1].size[0]; k++) {
    const int64_t i = int64_t(xs[k]);
    const double y = Cubic(&table[i]).at(xs[k] - double(i));
    sum += y * y;
  }
  *out = sum;
}

extern "C" void spline_interp_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], count = in[1].size[0];
  const std::vector<double> table = lengthened(in[0].floats, n);
  const double *xs = in[1].floats;
  std::vector<double> to_table(n + 3, 0.0);
  double *__restrict dxs = out + n;
  for (int64_t k = 0; k < count; k++) {
    const int64_t i = int64_t(xs[k]);
    const Cubic cubic(&table[i]);
    const double t = xs[k] - double(i), d = 2.0 * cubic.at(t), h = 0.5 * d * t, t2 = t * t;
    dxs[k] = d * cubic.derivative(t);
    double *to = &to_table[i];
    to[0] += h * (2.0 * t - 1.0 - t2);
    to[1] += d + h * (3.0 * t2 - 5.0 * t);
    to[2] += h * (1.0 + 4.0 * t - 3.0 * t2);
    to[3] += h * (t2 - t);
  }
  std::copy_n(&to_table[1], n, out);
  out[0] += to_table[0];
  out[n - 1] += to_table[n + 1] + to_table[n + 2];
}
