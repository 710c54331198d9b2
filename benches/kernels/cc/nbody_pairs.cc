// The softened energy of gravity between all pairs of bodies, -(sum over i < j of m_i m_j / r_ij), and its gradients by
// places and masses. Places are copied to a vector for each coordinate.

#include "bodies.h"
#include <cmath>

extern "C" void nbody_pairs_value(const Input *in, double *out) {
  const Bodies b(in);
  double energy = 0.0;
  for (int64_t i = 0; i < b.n; i++) {
    double field = 0.0;
    for (int64_t j = 0; j < i; j++) {
      const double dx = b.x[i] - b.x[j], dy = b.y[i] - b.y[j], dz = b.z[i] - b.z[j];
      field += b.m[j] / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01);
    }
    energy += b.m[i] * field;
  }
  *out = -energy;
}

extern "C" void nbody_pairs_gradient(const Input *in, double *__restrict out) {
  const Bodies b(in);
  const int64_t n = b.n;
  std::vector<double> scratch(3 * n, 0.0);
  double *__restrict gx = scratch.data(), *__restrict gy = gx + n, *__restrict gz = gy + n;
  double *__restrict dm = out + 3 * n;
  for (int64_t i = 0; i < n; i++) {
    const double xi = b.x[i], yi = b.y[i], zi = b.z[i], mi = b.m[i];
    double tx = 0.0, ty = 0.0, tz = 0.0, field = 0.0;
    for (int64_t j = 0; j < i; j++) {
      const double dx = xi - b.x[j], dy = yi - b.y[j], dz = zi - b.z[j];
      const double r2 = dx * dx + dy * dy + dz * dz + 0.01, inverse = 1.0 / std::sqrt(r2);
      const double pull = mi * b.m[j] * inverse / r2;
      field += b.m[j] * inverse;
      dm[j] -= mi * inverse;
      tx += pull * dx;
      ty += pull * dy;
      tz += pull * dz;
      gx[j] -= pull * dx;
      gy[j] -= pull * dy;
      gz[j] -= pull * dz;
    }
    gx[i] = tx;
    gy[i] = ty;
    gz[i] = tz;
    dm[i] = -field;
  }
  for (int64_t i = 0; i < n; i++) {
    out[3 * i] = gx[i];
    out[3 * i + 1] = gy[i];
    out[3 * i + 2] = gz[i];
  }
}
