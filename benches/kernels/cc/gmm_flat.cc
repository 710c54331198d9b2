// The log posterior of a Gaussian mixture in ADBench's form, and its gradients by alphas, means and icf.
//
//   f    = sum over i of logsumexp over j of e_ij - n logsumexp(alphas) - n d log(2 pi) / 2 + prior
//   e_ij = alpha_j + sum(l_j) - |y|^2 / 2,   y = Q_j v,   v = x_i - mu_j,   Q_j: exp(l_j) on the diagonal
//   w_ij = exp(e_ij - logsumexp)
//   dmu_j = Q^T sum w y,   dl_j = sum w (1 - y exp(l) v) + m - gamma^2 exp(2 l)
//   dQ_rc = - sum w y_r v_c - gamma^2 Q_rc
//
// A column of Q is contiguous: so y is made of columns, and the adjoint of Q, too. v and y of a point are kept for all
// components until their weights are known.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Mixture {
  int64_t n, d, k, width, m;
  const double *alphas, *means, *icf, *x;
  double gamma;
  std::vector<double> diagonal, constant;

  explicit Mixture(const Input *in)
      : n(in[3].size[0]), d(in[3].size[1]), k(in[0].size[0]), width(in[2].size[1]), m(*in[5].integers),
        alphas(in[0].floats), means(in[1].floats), icf(in[2].floats), x(in[3].floats), gamma(*in[4].floats),
        diagonal(k * d), constant(alphas, alphas + k) {
    for (int64_t j = 0; j < k; j++) {
      for (int64_t r = 0; r < d; r++) {
        diagonal[j * d + r] = std::exp(icf[j * width + r]);
        constant[j] += icf[j * width + r];
      }
    }
  }

  // Leaves v and y; returns e_ij.
  double exponent(int64_t i, int64_t j, double *__restrict to_v, double *__restrict to_y) const {
    const double *point = x + i * d, *mean = means + j * d, *diag = &diagonal[j * d];
    for (int64_t r = 0; r < d; r++) {
      to_v[r] = point[r] - mean[r];
      to_y[r] = diag[r] * to_v[r];
    }
    const double *column = icf + j * width + d;
    for (int64_t c = 0; c + 1 < d; c++) {
      const double vc = to_v[c];
      double *__restrict rest = to_y + c + 1;
      for (int64_t r = 0; r < d - c - 1; r++) {
        rest[r] += column[r] * vc;
      }
      column += d - c - 1;
    }
    double squares = 0.0;
    for (int64_t r = 0; r < d; r++) {
      squares += to_y[r] * to_y[r];
    }
    return constant[j] - 0.5 * squares;
  }
};

// Returns logsumexp; e becomes its softmax.
double softmax(double *e, int64_t n) {
  const double largest = *std::max_element(e, e + n);
  double total = 0.0;
  for (int64_t j = 0; j < n; j++) {
    e[j] = std::exp(e[j] - largest);
    total += e[j];
  }
  const double inverse = 1.0 / total;
  for (int64_t j = 0; j < n; j++) {
    e[j] *= inverse;
  }
  return largest + std::log(total);
}

} // namespace

extern "C" void gmm_flat_value(const Input *in, double *out) {
  const Mixture g(in);
  std::vector<double> e(g.alphas, g.alphas + g.k), v(g.d), y(g.d);
  double sum = -g.n * (softmax(e.data(), g.k) + 0.5 * g.d * std::log(2.0 * M_PI));
  for (int64_t i = 0; i < g.n; i++) {
    for (int64_t j = 0; j < g.k; j++) {
      e[j] = g.exponent(i, j, v.data(), y.data());
    }
    const double largest = *std::max_element(e.begin(), e.end());
    double total = 0.0;
    for (double ej : e) {
      total += std::exp(ej - largest);
    }
    sum += largest + std::log(total);
  }
  const double freedom = g.d + g.m + 1;
  double one = freedom * g.d * std::log(g.gamma / std::sqrt(2.0)) - 0.25 * g.d * (g.d - 1) * std::log(M_PI);
  for (int64_t r = 0; r < g.d; r++) {
    one -= std::lgamma(0.5 * (freedom - r));
  }
  double squares = 0.0, logs = 0.0;
  for (double q : g.diagonal) {
    squares += q * q;
  }
  for (int64_t j = 0; j < g.k; j++) {
    logs += g.constant[j] - g.alphas[j];
    for (int64_t e = g.d; e < g.width; e++) {
      squares += g.icf[j * g.width + e] * g.icf[j * g.width + e];
    }
  }
  *out = sum + g.k * one + g.m * logs - 0.5 * g.gamma * g.gamma * squares;
}

extern "C" void gmm_flat_gradient(const Input *in, double *__restrict out) {
  const Mixture g(in);
  const int64_t n = g.n, d = g.d, k = g.k, width = g.width;
  double *dalphas = out, *dmeans = dalphas + k, *dicf = dmeans + k * d;
  std::fill_n(out, k + k * d + k * width, 0.0);
  std::vector<double> w(k), vs(k * d), ys(k * d), prior(g.alphas, g.alphas + k);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < k; j++) {
      w[j] = g.exponent(i, j, &vs[j * d], &ys[j * d]);
    }
    softmax(w.data(), k);
    for (int64_t j = 0; j < k; j++) {
      const double *v = &vs[j * d], *diag = &g.diagonal[j * d], weight = w[j];
      double *__restrict y = &ys[j * d], *__restrict sums = dmeans + j * d, *__restrict to = dicf + j * width;
      dalphas[j] += weight;
      for (int64_t r = 0; r < d; r++) {
        const double wy = weight * y[r];
        y[r] = wy;
        sums[r] += wy;
        to[r] += weight - wy * diag[r] * v[r];
      }
      double *__restrict column = to + d;
      for (int64_t c = 0; c + 1 < d; c++) {
        const double vc = v[c], *rest = y + c + 1;
        for (int64_t r = 0; r < d - c - 1; r++) {
          column[r] -= rest[r] * vc;
        }
        column += d - c - 1;
      }
    }
  }
  // Q^T for the sums over points, and the prior.
  softmax(prior.data(), k);
  const double gamma2 = g.gamma * g.gamma;
  for (int64_t j = 0; j < k; j++) {
    const double *diag = &g.diagonal[j * d], *packed = g.icf + j * width, *column = packed + d;
    double *to = dicf + j * width, *sums = dmeans + j * d;
    dalphas[j] -= n * prior[j];
    for (int64_t c = 0; c < d; c++) {
      to[c] += g.m - gamma2 * diag[c] * diag[c];
      double sum = diag[c] * sums[c];
      for (int64_t r = c + 1; r < d; r++) {
        sum += column[r - c - 1] * sums[r];
      }
      sums[c] = sum;
      column += d - c - 1;
    }
    for (int64_t e = d; e < width; e++) {
      to[e] -= gamma2 * packed[e];
    }
  }
}
