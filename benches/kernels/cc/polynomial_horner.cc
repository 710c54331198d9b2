// A polynomial at many points by Horner's rule, the highest coefficient first, and its reverse derivative by points and
// coefficients for a cotangent d: dx_i = d_i p'(x_i), and dc of the power k is the sum of d_i x_i^k.
//
// Points are taken in blocks whose values stay in registers.

#include "input.h"
#include <algorithm>

namespace {

constexpr int64_t BLOCK = 32;

} // namespace

extern "C" void polynomial_horner_value(const Input *in, double *__restrict out) {
  const double *xs = in[0].floats, *c = in[1].floats;
  const int64_t n = in[0].size[0], terms = in[1].size[0];
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) {
    double p[BLOCK] = {};
    for (int64_t k = 0; k < terms; k++) {
      for (int64_t l = 0; l < BLOCK; l++) {
        p[l] = p[l] * xs[i + l] + c[k];
      }
    }
    std::copy_n(p, BLOCK, out + i);
  }
  for (; i < n; i++) {
    double p = 0.0;
    for (int64_t k = 0; k < terms; k++) {
      p = p * xs[i] + c[k];
    }
    out[i] = p;
  }
}

extern "C" void polynomial_horner_gradient(const Input *in, double *__restrict out) {
  const double *xs = in[0].floats, *c = in[1].floats, *d = in[2].floats;
  const int64_t n = in[0].size[0], terms = in[1].size[0];
  double *__restrict dxs = out, *__restrict dc = out + n;
  std::fill_n(dc, terms, 0.0);
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) {
    double slope[BLOCK] = {}, p[BLOCK] = {};
    for (int64_t k = 0; k + 1 < terms; k++) {
      for (int64_t l = 0; l < BLOCK; l++) {
        p[l] = p[l] * xs[i + l] + c[k];
        slope[l] = slope[l] * xs[i + l] + p[l];
      }
    }
    double power[BLOCK];
    for (int64_t l = 0; l < BLOCK; l++) {
      dxs[i + l] = d[i + l] * slope[l];
      power[l] = d[i + l];
    }
    for (int64_t k = terms; k-- > 0;) {
      double sum[8] = {};
      for (int64_t l = 0; l < BLOCK; l += 8) {
        for (int64_t m = 0; m < 8; m++) {
          sum[m] += power[l + m];
          power[l + m] *= xs[i + l + m];
        }
      }
      dc[k] += ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
  }
  for (; i < n; i++) {
    double slope = 0.0, p = 0.0, power = d[i];
    for (int64_t k = 0; k + 1 < terms; k++) {
      p = p * xs[i] + c[k];
      slope = slope * xs[i] + p;
    }
    dxs[i] = d[i] * slope;
    for (int64_t k = terms; k-- > 0;) {
      dc[k] += power;
      power *= xs[i];
    }
  }
}
