// A recurrent network, h_t = tanh (W h_{t-1} + U x_t + b), the sum of the squares of e_t = v . h_t - y_t, and its
// gradients by W, U, b and v.
//
// Back, with dh_t = 2 e_t v + W' d_{t+1} and d_t = (1 - h_t^2) dh_t:
//   dW = sum of d_t h_{t-1}',  dU = sum of d_t x_t',  db = sum of d_t,  dv = sum of 2 e_t h_t.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Network {
  const double *w, *u, *b, *v, *xs, *ys;
  int64_t n, inputs, steps;
  std::vector<double> transposed; // W', so that a step adds multiples of rows

  explicit Network(const Input *in)
      : w(in[0].floats), u(in[1].floats), b(in[2].floats), v(in[3].floats), xs(in[4].floats), ys(in[5].floats),
        n(in[2].size[0]), inputs(in[1].size[1]), steps(in[5].size[0]), transposed((n + inputs) * n) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        transposed[j * n + i] = w[i * n + j];
      }
      for (int64_t j = 0; j < inputs; j++) {
        transposed[(n + j) * n + i] = u[i * inputs + j];
      }
    }
  }

  static void add_multiples(const double *__restrict rows, const double *__restrict x, int64_t count,
                            double *__restrict to, int64_t n) {
    for (int64_t j = 0; j < count; j++) {
      for (int64_t i = 0; i < n; i++) {
        to[i] += x[j] * rows[j * n + i];
      }
    }
  }

  // Returns the error; the first step has h = 0.
  double step(int64_t t, const double *h, double *__restrict next) const {
    std::copy_n(b, n, next);
    if (t > 0) {
      add_multiples(transposed.data(), h, n, next, n);
    }
    add_multiples(&transposed[n * n], xs + t * inputs, inputs, next, n);
    double e = -ys[t];
    for (int64_t i = 0; i < n; i++) {
      next[i] = std::tanh(next[i]);
    }
    for (int64_t i = 0; i < n; i++) {
      e += v[i] * next[i];
    }
    return e;
  }
};

} // namespace

extern "C" void rnn_value(const Input *in, double *out) {
  const Network r(in);
  std::vector<double> h(r.n), next(r.n);
  double sum = 0.0;
  for (int64_t t = 0; t < r.steps; t++) {
    const double e = r.step(t, h.data(), next.data());
    sum += e * e;
    std::swap(h, next);
  }
  *out = sum;
}

extern "C" void rnn_gradient(const Input *in, double *__restrict out) {
  const Network r(in);
  const int64_t n = r.n, inputs = r.inputs;
  std::vector<double> states((r.steps + 1) * n, 0.0), errors(r.steps), scratch(2 * n, 0.0);
  for (int64_t t = 0; t < r.steps; t++) {
    errors[t] = r.step(t, &states[t * n], &states[(t + 1) * n]);
  }
  double *__restrict dw = out, *__restrict du = dw + n * n, *__restrict db = du + n * inputs;
  double *__restrict dv = db + n, *__restrict dh = scratch.data(), *__restrict d = dh + n;
  std::fill(dw, dv + n, 0.0);
  for (int64_t t = r.steps; t-- > 0;) {
    const double *__restrict before = &states[t * n], *__restrict h = before + n, *__restrict x = r.xs + t * inputs;
    const double e = 2.0 * errors[t];
    for (int64_t i = 0; i < n; i++) {
      dv[i] += e * h[i];
      d[i] = (1.0 - h[i] * h[i]) * (dh[i] + e * r.v[i]);
      db[i] += d[i];
      dh[i] = 0.0;
    }
    for (int64_t i = 0; i < n; i++) {
      const double di = d[i], *__restrict row = r.w + i * n;
      for (int64_t j = 0; j < n; j++) {
        dw[i * n + j] += di * before[j];
        dh[j] += di * row[j];
      }
      for (int64_t j = 0; j < inputs; j++) {
        du[i * inputs + j] += di * x[j];
      }
    }
  }
}
