// The negative log likelihood of a Gaussian process with kernel s2 exp(-|x_i - x_j|^2 / (2 l2)) + noise on the
// diagonal, theta = logarithms of the square roots of l2, s2, noise; and its gradients by x, y and theta.
//
//   f = y^T K^-1 y / 2 + sum log L_ii + n log(2 pi) / 2,   K = L L^T
//   alpha = K^-1 y,   df/dK = (K^-1 - alpha alpha^T) / 2,   df/dy = alpha

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Process {
  int64_t n, d;
  const double *x, *y;
  double length2, signal, noise;
  std::vector<double> k, l, z; // the kernel below the diagonal; its factor; L^-1 y

  explicit Process(const Input *in)
      : n(in[0].size[0]), d(in[0].size[1]), x(in[0].floats), y(in[1].floats),
        length2(std::exp(2.0 * in[2].floats[0])), signal(std::exp(2.0 * in[2].floats[1])),
        noise(std::exp(2.0 * in[2].floats[2])), k(n * n), l(n * n), z(n) {
    const double scale = -0.5 / length2;
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < i; j++) {
        double r2 = 0.0;
        for (int64_t c = 0; c < d; c++) {
          const double e = x[i * d + c] - x[j * d + c];
          r2 += e * e;
        }
        k[i * n + j] = signal * std::exp(scale * r2);
      }
      for (int64_t j = 0; j < i; j++) {
        l[i * n + j] = (k[i * n + j] - dot(&l[i * n], &l[j * n], j)) / l[j * n + j];
      }
      l[i * n + i] = std::sqrt(signal + noise - dot(&l[i * n], &l[i * n], i));
      z[i] = (y[i] - dot(&l[i * n], z.data(), i)) / l[i * n + i];
    }
  }
};

} // namespace

extern "C" void gp_likelihood_value(const Input *in, double *out) {
  const Process p(in);
  double logs = 0.0;
  for (int64_t i = 0; i < p.n; i++) {
    logs += std::log(p.l[i * p.n + i]);
  }
  *out = 0.5 * dot(p.z.data(), p.z.data(), p.n) + logs + 0.5 * p.n * std::log(2.0 * M_PI);
}

extern "C" void gp_likelihood_gradient(const Input *in, double *__restrict out) {
  const Process p(in);
  const int64_t n = p.n, d = p.d;
  double *dx = out, *dy = dx + n * d, *dtheta = dy + n;
  // Row i of m is column i of L^-1, from i on: so K^-1_ij is the dot product of rows i and j.
  std::vector<double> m(n * n);
  for (int64_t i = 0; i < n; i++) {
    double *row = &m[i * n];
    row[i] = 1.0 / p.l[i * n + i];
    for (int64_t r = i + 1; r < n; r++) {
      row[r] = -dot(&p.l[r * n + i], row + i, r - i) / p.l[r * n + r];
    }
    dy[i] = dot(row + i, &p.z[i], n - i);
  }
  std::fill_n(dx, n * d, 0.0);
  double by_length = 0.0, by_signal = 0.0, diagonal = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double *xi = p.x + i * d;
    for (int64_t j = 0; j < i; j++) {
      const double inverse = dot(&m[i * n + i], &m[j * n + i], n - i);
      const double w = (inverse - dy[i] * dy[j]) * p.k[i * n + j]; // of both triangles
      const double *xj = p.x + j * d;
      double r2 = 0.0;
      for (int64_t c = 0; c < d; c++) {
        const double e = xi[c] - xj[c], t = w * e / p.length2;
        r2 += e * e;
        dx[i * d + c] -= t;
        dx[j * d + c] += t;
      }
      by_signal += w;
      by_length += w * r2;
    }
    diagonal += 0.5 * (dot(&m[i * n + i], &m[i * n + i], n - i) - dy[i] * dy[i]);
  }
  dtheta[0] = by_length / p.length2;
  dtheta[1] = 2.0 * (by_signal + p.signal * diagonal);
  dtheta[2] = 2.0 * p.noise * diagonal;
}
