// Bundle adjustment (`demos/ba.ks`): errors of observations, and their Jacobian, which is sparse: the two rows of each
// observation by its camera (2 x 11), those by its point (2 x 3), those by its weight (2), and the derivatives of the
// weights' errors, one kind after the other.
//
//   p = R(r) (X - C),  x = (p_0, p_1) / p_2,  L = 1 + k1 |x|^2 + k2 |x|^4,  error = w (f L x + c - feature)

#include "rotation.h"

namespace {

struct Problem {
  const double *cameras, *points, *weights, *features;
  const int64_t *observations;
  int64_t n;

  explicit Problem(const Input *in)
      : cameras(in[0].floats), points(in[1].floats), weights(in[2].floats), features(in[4].floats),
        observations(in[3].integers), n(in[3].size[0]) {}

  const double *camera(int64_t i) const { return cameras + 11 * observations[2 * i]; }
  const double *point(int64_t i) const { return points + 3 * observations[2 * i + 1]; }
};

void project(const double *camera, const double *point, double *out) {
  const Vec3 p = Rotation(vec3(camera))(vec3(point) - vec3(camera + 3));
  const double x = p.x / p.z, y = p.y / p.z, r2 = x * x + y * y;
  const double scale = camera[6] * (1.0 + camera[9] * r2 + camera[10] * r2 * r2);
  out[0] = scale * x + camera[7];
  out[1] = scale * y + camera[8];
}

void block(const double *camera, const double *point, double w, const double *feature, double *to_camera,
           double *to_point, double *to_weight) {
  const Rotation rotation(vec3(camera));
  const Vec3 at = vec3(point) - vec3(camera + 3), p = rotation(at);
  const double f = camera[6], k1 = camera[9], k2 = camera[10], inverse = 1.0 / p.z;
  const double x = p.x * inverse, y = p.y * inverse, r2 = x * x + y * y;
  const double distortion = 1.0 + k1 * r2 + k2 * r2 * r2, slope = 2.0 * k1 + 4.0 * k2 * r2;
  // By x and y, then by p.
  const double scale = w * f;
  const double xx = scale * (distortion + slope * x * x), xy = scale * slope * x * y;
  const double yy = scale * (distortion + slope * y * y);
  const Vec3 rows[2] = {{xx * inverse, xy * inverse, -(xx * x + xy * y) * inverse},
                        {xy * inverse, yy * inverse, -(xy * x + yy * y) * inverse}};
  const double image[2] = {x, y};
  for (int row = 0; row < 2; row++) {
    double *by_camera = to_camera + 11 * row, *by_point = to_point + 3 * row;
    for (int j = 0; j < 3; j++) {
      by_camera[j] = dot(rows[row], rotation.derivative(at, j));
      by_point[j] = dot(rows[row], rotation(UNIT[j]));
      by_camera[3 + j] = -by_point[j];
    }
    by_camera[6] = w * distortion * image[row];
    by_camera[7] = row == 0 ? w : 0.0;
    by_camera[8] = row == 1 ? w : 0.0;
    by_camera[9] = scale * r2 * image[row];
    by_camera[10] = scale * r2 * r2 * image[row];
    to_weight[row] = f * distortion * image[row] + camera[7 + row] - feature[row];
  }
}

} // namespace

extern "C" void ba_value(const Input *in, double *out) {
  const Problem b(in);
#pragma omp parallel for
  for (int64_t i = 0; i < b.n; i++) {
    double seen[2];
    project(b.camera(i), b.point(i), seen);
    for (int row = 0; row < 2; row++) {
      out[2 * i + row] = b.weights[i] * (seen[row] - b.features[2 * i + row]);
    }
    out[2 * b.n + i] = 1.0 - b.weights[i] * b.weights[i];
  }
}

extern "C" void ba_jacobian(const Input *in, double *out) {
  const Problem b(in);
#pragma omp parallel for
  for (int64_t i = 0; i < b.n; i++) {
    block(b.camera(i), b.point(i), b.weights[i], b.features + 2 * i, out + 22 * i, out + 22 * b.n + 6 * i,
          out + 28 * b.n + 2 * i);
    out[30 * b.n + i] = -2.0 * b.weights[i];
  }
}
