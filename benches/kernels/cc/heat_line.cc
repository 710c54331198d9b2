// Heat along a line by explicit Euler steps with fixed ends, the squared distance to a target, and its gradients by the
// start and by the diffusivities k.
//
//   u'_i = u_i + k_i c_i,  c_i = u_{i-1} - 2 u_i + u_{i+1},  inside;  u' = u at the ends
//
// Back through a step, with p_i = k_i du'_i inside and 0 at the ends:
//   du_i = du'_i + p_{i-1} - 2 p_i + p_{i+1},  dk_i += du'_i c_i.

#include "input.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace {

void step(const double *__restrict u, const double *__restrict k, double *__restrict next, int64_t n) {
  next[0] = u[0];
  for (int64_t i = 1; i < n - 1; i++) {
    next[i] = u[i] + k[i] * (u[i - 1] + u[i + 1] - 2.0 * u[i]);
  }
  next[n - 1] = u[n - 1];
}

} // namespace

extern "C" void heat_line_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], steps = *in[3].integers;
  const double *k = in[1].floats, *target = in[2].floats;
  std::vector<double> now(in[0].floats, in[0].floats + n), next(n);
  for (int64_t t = 0; t < steps; t++) {
    step(now.data(), k, next.data(), n);
    std::swap(now, next);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double d = now[i] - target[i];
    sum += d * d;
  }
  *out = sum;
}

extern "C" void heat_line_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], steps = *in[3].integers;
  const double *k = in[1].floats, *target = in[2].floats;
  std::vector<double> states((steps + 1) * n);
  std::copy_n(in[0].floats, n, states.data());
  for (int64_t t = 0; t < steps; t++) {
    step(&states[t * n], k, &states[(t + 1) * n], n);
  }
  double *__restrict du = out, *__restrict dk = out + n;
  const double *end = &states[steps * n];
  for (int64_t i = 0; i < n; i++) {
    du[i] = 2.0 * (end[i] - target[i]);
    dk[i] = 0.0;
  }
  std::vector<double> scratch(n, 0.0);
  double *__restrict p = scratch.data();
  for (int64_t t = steps; t-- > 0;) {
    const double *__restrict u = &states[t * n];
    for (int64_t i = 1; i < n - 1; i++) {
      p[i] = k[i] * du[i];
      dk[i] += du[i] * (u[i - 1] + u[i + 1] - 2.0 * u[i]);
    }
    du[0] += p[1];
    for (int64_t i = 1; i < n - 1; i++) {
      du[i] += p[i - 1] + p[i + 1] - 2.0 * p[i];
    }
    du[n - 1] += p[n - 2];
  }
}
