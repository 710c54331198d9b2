// Advection round a ring by upwind differences, a weighted sum of squares at the end, and its gradients by the start
// and by the velocities v.
//
//   u'_i = u_i - v_i g_i,  g_i = u_i - u_{i-1} where v_i > 0, else u_{i+1} - u_i
//
// Back, with q_i = v_i du'_i, q+ its part where v_i > 0, q- the rest:
//   du_i = du'_i - q+_i + q+_{i+1} + q-_i - q-_{i-1},  dv_i -= du'_i g_i.

#include "input.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace {

double upwind(double v, double left, double here, double right) { return v > 0.0 ? here - left : right - here; }

template <typename F> void around(int64_t n, F f) {
  f(0, n - 1, n > 1 ? 1 : 0);
  for (int64_t i = 1; i < n - 1; i++) {
    f(i, i - 1, i + 1);
  }
  if (n > 1) {
    f(n - 1, n - 2, 0);
  }
}

void step(const double *__restrict u, const double *__restrict v, double *__restrict next, int64_t n) {
  around(n, [=](int64_t i, int64_t left, int64_t right) {
    next[i] = u[i] - v[i] * upwind(v[i], u[left], u[i], u[right]);
  });
}

} // namespace

extern "C" void advection_upwind_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], steps = *in[3].integers;
  const double *v = in[1].floats, *weights = in[2].floats;
  std::vector<double> now(in[0].floats, in[0].floats + n), next(n);
  for (int64_t t = 0; t < steps; t++) {
    step(now.data(), v, next.data(), n);
    std::swap(now, next);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += weights[i] * now[i] * now[i];
  }
  *out = sum;
}

extern "C" void advection_upwind_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], steps = *in[3].integers;
  const double *v = in[1].floats, *weights = in[2].floats;
  std::vector<double> states((steps + 1) * n), scratch(2 * n);
  std::copy_n(in[0].floats, n, states.data());
  for (int64_t t = 0; t < steps; t++) {
    step(&states[t * n], v, &states[(t + 1) * n], n);
  }
  double *__restrict du = out, *__restrict dv = out + n;
  double *__restrict plus = scratch.data(), *__restrict minus = plus + n;
  const double *end = &states[steps * n];
  for (int64_t i = 0; i < n; i++) {
    du[i] = 2.0 * weights[i] * end[i];
    dv[i] = 0.0;
  }
  for (int64_t t = steps; t-- > 0;) {
    const double *__restrict u = &states[t * n];
    around(n, [=](int64_t i, int64_t left, int64_t right) {
      const double q = v[i] * du[i];
      plus[i] = v[i] > 0.0 ? q : 0.0;
      minus[i] = v[i] > 0.0 ? 0.0 : q;
      dv[i] -= du[i] * upwind(v[i], u[left], u[i], u[right]);
    });
    around(n, [=](int64_t i, int64_t left, int64_t right) {
      du[i] += plus[right] - plus[i] + minus[i] - minus[left];
    });
  }
}
