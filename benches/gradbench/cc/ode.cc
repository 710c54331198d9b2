// A differential equation by the classical Runge-Kutta method (`demos/gradbench/ode.ks`), and the gradient of the last
// component of its last state.
//
//   g(y)_i = x_i y_i-1,   y_-1 = 1
//   k1 = g(y), k2 = g(y + h/2 k1), k3 = g(y + h/2 k2), k4 = g(y + h k3),  y' = y + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
// Back through g:  dx_i += dk_i y_i-1,  dy_i-1 += dk_i x_i.  The states are kept, the stages between them made again.

#include "../../compare/cc/input.h"
#include <algorithm>
#include <vector>

namespace {

struct Equation {
  const double *x;
  int64_t n, steps;
  double h;
  // Of a step: where the right side is taken, and what it is there.
  std::vector<double> y[4], k[4];

  explicit Equation(const Input *in)
      : x(in[0].floats), n(in[0].size[0]), steps(*in[1].integers), h(2.0 / steps) {
    std::fill_n(y, 4, std::vector<double>(n));
    std::fill_n(k, 4, std::vector<double>(n));
  }

  void slope(const double *__restrict at, double *__restrict result) const {
    result[0] = x[0];
    for (int64_t i = 1; i < n; i++) {
      result[i] = x[i] * at[i - 1];
    }
  }

  void stages(const double *state) {
    const double ahead[4] = {0.0, 0.5 * h, 0.5 * h, h};
    for (int s = 0; s < 4; s++) {
      const double *previous = k[s == 0 ? 0 : s - 1].data();
      double *at = y[s].data();
      for (int64_t i = 0; i < n; i++) {
        at[i] = s == 0 ? state[i] : state[i] + ahead[s] * previous[i];
      }
      slope(at, k[s].data());
    }
  }

  void step(const double *state, double *next) {
    stages(state);
    const double *k1 = k[0].data(), *k2 = k[1].data(), *k3 = k[2].data(), *k4 = k[3].data();
    for (int64_t i = 0; i < n; i++) {
      next[i] = state[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
  }
};

} // namespace

extern "C" void ode_value(const Input *in, double *out) {
  Equation e(in);
  std::fill_n(out, e.n, 0.0);
  for (int64_t t = 0; t < e.steps; t++) {
    e.step(out, out);
  }
}

extern "C" void ode_gradient(const Input *in, double *out) {
  Equation e(in);
  const int64_t n = e.n;
  const double weight[4] = {e.h / 6.0, e.h / 3.0, e.h / 3.0, e.h / 6.0}, ahead[4] = {0.0, 0.5 * e.h, 0.5 * e.h, e.h};
  std::vector<double> states((e.steps + 1) * n), dy(n), dk(n), before(n), stage(n);
  for (int64_t t = 0; t < e.steps; t++) {
    e.step(&states[t * n], &states[(t + 1) * n]);
  }
  std::fill_n(out, n, 0.0);
  dy[n - 1] = 1.0;
  for (int64_t t = e.steps; t-- > 0;) {
    e.stages(&states[t * n]);
    before = dy;
    for (int s = 3; s >= 0; s--) {
      const double *y = e.y[s].data();
      for (int64_t i = 0; i < n; i++) {
        dk[i] = weight[s] * before[i] + (s == 3 ? 0.0 : ahead[s + 1] * stage[i]);
      }
      out[0] += dk[0];
      for (int64_t i = 1; i < n; i++) {
        out[i] += dk[i] * y[i - 1];
        stage[i - 1] = dk[i] * e.x[i];
      }
      stage[n - 1] = 0.0;
      for (int64_t i = 0; i < n; i++) {
        dy[i] += stage[i];
      }
    }
  }
}
