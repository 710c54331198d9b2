// Arms of joints in the plane, a row of angles each, the sum of the squared distances of their ends to targets, and its
// gradients by the lengths and the angles.
//
//   end = sum over k of l_k (cos a_k, sin a_k), a_k the sum of the first angles;  with g = 2 (end - target):
//   dl_k += g . (cos a_k, sin a_k),  da_k = l_k g . (-sin a_k, cos a_k), whose sums from k on are those of the angles.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Arms {
  const double *lengths, *angles, *targets;
  int64_t joints, count;

  explicit Arms(const Input *in)
      : lengths(in[0].floats), angles(in[1].floats), targets(in[2].floats), joints(in[0].size[0]),
        count(in[1].size[0]) {}

  // Leaves cosines and sines of the added angles; dx and dy lead from the target to the end.
  void reach(int64_t i, double *__restrict cosines, double *__restrict sines, double &dx, double &dy) const {
    double a = 0.0, x = -targets[2 * i], y = -targets[2 * i + 1];
    for (int64_t k = 0; k < joints; k++) {
      a += angles[i * joints + k];
      cosines[k] = a;
    }
    for (int64_t k = 0; k < joints; k++) {
      const double angle = cosines[k];
      cosines[k] = std::cos(angle);
      sines[k] = std::sin(angle);
    }
    for (int64_t k = 0; k < joints; k++) {
      x += lengths[k] * cosines[k];
      y += lengths[k] * sines[k];
    }
    dx = x;
    dy = y;
  }
};

} // namespace

extern "C" void robot_arm_value(const Input *in, double *out) {
  const Arms arms(in);
  std::vector<double> scratch(2 * arms.joints);
  double sum = 0.0;
  for (int64_t i = 0; i < arms.count; i++) {
    double dx, dy;
    arms.reach(i, scratch.data(), &scratch[arms.joints], dx, dy);
    sum += dx * dx + dy * dy;
  }
  *out = sum;
}

extern "C" void robot_arm_gradient(const Input *in, double *__restrict out) {
  const Arms arms(in);
  const int64_t joints = arms.joints;
  std::vector<double> scratch(2 * joints);
  double *cosines = scratch.data(), *sines = cosines + joints, *dlengths = out;
  std::fill_n(dlengths, joints, 0.0);
  for (int64_t i = 0; i < arms.count; i++) {
    double dx, dy;
    arms.reach(i, cosines, sines, dx, dy);
    double *dangles = out + joints + i * joints, sum = 0.0;
    for (int64_t k = joints; k-- > 0;) {
      dlengths[k] += 2.0 * (dx * cosines[k] + dy * sines[k]);
      sum += 2.0 * arms.lengths[k] * (dy * cosines[k] - dx * sines[k]);
      dangles[k] = sum;
    }
  }
}
