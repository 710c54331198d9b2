// Score matching: the mean over points of |g|^2 / 2 - trace H, g and H gradient and Hessian of E by x,
// E = |x|^2 / 2 + sum tanh(W x + b); its gradients by W and b.
//
//   t = tanh(W x + b),   s = 1 - t^2,   q_h = |w_h|^2,   g = x + W^T s,   trace H = d - 2 sum t s q
//   dt = - 2 t (w . g) + 2 q (1 - 3 t^2),   dz = s dt,   db = sum dz,   dw = sum s g + 4 t s w + dz x      (over n)

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Model {
  int64_t hidden, d, n;
  const double *w, *b, *xs;
  std::vector<double> transposed, squares, t, g;

  explicit Model(const Input *in)
      : hidden(in[0].size[0]), d(in[0].size[1]), n(in[2].size[0]), w(in[0].floats), b(in[1].floats), xs(in[2].floats),
        transposed(d * hidden), squares(hidden), t(hidden), g(d) {
    for (int64_t h = 0; h < hidden; h++) {
      for (int64_t c = 0; c < d; c++) {
        const double x = w[h * d + c];
        transposed[c * hidden + h] = x;
        squares[h] += x * x;
      }
    }
  }

  // Leaves t and g of a point.
  void point(const double *x) {
    double *__restrict layer = t.data(), *__restrict gradient = g.data();
    std::copy_n(b, hidden, layer);
    for (int64_t c = 0; c < d; c++) {
      const double xc = x[c], *row = &transposed[c * hidden];
      for (int64_t h = 0; h < hidden; h++) {
        layer[h] += xc * row[h];
      }
    }
    std::copy_n(x, d, gradient);
    for (int64_t h = 0; h < hidden; h++) {
      layer[h] = std::tanh(layer[h]);
      const double s = 1.0 - layer[h] * layer[h];
      for (int64_t c = 0; c < d; c++) {
        gradient[c] += s * w[h * d + c];
      }
    }
  }
};

} // namespace

extern "C" void score_matching_value(const Input *in, double *out) {
  Model m(in);
  double sum = 0.0;
  for (int64_t i = 0; i < m.n; i++) {
    m.point(m.xs + i * m.d);
    double half = 0.0, bend = 0.0;
    for (double g : m.g) {
      half += g * g;
    }
    for (int64_t h = 0; h < m.hidden; h++) {
      bend += m.t[h] * (1.0 - m.t[h] * m.t[h]) * m.squares[h];
    }
    sum += 0.5 * half + 2.0 * bend;
  }
  *out = sum / m.n - m.d;
}

extern "C" void score_matching_gradient(const Input *in, double *__restrict out) {
  Model m(in);
  const int64_t hidden = m.hidden, d = m.d;
  double *dw = out, *db = out + hidden * d;
  std::fill(out, db + hidden, 0.0);
  std::vector<double> bends(hidden);
  for (int64_t i = 0; i < m.n; i++) {
    const double *x = m.xs + i * d;
    m.point(x);
    const double *g = m.g.data();
    for (int64_t h = 0; h < hidden; h++) {
      const double t = m.t[h], s = 1.0 - t * t, *row = m.w + h * d;
      double along = 0.0, *to = dw + h * d;
      for (int64_t c = 0; c < d; c++) {
        along += row[c] * g[c];
      }
      const double dz = 2.0 * s * (m.squares[h] * (1.0 - 3.0 * t * t) - t * along);
      db[h] += dz;
      bends[h] += t * s;
      for (int64_t c = 0; c < d; c++) {
        to[c] += s * g[c] + dz * x[c];
      }
    }
  }
  const double scale = 1.0 / m.n;
  for (int64_t h = 0; h < hidden; h++) {
    db[h] *= scale;
    for (int64_t c = 0; c < d; c++) {
      dw[h * d + c] = scale * (dw[h * d + c] + 4.0 * bends[h] * m.w[h * d + c]);
    }
  }
}
