// The mean squared error of w2 . tanh(W1 x + b1) + b2, and its gradients by W1, b1, w2, b2.
//
//   a = tanh(W1 x + b1),   e = 2 (w2 . a + b2 - y) / n
//   dw2 = sum e a,   db2 = sum e,   db1 = sum of t = e w2 (1 - a^2),   dW1 = sum t x^T

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Net {
  int64_t hidden, inputs, n;
  const double *b1, *w2, *x, *y;
  double b2;
  std::vector<double> transposed, a; // W1; the hidden layer

  explicit Net(const Input *in)
      : hidden(in[0].size[0]), inputs(in[0].size[1]), n(in[5].size[0]), b1(in[1].floats), w2(in[2].floats),
        x(in[4].floats), y(in[5].floats), b2(*in[3].floats), transposed(hidden * inputs), a(hidden) {
    for (int64_t h = 0; h < hidden; h++) {
      for (int64_t c = 0; c < inputs; c++) {
        transposed[c * hidden + h] = in[0].floats[h * inputs + c];
      }
    }
  }

  // Leaves the hidden layer of a point in a; returns the error of the output.
  double error(int64_t i) {
    double *__restrict layer = a.data();
    std::copy_n(b1, hidden, layer);
    for (int64_t c = 0; c < inputs; c++) {
      const double xc = x[i * inputs + c], *w = &transposed[c * hidden];
      for (int64_t h = 0; h < hidden; h++) {
        layer[h] += xc * w[h];
      }
    }
    double out = b2;
    for (int64_t h = 0; h < hidden; h++) {
      layer[h] = std::tanh(layer[h]);
      out += w2[h] * layer[h];
    }
    return out - y[i];
  }
};

} // namespace

extern "C" void two_layer_net_value(const Input *in, double *out) {
  Net net(in);
  double sum = 0.0;
  for (int64_t i = 0; i < net.n; i++) {
    const double e = net.error(i);
    sum += e * e;
  }
  *out = sum / net.n;
}

extern "C" void two_layer_net_gradient(const Input *in, double *__restrict out) {
  Net net(in);
  const int64_t hidden = net.hidden, inputs = net.inputs;
  double *dw1 = out, *db1 = dw1 + hidden * inputs, *dw2 = db1 + hidden, *db2 = dw2 + hidden;
  std::fill(out, db2 + 1, 0.0);
  for (int64_t i = 0; i < net.n; i++) {
    const double e = 2.0 * net.error(i) / net.n, *x = net.x + i * inputs;
    *db2 += e;
    for (int64_t h = 0; h < hidden; h++) {
      const double a = net.a[h], t = e * net.w2[h] * (1.0 - a * a);
      dw2[h] += e * a;
      db1[h] += t;
      for (int64_t c = 0; c < inputs; c++) {
        dw1[h * inputs + c] += t * x[c];
      }
    }
  }
}
