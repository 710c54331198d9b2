// Burgers' equation on a ring by explicit Euler steps, the squared distance to a target, and its gradients by the start
// and by the viscosity nu.
//
//   u'_i = u_i + r (nu (u_{i+1} - 2 u_i + u_{i-1}) - (u_{i+1}^2 - u_{i-1}^2) / 4)
//
// Back: du_i = du'_i + r (nu (du'_{i+1} - 2 du'_i + du'_{i-1}) + u_i (du'_{i+1} - du'_{i-1}) / 2),
//       dnu += r du' . (second differences of u).

#include "input.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace {

double bend(double left, double here, double right) { return left + right - 2.0 * here; }

template <typename F> void around(int64_t n, F f) {
  f(0, n - 1, n > 1 ? 1 : 0);
  for (int64_t i = 1; i < n - 1; i++) {
    f(i, i - 1, i + 1);
  }
  if (n > 1) {
    f(n - 1, n - 2, 0);
  }
}

struct Burgers {
  int64_t n, steps;
  double nu, ratio;

  explicit Burgers(const Input *in)
      : n(in[0].size[0]), steps(*in[4].integers), nu(*in[1].floats), ratio(*in[3].floats) {}

  void step(const double *__restrict u, double *__restrict next) const {
    const double spread = ratio * nu, transport = 0.25 * ratio;
    around(n, [=](int64_t i, int64_t l, int64_t r) {
      next[i] = u[i] + spread * bend(u[l], u[i], u[r]) - transport * (u[r] * u[r] - u[l] * u[l]);
    });
  }

  // Back through a step; returns the sum of d . (second differences of u).
  double back(const double *__restrict u, const double *__restrict d, double *__restrict to) const {
    const double spread = ratio * nu, transport = 0.5 * ratio;
    double sum = 0.0;
    around(n, [&, u, d, to](int64_t i, int64_t l, int64_t r) {
      const double b = bend(d[l], d[i], d[r]);
      to[i] = d[i] + spread * b + transport * u[i] * (d[r] - d[l]);
      sum += u[i] * b;
    });
    return sum;
  }
};

} // namespace

extern "C" void burgers_value(const Input *in, double *out) {
  const Burgers b(in);
  const double *target = in[2].floats;
  std::vector<double> now(in[0].floats, in[0].floats + b.n), next(b.n);
  for (int64_t t = 0; t < b.steps; t++) {
    b.step(now.data(), next.data());
    std::swap(now, next);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < b.n; i++) {
    const double d = now[i] - target[i];
    sum += d * d;
  }
  *out = sum;
}

extern "C" void burgers_gradient(const Input *in, double *__restrict out) {
  const Burgers b(in);
  const int64_t n = b.n;
  const double *target = in[2].floats;
  std::vector<double> states((b.steps + 1) * n), lambda(n), next(n);
  std::copy_n(in[0].floats, n, states.data());
  for (int64_t t = 0; t < b.steps; t++) {
    b.step(&states[t * n], &states[(t + 1) * n]);
  }
  for (int64_t i = 0; i < n; i++) {
    lambda[i] = 2.0 * (states[b.steps * n + i] - target[i]);
  }
  double sum = 0.0;
  for (int64_t t = b.steps; t-- > 0;) {
    sum += b.back(&states[t * n], lambda.data(), next.data());
    std::swap(lambda, next);
  }
  std::copy_n(lambda.data(), n, out);
  out[n] = b.ratio * sum;
}
