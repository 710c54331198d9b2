// The sum over all pairs of w_i w_j k(s), k = (1 + s + s^2 / 3) exp(-s), s = sqrt(5 (r^2 + 1e-12)), r the distance of
// points whose coordinates are divided by lengths; its gradients by points, weights and logarithms of lengths.
//
//   dk/d(r^2) = - 5 (1 + s) exp(-s) / 6

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Points {
  int64_t n, d;
  const double *w;
  std::vector<double> inverse, scaled; // scaled: coordinate by coordinate

  explicit Points(const Input *in) : n(in[0].size[0]), d(in[0].size[1]), w(in[1].floats), inverse(d), scaled(n * d) {
    for (int64_t c = 0; c < d; c++) {
      inverse[c] = std::exp(-in[2].floats[c]);
      for (int64_t i = 0; i < n; i++) {
        scaled[c * n + i] = inverse[c] * in[0].floats[i * d + c];
      }
    }
  }

  // Leaves s for all points before i.
  void distances(int64_t i, double *__restrict s) const {
    std::fill_n(s, i, 1e-12);
    for (int64_t c = 0; c < d; c++) {
      const double *x = &scaled[c * n], xi = x[i];
      for (int64_t j = 0; j < i; j++) {
        const double e = xi - x[j];
        s[j] += e * e;
      }
    }
    for (int64_t j = 0; j < i; j++) {
      s[j] = std::sqrt(5.0 * s[j]);
    }
  }
};

double kernel(double s) {
  return (1.0 + s + s * s / 3.0) * std::exp(-s);
}

const double AT_ZERO = kernel(std::sqrt(5e-12));

} // namespace

extern "C" void matern_kernel_value(const Input *in, double *out) {
  const Points p(in);
  std::vector<double> s(p.n);
  double diagonal = 0.0, below = 0.0;
  for (int64_t i = 0; i < p.n; i++) {
    p.distances(i, s.data());
    double sum = 0.0;
    for (int64_t j = 0; j < i; j++) {
      sum += p.w[j] * kernel(s[j]);
    }
    below += p.w[i] * sum;
    diagonal += p.w[i] * p.w[i];
  }
  *out = AT_ZERO * diagonal + 2.0 * below;
}

extern "C" void matern_kernel_gradient(const Input *in, double *__restrict out) {
  const Points p(in);
  const int64_t n = p.n, d = p.d;
  double *dx = out, *dw = dx + n * d, *dlengths = dw + n;
  std::vector<double> buffer(n), weights(n), scaled(n * d);
  std::fill_n(dw, n + d, 0.0);
  double *__restrict s = buffer.data(), *__restrict g = weights.data();
  for (int64_t i = 0; i < n; i++) {
    p.distances(i, s);
    const double wi = p.w[i];
    double sum = AT_ZERO * wi;
    for (int64_t j = 0; j < i; j++) {
      const double e = std::exp(-s[j]), k = (1.0 + s[j] + s[j] * s[j] / 3.0) * e;
      sum += p.w[j] * k;
      dw[j] += 2.0 * wi * k;
      g[j] = (-10.0 / 3.0) * wi * p.w[j] * (1.0 + s[j]) * e; // of both orders; d(e^2) = 2 e de
    }
    dw[i] += 2.0 * sum;
    for (int64_t c = 0; c < d; c++) {
      const double *x = &p.scaled[c * n], xi = x[i];
      double *to = &scaled[c * n], by_xi = 0.0, by_length = 0.0;
      for (int64_t j = 0; j < i; j++) {
        const double e = xi - x[j], t = g[j] * e;
        by_xi += t;
        by_length += t * e;
        to[j] -= t;
      }
      to[i] += by_xi;
      dlengths[c] -= by_length;
    }
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t c = 0; c < d; c++) {
      dx[i * d + c] = p.inverse[c] * scaled[c * n + i];
    }
  }
}
