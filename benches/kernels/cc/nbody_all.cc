// The sum of the squared accelerations a_i = sum over j of m_j s_ij d_ij, where d_ij = x_j - x_i, R = |d_ij|^2 + 0.01
// and s = R^(-3/2), and its gradients by places and masses.
//
// With g = 2 a and h = m_i g_j - m_j g_i:  dx_i = sum over j of s h - 3 s (h . d) d / R,
//   dm_i = -(sum over j of s g_j . d).
// Places are copied to a vector for each coordinate; bodies i are the inner loop, whose sums are vectors.

#include "bodies.h"
#include <cmath>

namespace {

// a has three vectors of zeros.
void accelerations(const Bodies &b, double *a) {
  const int64_t n = b.n;
  const double *x = b.x, *y = b.y, *z = b.z;
  double *__restrict ax = a, *__restrict ay = a + n, *__restrict az = ay + n;
  for (int64_t j = 0; j < n; j++) {
    const double xj = x[j], yj = y[j], zj = z[j], mj = b.m[j];
    for (int64_t i = 0; i < n; i++) {
      const double dx = xj - x[i], dy = yj - y[i], dz = zj - z[i], r2 = dx * dx + dy * dy + dz * dz + 0.01;
      const double s = mj / (r2 * std::sqrt(r2));
      ax[i] += s * dx;
      ay[i] += s * dy;
      az[i] += s * dz;
    }
  }
}

} // namespace

extern "C" void nbody_all_value(const Input *in, double *out) {
  const Bodies b(in);
  std::vector<double> a(3 * b.n, 0.0);
  accelerations(b, a.data());
  double sum = 0.0;
  for (double x : a) {
    sum += x * x;
  }
  *out = sum;
}

extern "C" void nbody_all_gradient(const Input *in, double *__restrict out) {
  const Bodies b(in);
  const int64_t n = b.n;
  std::vector<double> scratch(6 * n, 0.0);
  double *g = scratch.data();
  accelerations(b, g);
  for (int64_t i = 0; i < 3 * n; i++) {
    g[i] *= 2.0;
  }
  const double *__restrict gx = g, *__restrict gy = g + n, *__restrict gz = gy + n;
  double *__restrict tx = g + 3 * n, *__restrict ty = tx + n, *__restrict tz = ty + n, *__restrict dm = out + 3 * n;
  for (int64_t i = 0; i < n; i++) {
    dm[i] = 0.0;
  }
  for (int64_t j = 0; j < n; j++) {
    const double xj = b.x[j], yj = b.y[j], zj = b.z[j], mj = b.m[j], gxj = gx[j], gyj = gy[j], gzj = gz[j];
    for (int64_t i = 0; i < n; i++) {
      const double dx = xj - b.x[i], dy = yj - b.y[i], dz = zj - b.z[i], r2 = dx * dx + dy * dy + dz * dz + 0.01;
      const double s = 1.0 / (r2 * std::sqrt(r2));
      const double hx = b.m[i] * gxj - mj * gx[i], hy = b.m[i] * gyj - mj * gy[i], hz = b.m[i] * gzj - mj * gz[i];
      const double along = 3.0 * (hx * dx + hy * dy + hz * dz) / r2;
      tx[i] += s * (hx - along * dx);
      ty[i] += s * (hy - along * dy);
      tz[i] += s * (hz - along * dz);
      dm[i] -= s * (gxj * dx + gyj * dy + gzj * dz);
    }
  }
  for (int64_t i = 0; i < n; i++) {
    out[3 * i] = tx[i];
    out[3 * i + 1] = ty[i];
    out[3 * i + 2] = tz[i];
  }
}
