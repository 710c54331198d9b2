// The loss of a network of long short-term memory (`demos/lstm.ks`), and its gradient by weights and extra parameters.
//
//   f = s(x wf + bf), g = s(h wg + bg), o = s(x wo + bo), a = tanh(h wa + ba)     element by element
//   c' = c f + g a,   h' = o tanh(c'),   which is x of the next layer
//   y = x out_w + out_b,   loss = - sum over t of next . (y - log(2 + sum exp y)) / (b (T - 1))
//
// The gradient keeps the gates of all times, and goes back through them.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Network {
  int64_t layers, b, times;
  const double *main, *extra, *state, *sequence;

  explicit Network(const Input *in)
      : layers(in[0].size[0] / 2), b(in[3].size[1]), times(in[3].size[0] - 1), main(in[0].floats), extra(in[1].floats),
        state(in[2].floats), sequence(in[3].floats) {}

  const double *weight(int64_t layer) const { return main + 8 * b * layer; }
  const double *bias(int64_t layer) const { return weight(layer) + 4 * b; }
};

// Of one layer at one time, b numbers each: f, g, o, a, tanh(c'), c', h'.
enum { F, G, O, A, TANH, CELL, HIDDEN, PARTS };

void layer(const Network &n, int64_t l, const double *x, const double *h, const double *c, double *gates) {
  const int64_t b = n.b;
  const double *w = n.weight(l), *bias = n.bias(l);
  for (int64_t j = 0; j < b; j++) {
    const double f = sigmoid(x[j] * w[j] + bias[j]), g = sigmoid(h[j] * w[b + j] + bias[b + j]);
    const double o = sigmoid(x[j] * w[2 * b + j] + bias[2 * b + j]), a = std::tanh(h[j] * w[3 * b + j] + bias[3 * b + j]);
    const double cell = c[j] * f + g * a, squashed = std::tanh(cell);
    gates[F * b + j] = f;
    gates[G * b + j] = g;
    gates[O * b + j] = o;
    gates[A * b + j] = a;
    gates[TANH * b + j] = squashed;
    gates[CELL * b + j] = cell;
    gates[HIDDEN * b + j] = o * squashed;
  }
}

// All layers at one time; `before` and `now` hold their gates. The result is what the last layer puts out.
const double *step(const Network &n, int64_t t, const double *before, double *now, double *x) {
  const int64_t b = n.b, size = PARTS * b;
  for (int64_t j = 0; j < b; j++) {
    x[j] = n.sequence[t * b + j] * n.extra[j];
  }
  const double *input = x;
  for (int64_t l = 0; l < n.layers; l++) {
    layer(n, l, input, before + l * size + HIDDEN * b, before + l * size + CELL * b, now + l * size);
    input = now + l * size + HIDDEN * b;
  }
  return input;
}

// The states at the start, at their places among gates.
void start(const Network &n, double *gates) {
  for (int64_t l = 0; l < n.layers; l++) {
    std::copy_n(n.state + 2 * l * n.b, n.b, gates + (l * PARTS + HIDDEN) * n.b);
    std::copy_n(n.state + (2 * l + 1) * n.b, n.b, gates + (l * PARTS + CELL) * n.b);
  }
}

// exp y; the result is 2 + their sum.
double exponentials(const Network &n, const double *x, double *y, double *e) {
  double sum = 2.0;
  for (int64_t j = 0; j < n.b; j++) {
    y[j] = x[j] * n.extra[n.b + j] + n.extra[2 * n.b + j];
    e[j] = std::exp(y[j]);
    sum += e[j];
  }
  return sum;
}

