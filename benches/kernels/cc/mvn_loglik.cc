// Minus the log likelihood of points under N(mu, L L^T), and its gradients by mu and L (zero above the diagonal).
//
//   f = sum |z|^2 / 2 + n (sum log L_ii + d log(2 pi) / 2),   L z = x - mu
//   With S = sum z z^T, t = sum z:   dmu = - L^-T t,   dL = L^-T (n 1 - S), of which the lower triangle counts

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Normal {
  int64_t n, d;
  const double *mu, *l, *x;
  std::vector<double> z, pivots;

  explicit Normal(const Input *in)
      : n(in[2].size[0]), d(in[0].size[0]), mu(in[0].floats), l(in[1].floats), x(in[2].floats), z(d), pivots(d) {
    for (int64_t r = 0; r < d; r++) {
      pivots[r] = 1.0 / l[r * d + r];
    }
  }

  double solve(int64_t i) {
    double squares = 0.0;
    for (int64_t r = 0; r < d; r++) {
      double sum = x[i * d + r] - mu[r];
      for (int64_t c = 0; c < r; c++) {
        sum -= l[r * d + c] * z[c];
      }
      z[r] = sum * pivots[r];
      squares += z[r] * z[r];
    }
    return squares;
  }

  // Solves L^T y = b in place, for so many right sides in rows.
  void solve_transposed(double *b, int64_t columns) const {
    for (int64_t r = d - 1; r >= 0; r--) {
      double *row = b + r * columns;
      for (int64_t j = 0; j < columns; j++) {
        row[j] *= pivots[r];
      }
      for (int64_t c = 0; c < r; c++) {
        for (int64_t j = 0; j < columns; j++) {
          b[c * columns + j] -= l[r * d + c] * row[j];
        }
      }
    }
  }
};

} // namespace

extern "C" void mvn_loglik_value(const Input *in, double *out) {
  Normal p(in);
  double squares = 0.0, logs = 0.5 * p.d * std::log(2.0 * M_PI);
  for (int64_t i = 0; i < p.n; i++) {
    squares += p.solve(i);
  }
  for (int64_t r = 0; r < p.d; r++) {
    logs += std::log(p.l[r * p.d + r]);
  }
  *out = 0.5 * squares + p.n * logs;
}

extern "C" void mvn_loglik_gradient(const Input *in, double *__restrict out) {
  Normal p(in);
  const int64_t d = p.d;
  double *dmu = out, *dl = out + d;
  std::fill_n(out, d + d * d, 0.0);
  for (int64_t i = 0; i < p.n; i++) {
    p.solve(i);
    const double *z = p.z.data();
    for (int64_t r = 0; r < d; r++) {
      dmu[r] -= z[r];
      for (int64_t c = 0; c < d; c++) {
        dl[r * d + c] -= z[r] * z[c];
      }
    }
  }
  for (int64_t r = 0; r < d; r++) {
    dl[r * d + r] += p.n;
  }
  p.solve_transposed(dmu, 1);
  p.solve_transposed(dl, d);
  for (int64_t r = 0; r < d; r++) {
    std::fill(dl + r * d + r + 1, dl + (r + 1) * d, 0.0);
  }
}
