// logsumexp(s) - s_label, s = W3 a2 + b3, a2 = g(W2 a1 + b2), a1 = g(W1 x + b1), where g is logistic, and its gradients
// by W1, b1, W2, b2, W3, b3.
//
//   ds = softmax(s) - onehot(label),   t2 = W3^T ds a2 (1 - a2),   t1 = W2^T t2 a1 (1 - a1)
//   db3 = ds,  dW3 = ds a2^T,   db2 = t2,  dW2 = t2 a1^T,   db1 = t1,  dW1 = t1 x^T

#include "dot.h"
#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// W and b of a layer.
struct Layer {
  int64_t rows, columns;
  const double *w, *b;

  explicit Layer(const Input *in) : rows(in[0].size[0]), columns(in[0].size[1]), w(in[0].floats), b(in[1].floats) {}

  void apply(const double *__restrict x, double *__restrict z) const {
    for (int64_t i = 0; i < rows; i++) {
      z[i] = b[i] + dot(w + i * columns, x, columns);
    }
  }

  // dW = dz x^T and db = dz, one after the other.
  void gradient(const double *__restrict x, const double *__restrict dz, double *__restrict out) const {
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < columns; j++) {
        out[i * columns + j] = dz[i] * x[j];
      }
    }
    std::copy_n(dz, rows, out + rows * columns);
  }

  // dx = W^T dz, before the logistic function that made x.
  void back(const double *__restrict x, const double *__restrict dz, double *__restrict dx) const {
    std::fill_n(dx, columns, 0.0);
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < columns; j++) {
        dx[j] += dz[i] * w[i * columns + j];
      }
    }
    for (int64_t j = 0; j < columns; j++) {
      dx[j] *= x[j] * (1.0 - x[j]);
    }
  }

  int64_t size() const { return rows * columns + rows; }
};

void logistic(std::vector<double> &v) {
  for (double &x : v) {
    x = 1.0 / (1.0 + std::exp(-x));
  }
}

struct Net {
  Layer first, second, last;
  const double *x;
  int64_t label;
  std::vector<double> a1, a2, s;

  explicit Net(const Input *in)
      : first(in), second(in + 2), last(in + 4), x(in[6].floats), label(*in[7].integers), a1(first.rows),
        a2(second.rows), s(last.rows) {}

  // The loss; leaves the layers in a1 and a2, and softmax in s.
  double loss() {
    first.apply(x, a1.data());
    logistic(a1);
    second.apply(a1.data(), a2.data());
    logistic(a2);
    last.apply(a2.data(), s.data());
    const double largest = *std::max_element(s.begin(), s.end()), picked = s[label];
    double total = 0.0;
    for (double &score : s) {
      score = std::exp(score - largest);
      total += score;
    }
    for (double &score : s) {
      score /= total;
    }
    return largest + std::log(total) - picked;
  }
};

} // namespace

extern "C" void digit_net_value(const Input *in, double *out) { *out = Net(in).loss(); }

extern "C" void digit_net_gradient(const Input *in, double *__restrict out) {
  Net net(in);
  net.loss();
  net.s[net.label] -= 1.0;
  std::vector<double> t1(net.a1.size()), t2(net.a2.size());
  net.last.back(net.a2.data(), net.s.data(), t2.data());
  net.second.back(net.a1.data(), t2.data(), t1.data());
  double *d2 = out + net.first.size(), *d3 = d2 + net.second.size();
  net.first.gradient(net.x, t1.data(), out);
  net.second.gradient(net.a1.data(), t2.data(), d2);
  net.last.gradient(net.a2.data(), net.s.data(), d3);
}
