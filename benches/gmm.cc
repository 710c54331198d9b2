// Value and gradient of the Gaussian mixture model of `demos/gmm.ks`, written by hand from the mathematics, for
// `gmm.rs` to compare with.
//
//   f      = sum over i of logsumexp over k of e_ik - n logsumexp(alpha) - n d log(2 pi) / 2 + prior
//   e_ik   = alpha_k + sum(l_k) - |y|^2 / 2,   y = Q_k v,   v = x_i - mu_k,   diag Q_k = exp(l_k)
//   w_ik   = exp(e_ik) / sum over k of exp(e_ik)
//
//   df/dalpha_k = sum over i of w_ik - n exp(alpha_k) / sum exp(alpha)
//   df/dmu_k    = sum over i of w_ik z,   df/dx_i = - sum over k of w_ik z,   z = Q_k^T y
//   df/dl_k     = sum over i of w_ik (1 - y diag Q_k v) + m - gamma^2 exp(2 l_k)
//   df/dQ_k,rc  = - sum over i of w_ik y_r v_c - gamma^2 Q_k,rc     below the diagonal
//   df/dgamma   = sum over k of (d (d + m + 1) / gamma - gamma |Q_k|^2)

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

struct Model {
  int64_t n, d, k;
  const double *alphas, *means, *icf, *x;
  double gamma;
  int64_t m;

  int64_t width() const { return d * (d + 1) / 2; }
};

// What does not depend on the points: the diagonals of Q, and alpha_k + sum(l_k).
struct Gaussians {
  std::vector<double> diagonal, constant;

  explicit Gaussians(const Model &g) : diagonal(g.k * g.d), constant(g.k) {
    for (int64_t k = 0; k < g.k; k++) {
      const double *l = g.icf + k * g.width();
      double sum = g.alphas[k];
      for (int64_t r = 0; r < g.d; r++) {
        diagonal[k * g.d + r] = std::exp(l[r]);
        sum += l[r];
      }
      constant[k] = sum;
    }
  }
};

double logsumexp(const double *v, int64_t n) {
  const double largest = *std::max_element(v, v + n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += std::exp(v[i] - largest);
  }
  return largest + std::log(sum);
}

// e_ik, with v and y.
double exponent(const Model &g, const Gaussians &q, int64_t i, int64_t k, double *v, double *y) {
  const int64_t d = g.d;
  const double *x = g.x + i * d, *mean = g.means + k * d, *diagonal = q.diagonal.data() + k * d;
  for (int64_t r = 0; r < d; r++) {
    v[r] = x[r] - mean[r];
    y[r] = diagonal[r] * v[r];
  }
  const double *below = g.icf + k * g.width() + d;
  for (int64_t c = 0; c < d; c++) {
    for (int64_t r = c + 1; r < d; r++) {
      y[r] += below[r - c - 1] * v[c];
    }
    below += d - c - 1;
  }
  double squares = 0.0;
  for (int64_t r = 0; r < d; r++) {
    squares += y[r] * y[r];
  }
  return q.constant[k] - 0.5 * squares;
}

double squared_norm(const Model &g, const Gaussians &q, int64_t k) {
  double sum = 0.0;
  for (int64_t r = 0; r < g.d; r++) {
    sum += q.diagonal[k * g.d + r] * q.diagonal[k * g.d + r];
  }
  for (int64_t j = g.d; j < g.width(); j++) {
    sum += g.icf[k * g.width() + j] * g.icf[k * g.width() + j];
  }
  return sum;
}

double prior(const Model &g, const Gaussians &q) {
  const double pi = 3.141592653589793, freedom = g.d + g.m + 1;
  double constant = freedom * g.d * (std::log(g.gamma) - 0.5 * std::log(2.0));
  constant -= 0.25 * g.d * (g.d - 1) * std::log(pi);
  for (int64_t j = 0; j < g.d; j++) {
    constant -= std::lgamma(0.5 * freedom - 0.5 * j);
  }
  double sum = g.k * constant;
  for (int64_t k = 0; k < g.k; k++) {
    sum += g.m * (q.constant[k] - g.alphas[k]) - 0.5 * g.gamma * g.gamma * squared_norm(g, q, k);
  }
  return sum;
}

} // namespace

extern "C" double by_hand_value(int64_t n, int64_t d, int64_t k, const double *alphas, const double *means,
                                const double *icf, const double *x, double gamma, int64_t m) {
  const Model g{n, d, k, alphas, means, icf, x, gamma, m};
  const Gaussians q(g);
  std::vector<double> v(d), y(d), e(k);
  double sum = prior(g, q) - n * logsumexp(alphas, k) - 0.5 * n * d * std::log(2.0 * 3.141592653589793);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < k; j++) {
      e[j] = exponent(g, q, i, j, v.data(), y.data());
    }
    sum += logsumexp(e.data(), k);
  }
  return sum;
}

// `out` has the gradients by alphas, means, icf, x and gamma, one after the other.
extern "C" void by_hand_gradient(int64_t n, int64_t d, int64_t k, const double *alphas, const double *means,
                                 const double *icf, const double *x, double gamma, int64_t m, double *out) {
  const Model g{n, d, k, alphas, means, icf, x, gamma, m};
  const Gaussians q(g);
  const int64_t width = g.width();
  double *to_alphas = out, *to_means = to_alphas + k, *to_icf = to_means + k * d, *to_x = to_icf + k * width;
  double *to_gamma = to_x + n * d;
  std::fill(out, to_gamma + 1, 0.0);

  const double total = logsumexp(alphas, k);
  for (int64_t j = 0; j < k; j++) {
    to_alphas[j] = -n * std::exp(alphas[j] - total);
  }
  std::vector<double> v(k * d), y(k * d), z(d), e(k);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < k; j++) {
      e[j] = exponent(g, q, i, j, &v[j * d], &y[j * d]);
    }
    const double log_sum = logsumexp(e.data(), k);
    for (int64_t j = 0; j < k; j++) {
      const double w = std::exp(e[j] - log_sum);
      const double *vj = &v[j * d], *yj = &y[j * d], *diagonal = &q.diagonal[j * d];
      double *to_l = to_icf + j * width, *to_below = to_l + d;
      const double *below = icf + j * width + d;
      to_alphas[j] += w;
      for (int64_t c = 0; c < d; c++) {
        const double scale = w * vj[c];
        double sum = diagonal[c] * yj[c];
        for (int64_t r = c + 1; r < d; r++) {
          sum += below[r - c - 1] * yj[r];
          to_below[r - c - 1] -= scale * yj[r];
        }
        z[c] = w * sum;
        to_l[c] += w * (1.0 - yj[c] * diagonal[c] * vj[c]);
        below += d - c - 1;
        to_below += d - c - 1;
      }
      for (int64_t r = 0; r < d; r++) {
        to_means[j * d + r] += z[r];
        to_x[i * d + r] -= z[r];
      }
    }
  }
  for (int64_t j = 0; j < k; j++) {
    for (int64_t r = 0; r < d; r++) {
      to_icf[j * width + r] += m - gamma * gamma * q.diagonal[j * d + r] * q.diagonal[j * d + r];
    }
    for (int64_t r = d; r < width; r++) {
      to_icf[j * width + r] -= gamma * gamma * icf[j * width + r];
    }
    *to_gamma += d * (d + m + 1) / gamma - gamma * squared_norm(g, q, j);
  }
}
