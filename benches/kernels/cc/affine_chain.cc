// The square of the result x of many affine maps, x' = a x + b, one after the other, and its gradients by the first x,
// by a and by b. Back, with X the cotangent after a map: db = X, da = X x, and a X is that before it.

#include "input.h"

extern "C" void affine_chain_value(const Input *in, double *out) {
  const double *a = in[1].floats, *b = in[2].floats;
  double x = *in[0].floats;
  for (int64_t i = 0; i < in[1].size[0]; i++) {
    x = a[i] * x + b[i];
  }
  *out = x * x;
}

extern "C" void affine_chain_gradient(const Input *in, double *__restrict out) {
  const double *a = in[1].floats, *b = in[2].floats;
  const int64_t n = in[1].size[0];
  double *__restrict da = out + 1, *__restrict db = da + n, x = *in[0].floats;
  for (int64_t i = 0; i < n; i++) {
    da[i] = x; // before the map
    x = a[i] * x + b[i];
  }
  double d = 2.0 * x;
  for (int64_t i = n; i-- > 0;) {
    db[i] = d;
    da[i] *= d;
    d *= a[i];
  }
  out[0] = d;
}
