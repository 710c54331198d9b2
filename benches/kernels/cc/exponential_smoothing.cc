// The sum of the squared one-step errors e_t = y_t - l_t of exponential smoothing, l_{t+1} = l_t + a e_t, and its
// gradients by a, the first level and y.
//
// Back, with L the cotangent of l_{t+1}: de = 2 e_t + a L, da += e_t L, dy_t = de, and L - de becomes that of l_t.

#include "input.h"

extern "C" void exponential_smoothing_value(const Input *in, double *out) {
  const double a = *in[0].floats, *ys = in[2].floats;
  const int64_t n = in[2].size[0];
  double level = *in[1].floats, sum = 0.0;
  for (int64_t t = 0; t < n; t++) {
    const double e = ys[t] - level;
    level += a * e;
    sum += e * e;
  }
  *out = sum;
}

extern "C" void exponential_smoothing_gradient(const Input *in, double *__restrict out) {
  const double a = *in[0].floats, *ys = in[2].floats;
  const int64_t n = in[2].size[0];
  double level = *in[1].floats;
  double *__restrict dys = out + 2; // errors first
  for (int64_t t = 0; t < n; t++) {
    dys[t] = ys[t] - level;
    level += a * dys[t];
  }
  double da = 0.0, dlevel = 0.0;
  for (int64_t t = n; t-- > 0;) {
    const double e = dys[t], de = 2.0 * e + a * dlevel;
    da += e * dlevel;
    dys[t] = de;
    dlevel -= de;
  }
  out[0] = da;
  out[1] = dlevel;
}
