// Half the squares of r = gamma z + beta - t, z = (x - mean) s, s = 1 / sqrt(variance + 1e-5) by rows; its gradients by
// x, gamma, beta, t.
//
//   g = gamma r,   dx = s (g - mean(g) - z mean(g z)),   dgamma = sum r z,   dbeta = sum r,   dt = - r

#include "input.h"
#include <algorithm>
#include <cmath>

namespace {

struct Moments {
  double mean, inverse;

  Moments(const double *x, int64_t d) {
    double sum = 0.0, squares = 0.0;
    for (int64_t j = 0; j < d; j++) {
      sum += x[j];
    }
    mean = sum / d;
    for (int64_t j = 0; j < d; j++) {
      const double e = x[j] - mean;
      squares += e * e;
    }
    inverse = 1.0 / std::sqrt(squares / d + 1e-5);
  }
};

} // namespace

extern "C" void layer_norm_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], d = in[0].size[1];
  const double *gamma = in[1].floats, *beta = in[2].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double *x = in[0].floats + i * d, *t = in[3].floats + i * d;
    const Moments m(x, d);
    for (int64_t j = 0; j < d; j++) {
      const double r = gamma[j] * (x[j] - m.mean) * m.inverse + beta[j] - t[j];
      sum += r * r;
    }
  }
  *out = 0.5 * sum;
}

extern "C" void layer_norm_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], d = in[0].size[1];
  const double *gamma = in[1].floats, *beta = in[2].floats;
  double *dgamma = out + n * d, *dbeta = dgamma + d;
  std::fill_n(dgamma, 2 * d, 0.0);
  for (int64_t i = 0; i < n; i++) {
    const double *x = in[0].floats + i * d, *t = in[3].floats + i * d;
    double *dx = out + i * d, *dt = dbeta + d + i * d;
    const Moments m(x, d);
    double sum = 0.0, along = 0.0;
    for (int64_t j = 0; j < d; j++) {
      const double z = (x[j] - m.mean) * m.inverse, r = gamma[j] * z + beta[j] - t[j], g = gamma[j] * r;
      dgamma[j] += r * z;
      dbeta[j] += r;
      dt[j] = -r;
      sum += g;
      along += g * z;
    }
    sum /= d;
    along /= d;
    for (int64_t j = 0; j < d; j++) {
      const double z = (x[j] - m.mean) * m.inverse;
      dx[j] = -m.inverse * (gamma[j] * dt[j] + sum + z * along);
    }
  }
}
