// What the versions of the Gaussian mixture model have in common: its arguments, and what does not depend on the points.
#pragma once

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

struct Model {
  int64_t n, d, k, width;
  const double *alphas, *means, *icf, *x;
  double gamma;
  int64_t m;
  std::vector<double> diagonal, constant; // exp(l_k); alpha_k + sum(l_k)

  explicit Model(const Input *in)
      : n(in[3].size[0]), d(in[3].size[1]), k(in[0].size[0]), width(d * (d + 1) / 2), alphas(in[0].floats),
        means(in[1].floats), icf(in[2].floats), x(in[3].floats), gamma(*in[4].floats), m(*in[5].integers),
        diagonal(k * d), constant(alphas, alphas + k) {
    for (int64_t j = 0; j < k; j++) {
      for (int64_t r = 0; r < d; r++) {
        diagonal[j * d + r] = std::exp(icf[j * width + r]);
        constant[j] += icf[j * width + r];
      }
    }
  }

  double prior() const {
    const double freedom = d + m + 1;
    double normalisation = freedom * d * (std::log(gamma) - 0.5 * std::log(2.0));
    normalisation -= 0.25 * d * (d - 1) * std::log(M_PI);
    for (int64_t r = 0; r < d; r++) {
      normalisation -= std::lgamma(0.5 * freedom - 0.5 * r);
    }
    double sum = k * normalisation;
    for (int64_t j = 0; j < k; j++) {
      double squares = 0.0;
      for (int64_t r = 0; r < d; r++) {
        squares += diagonal[j * d + r] * diagonal[j * d + r];
      }
      for (int64_t r = d; r < width; r++) {
        squares += icf[j * width + r] * icf[j * width + r];
      }
      sum += m * (constant[j] - alphas[j]) - 0.5 * gamma * gamma * squares;
    }
    return sum;
  }
};

inline double logsumexp(const double *v, int64_t n) {
  const double largest = *std::max_element(v, v + n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += std::exp(v[i] - largest);
  }
  return largest + std::log(sum);
}

// to_means, which holds s = sum of w y, becomes Q^T s; the terms of the prior are added to to_icf.
inline void finish(const Model &g, int64_t j, double *to_means, double *to_icf) {
  const double *diag = &g.diagonal[j * g.d], *row = g.icf + j * g.width, *below = row + g.d;
  for (int64_t c = 0; c < g.d; c++) {
    double sum = diag[c] * to_means[c];
    for (int64_t r = c + 1; r < g.d; r++) {
      sum += below[r - c - 1] * to_means[r];
    }
    below += g.d - c - 1;
    to_means[c] = sum;
    to_icf[c] += g.m - g.gamma * g.gamma * diag[c] * diag[c];
  }
  for (int64_t r = g.d; r < g.width; r++) {
    to_icf[r] -= g.gamma * g.gamma * row[r];
  }
}

// The sums over points, at their places in the result, become the gradient.
inline void finish(const Model &g, double *to_alphas, double *to_means, double *to_icf) {
  const double total = logsumexp(g.alphas, g.k);
  for (int64_t j = 0; j < g.k; j++) {
    to_alphas[j] -= g.n * std::exp(g.alphas[j] - total);
    finish(g, j, to_means + j * g.d, to_icf + j * g.width);
  }
}

// The value but for the sum over points.
inline double without_points(const Model &g) {
  return g.prior() - g.n * logsumexp(g.alphas, g.k) - 0.5 * g.n * g.d * std::log(2.0 * M_PI);
}
