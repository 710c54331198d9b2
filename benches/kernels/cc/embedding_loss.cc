// The loss of skip-grams, the sum of log (1 + exp (-z)) with z = label word . context, and its gradients by both
// tables: a pair adds -label / (1 + exp z) times the other's row to each of its rows.

#include "input.h"
#include <algorithm>
#include <cmath>

namespace {

struct Pairs {
  const double *words, *contexts, *labels;
  const int64_t *word, *context;
  int64_t d, count, word_numbers, context_numbers;

  explicit Pairs(const Input *in)
      : words(in[0].floats), contexts(in[1].floats), labels(in[2].floats), word(in[3].integers),
        context(in[4].integers), d(in[0].size[1]), count(in[2].size[0]), word_numbers(in[0].size[0] * d),
        context_numbers(in[1].size[0] * d) {}

  double margin(int64_t k) const {
    const double *u = words + word[k] * d, *v = contexts + context[k] * d;
    double sum = 0.0;
    for (int64_t c = 0; c < d; c++) {
      sum += u[c] * v[c];
    }
    return labels[k] * sum;
  }
};

} // namespace

extern "C" void embedding_loss_value(const Input *in, double *out) {
  const Pairs p(in);
  double sum = 0.0;
  for (int64_t k = 0; k < p.count; k++) {
    sum += std::log1p(std::exp(-p.margin(k)));
  }
  *out = sum;
}

extern "C" void embedding_loss_gradient(const Input *in, double *__restrict out) {
  const Pairs p(in);
  std::fill_n(out, p.word_numbers + p.context_numbers, 0.0);
  for (int64_t k = 0; k < p.count; k++) {
    const double weight = -p.labels[k] / (1.0 + std::exp(p.margin(k)));
    const int64_t word = p.word[k] * p.d, context = p.context[k] * p.d;
    const double *u = p.words + word, *v = p.contexts + context;
    double *__restrict du = out + word, *__restrict dv = out + p.word_numbers + context;
    for (int64_t c = 0; c < p.d; c++) {
      du[c] += weight * v[c];
      dv[c] += weight * u[c];
    }
  }
}
