// Rotations about an axis by an angle, and their derivatives by axis times angle.
//
// With axis u = r / theta:  R X = cos X + sin (u x X) + (1 - cos) (u . X) u, and
//
//   d(R X)/dr_j = u_j (cos (u x X) - sin X + sin (u . X) u)
//                 + sin (du x X) + (1 - cos) ((du . X) u + (u . X) du),   du = (e_j - u_j u) / theta
#pragma once

#include "input.h"
#include <cmath>

namespace {

struct Vec3 {
  double x, y, z;
};

Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec3 operator*(double k, Vec3 a) { return {k * a.x, k * a.y, k * a.z}; }
double dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec3 cross(Vec3 a, Vec3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
Vec3 vec3(const double *v) { return {v[0], v[1], v[2]}; }
const Vec3 UNIT[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

struct Rotation {
  Vec3 r, u{};
  double theta, cosine = 1.0, sine = 0.0;

  explicit Rotation(Vec3 r) : r(r), theta(std::sqrt(dot(r, r))) {
    if (theta != 0.0) {
      u = (1.0 / theta) * r;
      cosine = std::cos(theta);
      sine = std::sin(theta);
    }
  }

  Vec3 operator()(Vec3 x) const {
    return theta == 0.0 ? x + cross(r, x) : cosine * x + sine * cross(u, x) + ((1.0 - cosine) * dot(u, x)) * u;
  }

  // The derivative of R x by r_j.
  Vec3 derivative(Vec3 x, int j) const {
    if (theta == 0.0) {
      return cross(UNIT[j], x);
    }
    const double uj = dot(u, UNIT[j]), ux = dot(u, x);
    const Vec3 du = (1.0 / theta) * (UNIT[j] - uj * u);
    return uj * (cosine * cross(u, x) - sine * x + (sine * ux) * u) + sine * cross(du, x) +
           (1.0 - cosine) * (dot(du, x) * u + ux * du);
  }
};

} // namespace
