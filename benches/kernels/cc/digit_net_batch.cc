// The mean over samples of logsumexp(s) - s_label, s = W3 a2 + b3, a2 = g(W2 a1 + b2), a1 = g(W1 x + b1), where g is
// logistic, and its gradients by W1, b1, W2, b2, W3, b3.
//
//   ds = (softmax(s) - onehot(label)) / n,   t2 = W3^T ds a2 (1 - a2),   t1 = W2^T t2 a1 (1 - a1)
//   db3 = sum ds,  dW3 = sum ds a2^T,   db2 = sum t2,  dW2 = sum t2 a1^T,   db1 = sum t1,  dW1 = sum t1 x^T
//
// Layers are matrices with a column for each sample, and more columns up to a multiple of eight.

#include "input.h"
#include "multiply.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// The first columns of a matrix, as rows.
std::vector<double> transposed(const double *__restrict a, int64_t rows, int64_t columns, int64_t stride) {
  std::vector<double> to(columns * rows);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      to[j * rows + i] = a[i * stride + j];
    }
  }
  return to;
}

// W and b of a layer, for so many columns.
struct Layer {
  int64_t rows, columns, width;
  const double *w, *b;

  Layer(const Input *in, int64_t width)
      : rows(in[0].size[0]), columns(in[0].size[1]), width(width), w(in[0].floats), b(in[1].floats) {}

  std::vector<double> apply(const std::vector<double> &x) const {
    std::vector<double> z(rows * width);
    for (int64_t i = 0; i < rows; i++) {
      std::fill_n(&z[i * width], width, b[i]);
    }
    multiply({w, columns, 1}, x.data(), z.data(), rows, columns, width);
    return z;
  }

  // dW and db, one after the other; x has a row for each of n samples.
  void gradient(const double *x, const std::vector<double> &dz, int64_t n, double *out) const {
    std::fill_n(out, size(), 0.0);
    multiply({dz.data(), width, 1}, x, out, rows, n, columns);
    double *db = out + rows * columns;
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < n; j++) {
        db[i] += dz[i * width + j];
      }
    }
  }

  // dx = W^T dz, before the logistic function that made x.
  std::vector<double> back(const std::vector<double> &x, const std::vector<double> &dz) const {
    std::vector<double> dx(columns * width);
    multiply({w, 1, columns}, dz.data(), dx.data(), columns, rows, width);
    for (size_t e = 0; e < dx.size(); e++) {
      dx[e] *= x[e] * (1.0 - x[e]);
    }
    return dx;
  }

  int64_t size() const { return rows * columns + rows; }
};

void logistic(std::vector<double> &v) {
  for (double &x : v) {
    x = 1.0 / (1.0 + std::exp(-x));
  }
}

struct Net {
  int64_t n, width;
  Layer first, second, last;
  const double *x;
  const int64_t *labels;
  std::vector<double> a1, a2, s;

  explicit Net(const Input *in)
      : n(in[7].size[0]), width((n + 7) / 8 * 8), first(in, width), second(in + 2, width), last(in + 4, width),
        x(in[6].floats), labels(in[7].integers) {}

  // The mean loss; leaves the layers in a1 and a2, and the derivative by the scores in s.
  double loss() {
    std::vector<double> columns(first.columns * width);
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < first.columns; j++) {
        columns[j * width + i] = x[i * first.columns + j];
      }
    }
    a1 = first.apply(columns);
    logistic(a1);
    a2 = second.apply(a1);
    logistic(a2);
    s = last.apply(a2);
    const int64_t classes = last.rows;
    double sum = 0.0;
    for (int64_t i = 0; i < width; i++) {
      double *scores = &s[i];
      if (i >= n) {
        for (int64_t c = 0; c < classes; c++) {
          scores[c * width] = 0.0;
        }
        continue;
      }
      double largest = scores[0], total = 0.0;
      for (int64_t c = 1; c < classes; c++) {
        largest = std::max(largest, scores[c * width]);
      }
      double &picked = scores[labels[i] * width];
      sum += largest - picked;
      for (int64_t c = 0; c < classes; c++) {
        scores[c * width] = std::exp(scores[c * width] - largest);
        total += scores[c * width];
      }
      sum += std::log(total);
      const double scale = 1.0 / (total * n);
      for (int64_t c = 0; c < classes; c++) {
        scores[c * width] *= scale;
      }
      picked -= 1.0 / n;
    }
    return sum / n;
  }
};

} // namespace

extern "C" void digit_net_batch_value(const Input *in, double *out) { *out = Net(in).loss(); }

extern "C" void digit_net_batch_gradient(const Input *in, double *__restrict out) {
  Net net(in);
  net.loss();
  const std::vector<double> t2 = net.last.back(net.a2, net.s), t1 = net.second.back(net.a1, t2);
  const std::vector<double> rows1 = transposed(net.a1.data(), net.first.rows, net.n, net.width);
  const std::vector<double> rows2 = transposed(net.a2.data(), net.second.rows, net.n, net.width);
  double *d2 = out + net.first.size(), *d3 = d2 + net.second.size();
  net.first.gradient(net.x, t1, net.n, out);
  net.second.gradient(rows1.data(), t2, net.n, d2);
  net.last.gradient(rows2.data(), net.s, net.n, d3);
}
