// Least squares of a polynomial to the sign function (`demos/gradbench/llsq.ks`), and its gradient by the coefficients.
//
//   r_i = sum over j of x_j t_i^j - sign t_i,   f = |r|^2 / 2,   df/dx_j = sum over i of r_i t_i^j
//
// All points take a step of Horner's rule, then all the next one; powers are made in the same way.

#include "../../compare/cc/input.h"
#include <vector>

namespace {

struct Polynomial {
  const double *x;
  int64_t m, n;
  std::vector<double> t, r;

  explicit Polynomial(const Input *in) : x(in[0].floats), m(in[0].size[0]), n(*in[1].integers), t(n), r(n) {
    for (int64_t i = 0; i < n; i++) {
      t[i] = -1.0 + 2.0 * i / (n - 1);
    }
    for (int64_t j = m; j-- > 0;) {
      for (int64_t i = 0; i < n; i++) {
        r[i] = r[i] * t[i] + x[j];
      }
    }
    for (int64_t i = 0; i < n; i++) {
      r[i] -= (t[i] > 0.0) - (t[i] < 0.0);
    }
  }
};

} // namespace

extern "C" void llsq_value(const Input *in, double *out) {
  const Polynomial p(in);
  double sum = 0.0;
  for (int64_t i = 0; i < p.n; i++) {
    sum += p.r[i] * p.r[i];
  }
  *out = 0.5 * sum;
}

extern "C" void llsq_gradient(const Input *in, double *__restrict out) {
  Polynomial p(in);
  for (int64_t j = 0; j < p.m; j++) {
    double sum = 0.0;
    for (int64_t i = 0; i < p.n; i++) {
      sum += p.r[i];
      p.r[i] *= p.t[i];
    }
    out[j] = sum;
  }
}