// Back through a layer: dx comes as the cotangent of h' from above and leaves as that of x; dh and dc are those of the
// states.
void layer_back(const Network &n, int64_t l, const double *x, const double *before, const double *gates, double *dx,
                double *dh, double *dc, double *to_main) {
  const int64_t b = n.b;
  const double *w = n.weight(l), *h = before + HIDDEN * b, *c = before + CELL * b;
  double *to_w = to_main + 8 * b * l, *to_bias = to_w + 4 * b;
  for (int64_t j = 0; j < b; j++) {
    const double f = gates[F * b + j], g = gates[G * b + j], o = gates[O * b + j], a = gates[A * b + j];
    const double squashed = gates[TANH * b + j], out = dx[j] + dh[j];
    const double cell = dc[j] + out * o * (1.0 - squashed * squashed);
    const double zf = cell * c[j] * f * (1.0 - f), zg = cell * a * g * (1.0 - g);
    const double zo = out * squashed * o * (1.0 - o), za = cell * g * (1.0 - a * a);
    to_w[j] += zf * x[j];
    to_w[b + j] += zg * h[j];
    to_w[2 * b + j] += zo * x[j];
    to_w[3 * b + j] += za * h[j];
    to_bias[j] += zf;
    to_bias[b + j] += zg;
    to_bias[2 * b + j] += zo;
    to_bias[3 * b + j] += za;
    dx[j] = zf * w[j] + zo * w[2 * b + j];
    dh[j] = zg * w[b + j] + za * w[3 * b + j];
    dc[j] = cell * f;
  }
}

} // namespace

extern "C" void lstm_value(const Input *in, double *out) {
  const Network n(in);
  const int64_t b = n.b, size = n.layers * PARTS * b;
  std::vector<double> gates(2 * size), x(b), y(b), e(b);
  double *before = &gates[0], *now = &gates[size], total = 0.0;
  start(n, before);
  for (int64_t t = 0; t < n.times; t++) {
    const double *output = step(n, t, before, now, x.data()), *next = n.sequence + (t + 1) * b;
    const double log_sum = std::log(exponentials(n, output, y.data(), e.data()));
    for (int64_t j = 0; j < b; j++) {
      total += next[j] * (y[j] - log_sum);
    }
    std::swap(before, now);
  }
  *out = -total / (b * n.times);
}

extern "C" void lstm_gradient(const Input *in, double *out) {
  const Network n(in);
  const int64_t b = n.b, size = n.layers * PARTS * b;
  double *to_main = out, *to_extra = out + 8 * b * n.layers;
  std::fill(out, to_extra + 3 * b, 0.0);
  std::vector<double> gates((n.times + 1) * size), inputs(n.times * b), y(b), e(b), dx(b), dh(n.layers * b),
      dc(n.layers * b);
  start(n, gates.data());
  for (int64_t t = 0; t < n.times; t++) {
    step(n, t, &gates[t * size], &gates[(t + 1) * size], &inputs[t * b]);
  }
  const double scale = -1.0 / (b * n.times);
  for (int64_t t = n.times; t-- > 0;) {
    const double *before = &gates[t * size], *now = &gates[(t + 1) * size], *next = n.sequence + (t + 1) * b;
    const double *output = now + ((n.layers - 1) * PARTS + HIDDEN) * b;
    const double sum = exponentials(n, output, y.data(), e.data());
    double ones = 0.0;
    for (int64_t j = 0; j < b; j++) {
      ones += next[j];
    }
    for (int64_t j = 0; j < b; j++) {
      const double dy = scale * (next[j] - ones * e[j] / sum);
      to_extra[b + j] += dy * output[j];
      to_extra[2 * b + j] += dy;
      dx[j] = dy * n.extra[b + j];
    }
    for (int64_t l = n.layers; l-- > 0;) {
      const double *x = l == 0 ? &inputs[t * b] : now + ((l - 1) * PARTS + HIDDEN) * b;
      layer_back(n, l, x, before + l * PARTS * b, now + l * PARTS * b, dx.data(), &dh[l * b], &dc[l * b], to_main);
    }
    for (int64_t j = 0; j < b; j++) {
      to_extra[j] += dx[j] * n.sequence[t * b + j];
    }
  }
}
