// The product of all numbers, and its gradient: the product of the others, of those before times those behind.

#include "input.h"

extern "C" void product_fold_value(const Input *in, double *out) {
  const double *v = in[0].floats;
  double product = 1.0;
  for (int64_t i = 0; i < in[0].size[0]; i++) {
    product *= v[i];
  }
  *out = product;
}

extern "C" void product_fold_gradient(const Input *in, double *__restrict out) {
  const double *v = in[0].floats;
  const int64_t n = in[0].size[0];
  double before = 1.0, behind = 1.0;
  for (int64_t i = 0; i < n; i++) {
    out[i] = before;
    before *= v[i];
  }
  for (int64_t i = n; i-- > 0;) {
    out[i] *= behind;
    behind *= v[i];
  }
}
