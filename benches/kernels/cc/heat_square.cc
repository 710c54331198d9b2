// Heat in a square with a cold border by a five-point stencil, the squared distance to a target, and its gradients by
// the start and by the diffusivity k.
//
//   u' = u + k L u, where L is symmetric. Back: dk += du' . L u,  du = du' + k L du'.
//
// States have a margin of zeros.

#include "input.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace {

double laplacian(const double *u, int64_t width, int64_t at) {
  return u[at - width] + u[at + width] + u[at - 1] + u[at + 1] - 4.0 * u[at];
}

struct Square {
  int64_t rows, columns, width, area;

  explicit Square(const Input &u)
      : rows(u.size[0]), columns(u.size[1]), width(columns + 2), area((rows + 2) * width) {}

  void load(const double *from, double *to) const {
    for (int64_t i = 0; i < rows; i++) {
      std::copy_n(from + i * columns, columns, to + (i + 1) * width + 1);
    }
  }

  void step(const double *__restrict u, double k, double *__restrict next) const {
    for (int64_t i = 1; i <= rows; i++) {
      for (int64_t at = i * width + 1; at <= i * width + columns; at++) {
        next[at] = u[at] + k * laplacian(u, width, at);
      }
    }
  }

  // The same, and the sum of lambda . L u.
  double back(const double *__restrict lambda, const double *__restrict u, double k, double *__restrict next) const {
    double sum = 0.0;
    for (int64_t i = 1; i <= rows; i++) {
      for (int64_t at = i * width + 1; at <= i * width + columns; at++) {
        const double l = laplacian(lambda, width, at);
        next[at] = lambda[at] + k * l;
        sum += u[at] * l;
      }
    }
    return sum;
  }
};

} // namespace

extern "C" void heat_square_value(const Input *in, double *out) {
  const Square s(in[0]);
  const double k = *in[1].floats, *target = in[2].floats;
  const int64_t steps = *in[3].integers;
  std::vector<double> now(s.area, 0.0), next(s.area, 0.0);
  s.load(in[0].floats, now.data());
  for (int64_t t = 0; t < steps; t++) {
    s.step(now.data(), k, next.data());
    std::swap(now, next);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < s.rows; i++) {
    const double *row = &now[(i + 1) * s.width + 1];
    for (int64_t j = 0; j < s.columns; j++) {
      const double d = row[j] - target[i * s.columns + j];
      sum += d * d;
    }
  }
  *out = sum;
}

extern "C" void heat_square_gradient(const Input *in, double *__restrict out) {
  const Square s(in[0]);
  const double k = *in[1].floats, *target = in[2].floats;
  const int64_t steps = *in[3].integers;
  std::vector<double> states((steps + 1) * s.area, 0.0), lambda(s.area, 0.0), next(s.area, 0.0);
  s.load(in[0].floats, states.data());
  for (int64_t t = 0; t < steps; t++) {
    s.step(&states[t * s.area], k, &states[(t + 1) * s.area]);
  }
  for (int64_t i = 0; i < s.rows; i++) {
    const int64_t row = (i + 1) * s.width + 1;
    for (int64_t j = 0; j < s.columns; j++) {
      lambda[row + j] = 2.0 * (states[steps * s.area + row + j] - target[i * s.columns + j]);
    }
  }
  double dk = 0.0;
  for (int64_t t = steps; t-- > 0;) {
    dk += s.back(lambda.data(), &states[t * s.area], k, next.data());
    std::swap(lambda, next);
  }
  for (int64_t i = 0; i < s.rows; i++) {
    std::copy_n(&lambda[(i + 1) * s.width + 1], s.columns, out + i * s.columns);
  }
  out[s.rows * s.columns] = dk;
}
