// The energy of springs between points in the plane, half the sum of k (length - rest)^2, and its gradients by places,
// stiffness k and rest.

#include "input.h"
#include <algorithm>
#include <cmath>

namespace {

struct Springs {
  const double *places, *stiffness, *rest;
  const int64_t *from, *to;
  int64_t points, count;

  explicit Springs(const Input *in)
      : places(in[0].floats), stiffness(in[1].floats), rest(in[2].floats), from(in[3].integers), to(in[4].integers),
        points(in[0].size[0]), count(in[1].size[0]) {}

  double length(int64_t s, double &dx, double &dy) const {
    const double *p = places + 2 * from[s], *q = places + 2 * to[s];
    dx = q[0] - p[0];
    dy = q[1] - p[1];
    return std::sqrt(dx * dx + dy * dy + 0.0001);
  }
};

} // namespace

extern "C" void spring_network_value(const Input *in, double *out) {
  const Springs net(in);
  double sum = 0.0;
  for (int64_t s = 0; s < net.count; s++) {
    double dx, dy;
    const double stretch = net.length(s, dx, dy) - net.rest[s];
    sum += net.stiffness[s] * stretch * stretch;
  }
  *out = 0.5 * sum;
}

extern "C" void spring_network_gradient(const Input *in, double *__restrict out) {
  const Springs net(in);
  double *dplaces = out, *dstiffness = out + 2 * net.points, *drest = dstiffness + net.count;
  std::fill_n(dplaces, 2 * net.points, 0.0);
  for (int64_t s = 0; s < net.count; s++) {
    double dx, dy;
    const double length = net.length(s, dx, dy), stretch = length - net.rest[s], force = net.stiffness[s] * stretch;
    const double scale = force / length;
    double *p = dplaces + 2 * net.from[s], *q = dplaces + 2 * net.to[s];
    dstiffness[s] = 0.5 * stretch * stretch;
    drest[s] = -force;
    p[0] -= scale * dx;
    p[1] -= scale * dy;
    q[0] += scale * dx;
    q[1] += scale * dy;
  }
}
