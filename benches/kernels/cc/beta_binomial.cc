// Minus the log likelihood of successes y out of n trials, beta-binomial with a = exp(log_a), b = exp(log_b); its
// gradients by log_a and log_b. As counts are small, log gamma and its derivative at their
// shifts are tables, made by recurrence.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Counts {
  int64_t groups, most;
  double a, b;
  const int64_t *y, *n;

  explicit Counts(const Input *in)
      : groups(in[2].size[0]), most(0), a(std::exp(*in[0].floats)), b(std::exp(*in[1].floats)), y(in[2].integers),
        n(in[3].integers) {
    for (int64_t i = 0; i < groups; i++) {
      most = std::max(most, n[i]);
    }
  }

  // lgamma(x + k) - lgamma(x) for k = 0, 1, .., most
  std::vector<double> rising(double x) const {
    std::vector<double> table(most + 1);
    for (int64_t k = 0; k < most; k++) {
      table[k + 1] = table[k] + std::log(x + k);
    }
    return table;
  }

  // digamma(x + k) - digamma(x)
  std::vector<double> harmonic(double x) const {
    std::vector<double> table(most + 1);
    for (int64_t k = 0; k < most; k++) {
      table[k + 1] = table[k] + 1.0 / (x + k);
    }
    return table;
  }
};

} // namespace

extern "C" void beta_binomial_value(const Input *in, double *out) {
  const Counts c(in);
  const std::vector<double> one = c.rising(1.0), a = c.rising(c.a), b = c.rising(c.b), both = c.rising(c.a + c.b);
  double sum = 0.0;
  for (int64_t i = 0; i < c.groups; i++) {
    const int64_t y = c.y[i], n = c.n[i];
    sum += (one[y] + one[n - y] - one[n]) - (a[y] + b[n - y] - both[n]);
  }
  *out = sum;
}

extern "C" void beta_binomial_gradient(const Input *in, double *__restrict out) {
  const Counts c(in);
  const std::vector<double> a = c.harmonic(c.a), b = c.harmonic(c.b), both = c.harmonic(c.a + c.b);
  double by_a = 0.0, by_b = 0.0;
  for (int64_t i = 0; i < c.groups; i++) {
    const int64_t y = c.y[i], n = c.n[i];
    by_a += both[n] - a[y];
    by_b += both[n] - b[n - y];
  }
  out[0] = c.a * by_a;
  out[1] = c.b * by_b;
}
