// The log likelihood of returns with variances v_{t+1} = omega + alpha r_t^2 + beta v_t, without constants, and its
// gradients by omega, alpha and beta. The first variance is omega / (1 - alpha - beta).
//
// Back, with V the cotangent of v_{t+1}: domega += V, dalpha += r_t^2 V, dbeta += v_t V, and that of v_t is
// beta V - (1 - r_t^2/v_t) / (2 v_t).

#include "input.h"
#include <cmath>
#include <vector>

extern "C" void garch_value(const Input *in, double *out) {
  const double omega = *in[0].floats, alpha = *in[1].floats, beta = *in[2].floats, *returns = in[3].floats;
  const int64_t n = in[3].size[0];
  std::vector<double> scratch(n);
  double *__restrict vs = scratch.data(), v = omega / (1.0 - alpha - beta), sum = 0.0;
  for (int64_t t = 0; t < n; t++) {
    vs[t] = v;
    v = omega + alpha * (returns[t] * returns[t]) + beta * v;
  }
  for (int64_t t = 0; t < n; t++) {
    sum += std::log(vs[t]) + returns[t] * returns[t] / vs[t];
  }
  *out = -0.5 * sum;
}

extern "C" void garch_gradient(const Input *in, double *__restrict out) {
  const double omega = *in[0].floats, alpha = *in[1].floats, beta = *in[2].floats, *returns = in[3].floats;
  const int64_t n = in[3].size[0];
  const double rest = 1.0 / (1.0 - alpha - beta);
  std::vector<double> scratch(2 * n);
  double *__restrict vs = scratch.data(), *__restrict terms = vs + n, v = omega * rest;
  for (int64_t t = 0; t < n; t++) {
    vs[t] = v;
    v = omega + alpha * (returns[t] * returns[t]) + beta * v;
  }
  for (int64_t t = 0; t < n; t++) {
    const double inverse = 1.0 / vs[t];
    terms[t] = -0.5 * inverse * (1.0 - returns[t] * returns[t] * inverse);
  }
  double domega = 0.0, dalpha = 0.0, dbeta = 0.0, dv = 0.0;
  for (int64_t t = n; t-- > 0;) {
    domega += dv;
    dalpha += dv * (returns[t] * returns[t]);
    dbeta += dv * vs[t];
    dv = beta * dv + terms[t];
  }
  const double first = dv * omega * rest * rest;
  out[0] = domega + dv * rest;
  out[1] = dalpha + first;
  out[2] = dbeta + first;
}
