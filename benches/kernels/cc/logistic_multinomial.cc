// The mean over points of logsumexp(s) - s_label, s = W x + b, and its gradients by W and b.
//
//   ds = (softmax(s) - onehot(label)) / n,   db = sum ds,   dW = sum ds x^T

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Regression {
  int64_t classes, d, n;
  const double *b, *x;
  const int64_t *labels;
  std::vector<double> transposed, s; // W; the scores of a point, and then their exponentials

  explicit Regression(const Input *in)
      : classes(in[0].size[0]), d(in[0].size[1]), n(in[3].size[0]), b(in[1].floats), x(in[2].floats),
        labels(in[3].integers), transposed(classes * d), s(classes) {
    for (int64_t c = 0; c < classes; c++) {
      for (int64_t j = 0; j < d; j++) {
        transposed[j * classes + c] = in[0].floats[c * d + j];
      }
    }
  }

  // The loss of a point without the logarithm, and the sum of exponentials, which are left in s.
  double point(int64_t i, double &total) {
    double *__restrict scores = s.data();
    std::copy_n(b, classes, scores);
    for (int64_t j = 0; j < d; j++) {
      const double xj = x[i * d + j], *w = &transposed[j * classes];
      for (int64_t c = 0; c < classes; c++) {
        scores[c] += xj * w[c];
      }
    }
    const double largest = *std::max_element(scores, scores + classes), picked = scores[labels[i]];
    total = 0.0;
    for (int64_t c = 0; c < classes; c++) {
      scores[c] = std::exp(scores[c] - largest);
      total += scores[c];
    }
    return largest - picked;
  }
};

} // namespace

extern "C" void logistic_multinomial_value(const Input *in, double *out) {
  Regression r(in);
  double sum = 0.0;
  for (int64_t i = 0; i < r.n; i++) {
    double total;
    sum += r.point(i, total);
    sum += std::log(total);
  }
  *out = sum / r.n;
}

extern "C" void logistic_multinomial_gradient(const Input *in, double *__restrict out) {
  Regression r(in);
  const int64_t classes = r.classes, d = r.d;
  double *dw = out, *db = dw + classes * d;
  std::fill(out, db + classes, 0.0);
  for (int64_t i = 0; i < r.n; i++) {
    double total;
    r.point(i, total);
    const double scale = 1.0 / (total * r.n), *x = r.x + i * d;
    for (int64_t c = 0; c < classes; c++) {
      r.s[c] *= scale;
    }
    r.s[r.labels[i]] -= 1.0 / r.n;
    for (int64_t c = 0; c < classes; c++) {
      const double ds = r.s[c];
      db[c] += ds;
      for (int64_t j = 0; j < d; j++) {
        dw[c * d + j] += ds * x[j];
      }
    }
  }
}
