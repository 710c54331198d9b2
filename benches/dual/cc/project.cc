// The Jacobian of the projection of points by the numbers of a camera (`ks/project.ks`): two rows of 11 for each point,
// or the columns of a part of the camera after those of the other (`ks/project_of_parts.ks`). What depends on the camera
// only is computed once.

#include "rotation.h"

namespace {

struct Camera {
  const double *rotation, *centre, *focus, *radial;
};

// The place of a derivative among the 22 of a point: of a row, by a number of a part.
struct InRows {
  static int place(int row, int first, int, int j) { return 11 * row + first + j; }
};
struct InParts {
  static int place(int row, int first, int size, int j) { return 2 * first + size * row + j; }
};

template <class Order>
void jacobian(const Camera &camera, const double *points, int64_t n, double *__restrict out) {
  const Rotation rotation(vec3(camera.rotation));
  const Vec3 centre = vec3(camera.centre);
  const Vec3 units[3] = {rotation(UNIT[0]), rotation(UNIT[1]), rotation(UNIT[2])};
  const double f = *camera.focus, k1 = camera.radial[0], k2 = camera.radial[1];
  for (int64_t i = 0; i < n; i++) {
    const Vec3 at = vec3(points + 3 * i) - centre, p = rotation(at);
    const double inverse = 1.0 / p.z, x = p.x * inverse, y = p.y * inverse, r2 = x * x + y * y;
    const double distortion = 1.0 + k1 * r2 + k2 * r2 * r2, slope = 2.0 * k1 + 4.0 * k2 * r2;
    const double xx = f * (distortion + slope * x * x), xy = f * slope * x * y, yy = f * (distortion + slope * y * y);
    const Vec3 rows[2] = {{xx * inverse, xy * inverse, -(xx * x + xy * y) * inverse},
                          {xy * inverse, yy * inverse, -(xy * x + yy * y) * inverse}};
    const Vec3 turned[3] = {rotation.derivative(at, 0), rotation.derivative(at, 1), rotation.derivative(at, 2)};
    const double image[2] = {x, y};
    double *to = out + 22 * i;
    for (int row = 0; row < 2; row++) {
      for (int j = 0; j < 3; j++) {
        to[Order::place(row, 0, 3, j)] = dot(rows[row], turned[j]);
        to[Order::place(row, 3, 3, j)] = -dot(rows[row], units[j]);
      }
      to[Order::place(row, 6, 1, 0)] = distortion * image[row];
      to[Order::place(row, 7, 2, 0)] = row == 0 ? 1.0 : 0.0;
      to[Order::place(row, 7, 2, 1)] = row == 1 ? 1.0 : 0.0;
      to[Order::place(row, 9, 2, 0)] = f * r2 * image[row];
      to[Order::place(row, 9, 2, 1)] = f * r2 * r2 * image[row];
    }
  }
}

} // namespace

extern "C" void project_jacobian(const Input *in, double *__restrict out) {
  const double *camera = in[0].floats;
  jacobian<InRows>({camera, camera + 3, camera + 6, camera + 9}, in[1].floats, in[1].size[0], out);
}

extern "C" void project_of_parts_jacobian(const Input *in, double *__restrict out) {
  const Camera camera = {in[0].floats, in[1].floats, in[2].floats, in[4].floats};
  jacobian<InParts>(camera, in[5].floats, in[5].size[0], out);
}
