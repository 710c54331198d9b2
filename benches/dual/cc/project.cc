// The Jacobian of the projection of points by the numbers of the camera (`ks/project.ks`): two rows of 11 for each point.
// What depends on the camera only is computed once.

#include "rotation.h"

extern "C" void project_jacobian(const Input *in, double *__restrict out) {
  const double *camera = in[0].floats, *points = in[1].floats;
  const int64_t n = in[1].size[0];
  const Rotation rotation(vec3(camera));
  const Vec3 centre = vec3(camera + 3);
  const Vec3 units[3] = {rotation(UNIT[0]), rotation(UNIT[1]), rotation(UNIT[2])};
  const double f = camera[6], k1 = camera[9], k2 = camera[10];
  for (int64_t i = 0; i < n; i++) {
    const Vec3 at = vec3(points + 3 * i) - centre, p = rotation(at);
    const double inverse = 1.0 / p.z, x = p.x * inverse, y = p.y * inverse, r2 = x * x + y * y;
    const double distortion = 1.0 + k1 * r2 + k2 * r2 * r2, slope = 2.0 * k1 + 4.0 * k2 * r2;
    const double xx = f * (distortion + slope * x * x), xy = f * slope * x * y, yy = f * (distortion + slope * y * y);
    const Vec3 rows[2] = {{xx * inverse, xy * inverse, -(xx * x + xy * y) * inverse},
                          {xy * inverse, yy * inverse, -(xy * x + yy * y) * inverse}};
    const Vec3 turned[3] = {rotation.derivative(at, 0), rotation.derivative(at, 1), rotation.derivative(at, 2)};
    const double image[2] = {x, y};
    for (int row = 0; row < 2; row++) {
      double *to = out + 22 * i + 11 * row;
      for (int j = 0; j < 3; j++) {
        to[j] = dot(rows[row], turned[j]);
        to[3 + j] = -dot(rows[row], units[j]);
      }
      to[6] = distortion * image[row];
      to[7] = row == 0 ? 1.0 : 0.0;
      to[8] = row == 1 ? 1.0 : 0.0;
      to[9] = f * r2 * image[row];
      to[10] = f * r2 * r2 * image[row];
    }
  }
}
