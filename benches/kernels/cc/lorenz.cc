// The Lorenz equations by the classical Runge-Kutta method, the squared distance of the last state to a target, and its
// gradients by the start and by the rates s, r and b.
//
//   g(x, y, z) = (s (y - x), x (r - z) - y, x y - b z)
//
// The states are kept, the stages between them computed again.

#include "input.h"
#include <vector>

namespace {

struct Point {
  double x, y, z;
};

Point operator+(Point p, Point q) { return {p.x + q.x, p.y + q.y, p.z + q.z}; }
Point operator*(double k, Point p) { return {k * p.x, k * p.y, k * p.z}; }

struct Lorenz {
  double s, r, b, h;
  int64_t steps;
  Point start, target;

  explicit Lorenz(const Input *in)
      : s(in[1].floats[0]), r(in[1].floats[1]), b(in[1].floats[2]), h(*in[2].floats), steps(*in[4].integers),
        start{in[0].floats[0], in[0].floats[1], in[0].floats[2]},
        target{in[3].floats[0], in[3].floats[1], in[3].floats[2]} {}

  Point slope(Point p) const { return {s * (p.y - p.x), p.x * (r - p.z) - p.y, p.x * p.y - b * p.z}; }

  // The transposed derivative at p, times d; adds to the rates' cotangents.
  Point back(Point p, Point d, Point &rates) const {
    rates.x += (p.y - p.x) * d.x;
    rates.y += p.x * d.y;
    rates.z -= p.z * d.z;
    return {(r - p.z) * d.y + p.y * d.z - s * d.x, s * d.x - d.y + p.x * d.z, -p.x * d.y - b * d.z};
  }

  Point step(Point p) const {
    const Point k1 = slope(p), k2 = slope(p + 0.5 * h * k1), k3 = slope(p + 0.5 * h * k2), k4 = slope(p + h * k3);
    return p + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4);
  }

  Point step_back(Point p, Point d, Point &rates) const {
    const Point p2 = p + 0.5 * h * slope(p), p3 = p + 0.5 * h * slope(p2), p4 = p + h * slope(p3);
    const Point d4 = back(p4, h / 6.0 * d, rates), d3 = back(p3, h / 3.0 * d + h * d4, rates);
    const Point d2 = back(p2, h / 3.0 * d + 0.5 * h * d3, rates), d1 = back(p, h / 6.0 * d + 0.5 * h * d2, rates);
    return d + d1 + d2 + d3 + d4;
  }
};

} // namespace

extern "C" void lorenz_value(const Input *in, double *out) {
  const Lorenz l(in);
  Point p = l.start;
  for (int64_t t = 0; t < l.steps; t++) {
    p = l.step(p);
  }
  const Point d = p + -1.0 * l.target;
  *out = d.x * d.x + d.y * d.y + d.z * d.z;
}

extern "C" void lorenz_gradient(const Input *in, double *__restrict out) {
  const Lorenz l(in);
  std::vector<Point> states(l.steps + 1);
  states[0] = l.start;
  for (int64_t t = 0; t < l.steps; t++) {
    states[t + 1] = l.step(states[t]);
  }
  Point d = 2.0 * (states[l.steps] + -1.0 * l.target), rates = {0.0, 0.0, 0.0};
  for (int64_t t = l.steps; t-- > 0;) {
    d = l.step_back(states[t], d, rates);
  }
  const double all[6] = {d.x, d.y, d.z, rates.x, rates.y, rates.z};
  for (int64_t i = 0; i < 6; i++) {
    out[i] = all[i];
  }
}
