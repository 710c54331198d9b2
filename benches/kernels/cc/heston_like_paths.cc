// The mean payoff of a call under stochastic volatility, Euler steps of log price and variance, and its gradient by the
// parameters: variance at the start, speed, long-run variance, volatility of variance, correlation, drift.
//
//   u = max(v, 1e-6),   a = sqrt(dt u),   x' = x + (drift - u / 2) dt + a z,   v' = v + speed (long - u) dt + xi a z2
//   z2 = rho z + sqrt(1 - rho^2) w
//   With h = dv':  da = dx z + xi h z2,  du = - dx dt / 2 - speed dt h + da dt / (2 a),  dv = h + (v > 1e-6 ? du : 0)

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Model {
  int64_t paths, steps;
  double start, speed, long_run, xi, rho, drift, other, dt;
  const double *z, *w;

  explicit Model(const Input *in)
      : paths(in[1].size[0]), steps(in[1].size[1]), start(in[0].floats[0]), speed(in[0].floats[1]),
        long_run(in[0].floats[2]), xi(in[0].floats[3]), rho(in[0].floats[4]), drift(in[0].floats[5]),
        other(std::sqrt(1.0 - rho * rho)), dt(1.0 / steps), z(in[1].floats), w(in[2].floats) {}
};

} // namespace

extern "C" void heston_like_paths_value(const Input *in, double *out) {
  const Model m(in);
  double sum = 0.0;
  for (int64_t p = 0; p < m.paths; p++) {
    const double *z = m.z + p * m.steps, *w = m.w + p * m.steps;
    double x = 0.0, v = m.start;
    for (int64_t k = 0; k < m.steps; k++) {
      const double u = std::max(v, 1e-6), a = std::sqrt(m.dt * u), z2 = m.rho * z[k] + m.other * w[k];
      x += (m.drift - 0.5 * u) * m.dt + a * z[k];
      v += m.speed * (m.long_run - u) * m.dt + m.xi * a * z2;
    }
    sum += std::max(0.0, std::exp(x) - 1.0);
  }
  *out = sum / m.paths;
}

extern "C" void heston_like_paths_gradient(const Input *in, double *__restrict out) {
  const Model m(in);
  std::vector<double> vs(m.steps), as(m.steps);
  double by_start = 0.0, by_speed = 0.0, by_long = 0.0, by_xi = 0.0, by_rho = 0.0, by_drift = 0.0;
  for (int64_t p = 0; p < m.paths; p++) {
    const double *z = m.z + p * m.steps, *w = m.w + p * m.steps;
    double x = 0.0, v = m.start;
    for (int64_t k = 0; k < m.steps; k++) {
      const double u = std::max(v, 1e-6), a = std::sqrt(m.dt * u), z2 = m.rho * z[k] + m.other * w[k];
      vs[k] = v;
      as[k] = a;
      x += (m.drift - 0.5 * u) * m.dt + a * z[k];
      v += m.speed * (m.long_run - u) * m.dt + m.xi * a * z2;
    }
    const double price = std::exp(x);
    if (price <= 1.0) {
      continue;
    }
    by_drift += price; // times the whole time, 1
    double h = 0.0;
    for (int64_t k = m.steps - 1; k >= 0; k--) {
      const double u = std::max(vs[k], 1e-6), a = as[k], z2 = m.rho * z[k] + m.other * w[k];
      const double da = price * z[k] + m.xi * h * z2;
      const double du = m.dt * (0.5 * (da / a - price) - m.speed * h);
      by_speed += h * (m.long_run - u);
      by_long += h;
      by_xi += h * a * z2;
      by_rho += h * a * (z[k] - m.rho / m.other * w[k]);
      h += vs[k] > 1e-6 ? du : 0.0;
    }
    by_start += h;
  }
  const double scale = 1.0 / m.paths;
  out[0] = scale * by_start;
  out[1] = scale * m.dt * by_speed;
  out[2] = scale * m.dt * m.speed * by_long;
  out[3] = scale * by_xi;
  out[4] = scale * m.xi * by_rho;
  out[5] = scale * by_drift;
}
