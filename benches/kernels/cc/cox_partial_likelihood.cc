// Minus the log partial likelihood of Cox's model, subjects by falling time, and its gradient by beta.
//
//   f = sum over events i of log R_i - eta_i,   eta = X beta,   R_i = sum over j <= i of exp(eta_j)
//   deta_j = exp(eta_j) (sum over events i >= j of 1 / R_i) - event_j,   dbeta = X^T deta

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

extern "C" void cox_partial_likelihood_value(const Input *in, double *out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double *beta = in[0].floats, *x = in[1].floats;
  const int64_t *events = in[2].integers;
  double at_risk = 0.0, sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double eta = dot(x + i * d, beta, d);
    at_risk += std::exp(eta);
    if (events[i] == 1) {
      sum += std::log(at_risk) - eta;
    }
  }
  *out = sum;
}

extern "C" void cox_partial_likelihood_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[1].size[0], d = in[1].size[1];
  const double *beta = in[0].floats, *x = in[1].floats;
  const int64_t *events = in[2].integers;
  std::vector<double> e(n), at_risk(n);
  double total = 0.0;
  for (int64_t i = 0; i < n; i++) {
    e[i] = std::exp(dot(x + i * d, beta, d));
    total += e[i];
    at_risk[i] = total;
  }
  std::fill_n(out, d, 0.0);
  double hazard = 0.0;
  for (int64_t i = n - 1; i >= 0; i--) {
    const double event = events[i] == 1;
    hazard += event / at_risk[i];
    const double deta = e[i] * hazard - event, *row = x + i * d;
    for (int64_t j = 0; j < d; j++) {
      out[j] += deta * row[j];
    }
  }
}
