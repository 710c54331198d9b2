// The forward algorithm of a hidden Markov model with logarithms, and its gradients by the start, the moves and the
// emissions.
//
//   alpha_0 = start + emit_0,  alpha_t j = emit_t j + log sum over i of exp (alpha_{t-1} i + moves_ij)
//
// Back: with w_ij = exp (alpha_{t-1} i + moves_ij) / (the sum of these for j),
//   demit_t = dalpha_t,  dmoves_ij += w_ij dalpha_t j,  dalpha_{t-1} i = sum over j of w_ij dalpha_t j.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

double logsumexp(const double *v, int64_t n) {
  const double largest = *std::max_element(v, v + n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) {
    sum += std::exp(v[i] - largest);
  }
  return largest + std::log(sum);
}

// A step: `next` from `alpha`; leaves exp (alpha_i + moves_ij - largest_j) in `e`, their sums in `sums`.
void step(const double *__restrict alpha, const double *__restrict moves, const double *__restrict emit,
          double *__restrict e, double *__restrict largest, double *__restrict sums, double *__restrict next,
          int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    largest[j] = alpha[0] + moves[j];
    sums[j] = 0.0;
  }
  for (int64_t i = 1; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      const double x = alpha[i] + moves[i * n + j];
      largest[j] = x > largest[j] ? x : largest[j];
    }
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      e[i * n + j] = std::exp(alpha[i] + moves[i * n + j] - largest[j]);
      sums[j] += e[i * n + j];
    }
  }
  for (int64_t j = 0; j < n; j++) {
    next[j] = emit[j] + largest[j] + std::log(sums[j]);
  }
}

} // namespace

extern "C" void hmm_value(const Input *in, double *out) {
  const int64_t n = in[0].size[0], steps = in[2].size[0];
  const double *start = in[0].floats, *moves = in[1].floats, *emit = in[2].floats;
  std::vector<double> scratch(n * n + 4 * n);
  double *e = scratch.data(), *largest = e + n * n, *sums = largest + n, *alpha = sums + n, *next = alpha + n;
  for (int64_t i = 0; i < n; i++) {
    alpha[i] = start[i] + emit[i];
  }
  for (int64_t t = 1; t < steps; t++) {
    step(alpha, moves, emit + t * n, e, largest, sums, next, n);
    std::swap(alpha, next);
  }
  *out = logsumexp(alpha, n);
}

extern "C" void hmm_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0], steps = in[2].size[0];
  const double *start = in[0].floats, *moves = in[1].floats, *emit = in[2].floats;
  std::vector<double> terms(steps * n * n), all_sums(steps * n), scratch(3 * n);
  double *largest = scratch.data(), *alpha = largest + n, *next = alpha + n;
  for (int64_t i = 0; i < n; i++) {
    alpha[i] = start[i] + emit[i];
  }
  for (int64_t t = 1; t < steps; t++) {
    step(alpha, moves, emit + t * n, &terms[t * n * n], largest, &all_sums[t * n], next, n);
    std::swap(alpha, next);
  }
  double *__restrict dstart = out, *__restrict dmoves = out + n, *demit = dmoves + n * n;
  std::fill_n(dmoves, n * n, 0.0);
  const double value = logsumexp(alpha, n);
  for (int64_t i = 0; i < n; i++) {
    demit[(steps - 1) * n + i] = std::exp(alpha[i] - value);
  }
  double *__restrict share = largest;
  for (int64_t t = steps - 1; t > 0; t--) {
    const double *__restrict e = &terms[t * n * n], *__restrict sums = &all_sums[t * n];
    const double *__restrict d = demit + t * n;
    double *__restrict to = demit + (t - 1) * n;
    for (int64_t j = 0; j < n; j++) {
      share[j] = d[j] / sums[j];
    }
    for (int64_t i = 0; i < n; i++) {
      double sum = 0.0;
      for (int64_t j = 0; j < n; j++) {
        const double w = e[i * n + j] * share[j];
        dmoves[i * n + j] += w;
        sum += w;
      }
      to[i] = sum;
    }
  }
  std::copy_n(demit, n, dstart);
}
