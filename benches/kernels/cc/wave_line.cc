// Waves on a ring by leapfrog, the squared distance to a target, and its gradients by both first states and by c.
//
//   u_{t+1} = 2 u_t - u_{t-1} + c * L u_t, where L is symmetric.
//
// Back, with cotangents a of u_{t+1} and b of u_t: b + 2 a + L (c a) becomes that of u_t, -a that of u_{t-1}, and
// dc += a * L u_t.

#include "input.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace {

double bend(double left, double here, double right) { return left + right - 2.0 * here; }

// Calls f(i, i - 1, i + 1) round the ring.
template <typename F> void around(int64_t n, F f) {
  f(0, n - 1, n > 1 ? 1 : 0);
  for (int64_t i = 1; i < n - 1; i++) {
    f(i, i - 1, i + 1);
  }
  if (n > 1) {
    f(n - 1, n - 2, 0);
  }
}

void leap(const double *__restrict old, const double *__restrict now, const double *__restrict c,
          double *__restrict next, int64_t n) {
  around(n, [=](int64_t i, int64_t left, int64_t right) {
    next[i] = 2.0 * now[i] - old[i] + c[i] * bend(now[left], now[i], now[right]);
  });
}

} // namespace

extern "C" void wave_line_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], steps = *in[4].integers;
  const double *c = in[2].floats, *target = in[3].floats;
  std::vector<double> old(in[0].floats, in[0].floats + n), now(in[1].floats, in[1].floats + n), next(n);
  for (int64_t t = 0; t < steps; t++) {
    leap(old.data(), now.data(), c, next.data(), n);
    std::swap(old, now);
    std::swap(now, next);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double d = now[i] - target[i];
    sum += d * d;
  }
  *out = sum;
}

extern "C" void wave_line_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], steps = *in[4].integers;
  const double *c = in[2].floats, *target = in[3].floats;
  std::vector<double> states((steps + 2) * n), scratch(3 * n, 0.0);
  std::copy_n(in[0].floats, n, states.data());
  std::copy_n(in[1].floats, n, &states[n]);
  for (int64_t t = 0; t < steps; t++) {
    leap(&states[t * n], &states[(t + 1) * n], c, &states[(t + 2) * n], n);
  }
  double *a = scratch.data(), *b = a + n, *__restrict ca = b + n, *__restrict dc = out + 2 * n;
  const double *end = &states[(steps + 1) * n];
  for (int64_t i = 0; i < n; i++) {
    a[i] = 2.0 * (end[i] - target[i]);
    dc[i] = 0.0;
  }
  for (int64_t t = steps; t-- > 0;) {
    const double *__restrict u = &states[(t + 1) * n];
    double *__restrict to = b; // what is b becomes the cotangent of u, and a, negated, that of the state before
    double *__restrict from = a;
    for (int64_t i = 0; i < n; i++) {
      ca[i] = c[i] * from[i];
    }
    around(n, [=](int64_t i, int64_t left, int64_t right) {
      to[i] += 2.0 * from[i] + bend(ca[left], ca[i], ca[right]);
      dc[i] += from[i] * bend(u[left], u[i], u[right]);
      from[i] = -from[i];
    });
    std::swap(a, b);
  }
  std::copy_n(b, n, out);
  std::copy_n(a, n, out + n);
}
