// Minus the log likelihood of y = X beta + s t, t of Student's distribution with nu degrees of freedom, and its
// gradients by beta and theta = (log s, log nu).
//
//   f = n c + h sum log(1 + q),   q = r^2 / (nu s^2),   h = (nu + 1) / 2
//   c = lgamma(nu / 2) - lgamma(h) + log(nu pi) / 2 + log s
//   g = 2 h r / (nu s^2) / (1 + q):   dbeta = - sum g x,   dlog s = n - sum g r
//   dlog nu = n nu (digamma(nu / 2) - digamma(h)) / 2 + n / 2 + nu sum log(1 + q) / 2 - sum g r / 2

#include "digamma.h"
#include "input.h"
#include <algorithm>

namespace {

struct Regression {
  int64_t n, d;
  const double *beta, *x, *y;
  double scale, nu, half, inverse;

  explicit Regression(const Input *in)
      : n(in[2].size[0]), d(in[2].size[1]), beta(in[0].floats), x(in[2].floats), y(in[3].floats),
        scale(std::exp(in[1].floats[0])), nu(std::exp(in[1].floats[1])), half(0.5 * (nu + 1.0)),
        inverse(1.0 / (nu * scale * scale)) {}

  double residual(int64_t i) const {
    double sum = 0.0;
    for (int64_t j = 0; j < d; j++) {
      sum += x[i * d + j] * beta[j];
    }
    return y[i] - sum;
  }
};

} // namespace

extern "C" void student_t_regression_value(const Input *in, double *out) {
  const Regression p(in);
  double logs = 0.0;
  for (int64_t i = 0; i < p.n; i++) {
    const double r = p.residual(i);
    logs += std::log(1.0 + r * r * p.inverse);
  }
  const double constant =
      std::lgamma(0.5 * p.nu) - std::lgamma(p.half) + 0.5 * std::log(p.nu * M_PI) + std::log(p.scale);
  *out = p.n * constant + p.half * logs;
}

extern "C" void student_t_regression_gradient(const Input *in, double *__restrict out) {
  const Regression p(in);
  const int64_t d = p.d;
  std::fill_n(out, d, 0.0);
  double logs = 0.0, along = 0.0;
  for (int64_t i = 0; i < p.n; i++) {
    const double r = p.residual(i), q = 1.0 + r * r * p.inverse, g = 2.0 * p.half * p.inverse * r / q;
    const double *row = p.x + i * d;
    logs += std::log(q);
    along += g * r;
    for (int64_t j = 0; j < d; j++) {
      out[j] -= g * row[j];
    }
  }
  out[d] = p.n - along;
  out[d + 1] = 0.5 * (p.n * p.nu * (digamma(0.5 * p.nu) - digamma(p.half)) + p.n + p.nu * logs - along);
}
