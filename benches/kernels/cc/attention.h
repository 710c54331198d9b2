// Attention of one head, of all keys or of those up to the query: half the squares of the output, and the gradients.
//
//   s_ij = q_i . k_j / sqrt d,   w_i = softmax(s_i),   o_i = sum over j of w_ij v_j,   f = sum |o_i|^2 / 2
//   g_ij = o_i . v_j,   ds_ij = w_ij (g_ij - |o_i|^2)      since sum over j of w_ij g_ij = |o_i|^2
//   dq_i = sum over j of ds_ij k_j / sqrt d,   dk_j = sum over i of ds_ij q_i / sqrt d,   dv_j = sum over i of w_ij o_i
#pragma once

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Head {
  int64_t n, d;
  const double *q, *k, *v;
  double scale;
  std::vector<double> w, o, keys; // keys: transposed

  explicit Head(const Input *in)
      : n(in[0].size[0]), d(in[0].size[1]), q(in[0].floats), k(in[1].floats), v(in[2].floats),
        scale(1.0 / std::sqrt(double(d))), w(n), o(d), keys(d * n) {
    for (int64_t j = 0; j < n; j++) {
      for (int64_t c = 0; c < d; c++) {
        keys[c * n + j] = k[j * d + c];
      }
    }
  }

  // Leaves w and o of a query that sees so many keys; returns |o|^2.
  double query(int64_t i, int64_t visible) {
    double *__restrict weights = w.data(), *__restrict output = o.data();
    std::fill_n(weights, visible, 0.0);
    for (int64_t c = 0; c < d; c++) {
      const double x = scale * q[i * d + c], *key = &keys[c * n];
      for (int64_t j = 0; j < visible; j++) {
        weights[j] += x * key[j];
      }
    }
    const double largest = *std::max_element(weights, weights + visible);
    double total = 0.0;
    for (int64_t j = 0; j < visible; j++) {
      weights[j] = std::exp(weights[j] - largest);
      total += weights[j];
    }
    const double inverse = 1.0 / total;
    std::fill_n(output, d, 0.0);
    for (int64_t j = 0; j < visible; j++) {
      weights[j] *= inverse;
      for (int64_t c = 0; c < d; c++) {
        output[c] += weights[j] * v[j * d + c];
      }
    }
    double squares = 0.0;
    for (int64_t c = 0; c < d; c++) {
      squares += output[c] * output[c];
    }
    return squares;
  }
};

double attention_value(const Input *in, bool causal) {
  Head h(in);
  double sum = 0.0;
  for (int64_t i = 0; i < h.n; i++) {
    sum += h.query(i, causal ? i + 1 : h.n);
  }
  return 0.5 * sum;
}

void attention_gradient(const Input *in, bool causal, double *__restrict out) {
  Head h(in);
  const int64_t n = h.n, d = h.d;
  double *dq = out, *dk = dq + n * d, *dv = dk + n * d;
  std::fill_n(out, 3 * n * d, 0.0);
  for (int64_t i = 0; i < n; i++) {
    const int64_t visible = causal ? i + 1 : n;
    const double squares = h.query(i, visible);
    const double *o = h.o.data(), *q = h.q + i * d;
    double *to_q = dq + i * d;
    for (int64_t j = 0; j < visible; j++) {
      const double w = h.w[j], *v = h.v + j * d, *k = h.k + j * d;
      double g = 0.0;
      for (int64_t c = 0; c < d; c++) {
        g += o[c] * v[c];
      }
      const double ds = h.scale * w * (g - squares);
      double *to_k = dk + j * d, *to_v = dv + j * d;
      for (int64_t c = 0; c < d; c++) {
        to_q[c] += ds * k[c];
        to_k[c] += ds * q[c];
        to_v[c] += w * o[c];
      }
    }
  }
}

} // namespace
