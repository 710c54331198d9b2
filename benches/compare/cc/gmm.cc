// The log posterior of a Gaussian mixture model (`demos/gmm.ks`), and its gradient by alphas, means and icf.
//
//   f      = sum over i of logsumexp over k of e_ik - n logsumexp(alpha) - n d log(2 pi) / 2 + prior
//   e_ik   = alpha_k + sum(l_k) - |y|^2 / 2,   y = Q_k v,   v = x_i - mu_k,   diag Q_k = exp(l_k)
//   w_ik   = exp(e_ik) / sum over k of exp(e_ik)
//
//   df/dalpha_k = sum over i of w_ik - n exp(alpha_k) / sum exp(alpha)
//   df/dmu_k    = Q_k^T (sum over i of w_ik y)
//   df/dl_k     = sum over i of w_ik (1 - y diag Q_k v) + m - gamma^2 exp(2 l_k)
//   df/dQ_k,rc  = - sum over i of w_ik y_r v_c - gamma^2 Q_k,rc     below the diagonal
//
// What does not depend on the points is computed once (`gmm.h`): the diagonals, and Q_k^T for the means is applied to
// sums over the points. The loops run in the order of icf.

#include "gmm.h"

namespace {

// e_ij, with v and y.
double exponent(const Model &g, int64_t i, int64_t j, double *__restrict v, double *__restrict y) {
  const int64_t d = g.d;
  const double *point = g.x + i * d, *mean = g.means + j * d, *diag = &g.diagonal[j * d];
  for (int64_t r = 0; r < d; r++) {
    v[r] = point[r] - mean[r];
    y[r] = diag[r] * v[r];
  }
  const double *below = g.icf + j * g.width + d;
  for (int64_t c = 0; c < d; c++) {
    const double vc = v[c];
    for (int64_t r = c + 1; r < d; r++) {
      y[r] += below[r - c - 1] * vc;
    }
    below += d - c - 1;
  }
  double squares = 0.0;
  for (int64_t r = 0; r < d; r++) {
    squares += y[r] * y[r];
  }
  return g.constant[j] - 0.5 * squares;
}

// logsumexp(v); v becomes exp(v - logsumexp(v)).
double softmax(double *v, int64_t n) {
  const double largest = *std::max_element(v, v + n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    v[i] = std::exp(v[i] - largest);
    sum += v[i];
  }
  for (int64_t i = 0; i < n; i++) {
    v[i] /= sum;
  }
  return largest + std::log(sum);
}

// What one point adds to the sums over points: w, w y, w (1 - y diag v), - w y_r v_c.
void add_point(const Model &g, int64_t j, double w, const double *__restrict v, const double *__restrict y,
               double *__restrict to_y, double *__restrict to_icf) {
  const double *diag = &g.diagonal[j * g.d];
  double *to_below = to_icf + g.d;
  for (int64_t c = 0; c < g.d; c++) {
    const double scale = w * v[c];
    to_y[c] += w * y[c];
    to_icf[c] += w - y[c] * diag[c] * scale;
    for (int64_t r = c + 1; r < g.d; r++) {
      to_below[r - c - 1] -= scale * y[r];
    }
    to_below += g.d - c - 1;
  }
}

} // namespace

extern "C" void gmm_value(const Input *in, double *out) {
  const Model g(in);
  double sum = without_points(g);
#pragma omp parallel
  {
    std::vector<double> v(g.d), y(g.d), e(g.k);
#pragma omp for reduction(+ : sum)
    for (int64_t i = 0; i < g.n; i++) {
      for (int64_t j = 0; j < g.k; j++) {
        e[j] = exponent(g, i, j, v.data(), y.data());
      }
      sum += logsumexp(e.data(), g.k);
    }
  }
  *out = sum;
}

extern "C" void gmm_gradient(const Input *in, double *out) {
  const Model g(in);
  const int64_t k = g.k, d = g.d, width = g.width;
  double *to_alphas = out, *to_means = to_alphas + k, *to_icf = to_means + k * d;
  std::fill(out, to_icf + k * width, 0.0);
#pragma omp parallel
  {
    std::vector<double> v(k * d), y(k * d), w(k);
#pragma omp for reduction(+ : to_alphas[ : k], to_means[ : k * d], to_icf[ : k * width])
    for (int64_t i = 0; i < g.n; i++) {
      for (int64_t j = 0; j < k; j++) {
        w[j] = exponent(g, i, j, &v[j * d], &y[j * d]);
      }
      softmax(w.data(), k);
      for (int64_t j = 0; j < k; j++) {
        to_alphas[j] += w[j];
        add_point(g, j, w[j], &v[j * d], &y[j * d], to_means + j * d, to_icf + j * width);
      }
    }
  }
  finish(g, to_alphas, to_means, to_icf);
}
