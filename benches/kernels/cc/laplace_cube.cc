// Half the squared norm of the Laplacian of a field in a cube by a seven-point stencil, with walls that reflect, and
// its gradient. The stencil L is symmetric: the gradient of |L u|^2 / 2 is L L u.

#include "input.h"
#include <vector>

namespace {

// Calls f(place, L u there), row by row; planes and rows out of range are the nearest ones.
template <typename F> void laplacian(const double *u, const int64_t *size, F f) {
  const int64_t nx = size[0], ny = size[1], nz = size[2], plane = ny * nz;
  for (int64_t i = 0; i < nx; i++) {
    for (int64_t j = 0; j < ny; j++) {
      const double *row = u + i * plane + j * nz;
      const double *x0 = i > 0 ? row - plane : row, *x1 = i < nx - 1 ? row + plane : row;
      const double *y0 = j > 0 ? row - nz : row, *y1 = j < ny - 1 ? row + nz : row;
      const int64_t start = row - u;
      auto at = [=](int64_t k, int64_t left, int64_t right) {
        f(start + k, x0[k] + x1[k] + y0[k] + y1[k] + row[left] + row[right] - 6.0 * row[k]);
      };
      if (nz == 1) {
        at(0, 0, 0);
        continue;
      }
      at(0, 0, 1);
      for (int64_t k = 1; k < nz - 1; k++) {
        at(k, k - 1, k + 1);
      }
      at(nz - 1, nz - 2, nz - 1);
    }
  }
}

} // namespace

extern "C" void laplace_cube_value(const Input *in, double *out) {
  double sum = 0.0;
  laplacian(in[0].floats, in[0].size, [&](int64_t, double x) { sum += x * x; });
  *out = 0.5 * sum;
}

extern "C" void laplace_cube_gradient(const Input *in, double *__restrict out) {
  const int64_t *size = in[0].size;
  std::vector<double> scratch(size[0] * size[1] * size[2]);
  double *__restrict lap = scratch.data();
  laplacian(in[0].floats, size, [=](int64_t at, double x) { lap[at] = x; });
  laplacian(lap, size, [=](int64_t at, double x) { out[at] = x; });
}
