// A differential equation by the classical Runge-Kutta method (`demos/ode.ks`), and the reverse derivative of its last
// state, for a cotangent, by rates, interactions and start.
//
//   g(y)_i = y_i (r_i + sum over j of A_ij y_j)
//   k1 = g(y), k2 = g(y + h/2 k1), k3 = g(y + h/2 k2), k4 = g(y + h k3),  y' = y + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
// Back through g:  dy_i += dk_i (r_i + (A y)_i) + sum over j of A_ji dk_j y_j,  dr_i += dk_i y_i,  dA_ij += dk_i y_i y_j.
// The states are kept, the stages between them computed again.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

struct Equation {
  const double *rates, *interactions, *start;
  int64_t n, steps;
  double h;

  explicit Equation(const Input *in)
      : rates(in[0].floats), interactions(in[1].floats), start(in[2].floats), n(in[0].size[0]), steps(*in[4].integers),
        h(*in[3].floats / steps) {}

  // growth_i = r_i + (A y)_i, k = y growth.
  void growth(const double *__restrict y, double *__restrict growth, double *__restrict k) const {
    for (int64_t i = 0; i < n; i++) {
      double sum = rates[i];
      for (int64_t j = 0; j < n; j++) {
        sum += interactions[i * n + j] * y[j];
      }
      growth[i] = sum;
      k[i] = y[i] * sum;
    }
  }

  // Back through `growth`: adds to dy, to_rates and to_interactions.
  void back(const double *__restrict y, const double *__restrict growth, const double *__restrict dk,
            double *__restrict dy, double *__restrict to_rates, double *__restrict to_interactions) const {
    for (int64_t i = 0; i < n; i++) {
      const double d = dk[i] * y[i];
      dy[i] += dk[i] * growth[i];
      to_rates[i] += d;
      for (int64_t j = 0; j < n; j++) {
        dy[j] += interactions[i * n + j] * d;
        to_interactions[i * n + j] += d * y[j];
      }
    }
  }
};

// The four stages of a step: where the right side is taken, y_i, what it is there, k_i, and the growth rates.
struct Stages {
  std::vector<double> y[4], growth[4], k[4];

  explicit Stages(int64_t n) {
    for (auto *vectors : {y, growth, k}) {
      std::fill_n(vectors, 4, std::vector<double>(n));
    }
  }

  void run(const Equation &e, const double *state) {
    const double ahead[4] = {0.0, 0.5 * e.h, 0.5 * e.h, e.h};
    for (int s = 0; s < 4; s++) {
      const double *previous = k[s == 0 ? 0 : s - 1].data();
      for (int64_t i = 0; i < e.n; i++) {
        y[s][i] = s == 0 ? state[i] : state[i] + ahead[s] * previous[i];
      }
      e.growth(y[s].data(), growth[s].data(), k[s].data());
    }
  }

  void step(const Equation &e, const double *state, double *next) {
    run(e, state);
    for (int64_t i = 0; i < e.n; i++) {
      next[i] = state[i] + e.h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    }
  }
};

} // namespace

extern "C" void ode_value(const Input *in, double *out) {
  const Equation e(in);
  Stages stages(e.n);
  std::copy_n(e.start, e.n, out);
  for (int64_t t = 0; t < e.steps; t++) {
    stages.step(e, out, out);
  }
}

extern "C" void ode_gradient(const Input *in, double *out) {
  const Equation e(in);
  const int64_t n = e.n;
  double *to_rates = out, *to_interactions = out + n, *dy = out + n + n * n;
  std::fill(out, dy, 0.0);
  std::copy_n(in[5].floats, n, dy); // the cotangent of the last state
  Stages stages(n);
  std::vector<double> states((e.steps + 1) * n), dk(n), before(n), stage(n);
  std::copy_n(e.start, n, states.data());
  for (int64_t t = 0; t < e.steps; t++) {
    stages.step(e, &states[t * n], &states[(t + 1) * n]);
  }
  const double weight[4] = {e.h / 6.0, e.h / 3.0, e.h / 3.0, e.h / 6.0}, ahead[4] = {0.0, 0.5 * e.h, 0.5 * e.h, e.h};
  for (int64_t t = e.steps; t-- > 0;) {
    stages.run(e, &states[t * n]);
    std::copy_n(dy, n, before.data());
    for (int s = 3; s >= 0; s--) {
      for (int64_t i = 0; i < n; i++) {
        dk[i] = weight[s] * before[i] + (s == 3 ? 0.0 : ahead[s + 1] * stage[i]);
      }
      std::fill(stage.begin(), stage.end(), 0.0);
      e.back(stages.y[s].data(), stages.growth[s].data(), dk.data(), stage.data(), to_rates, to_interactions);
      for (int64_t i = 0; i < n; i++) {
        dy[i] += stage[i];
      }
    }
  }
}
