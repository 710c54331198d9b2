// The smoothed total variation of an image, the sum of sqrt (dx^2 + dy^2 + eps), and its gradient by the image.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

extern "C" void total_variation_value(const Input *in, double *out) {
  const int64_t rows = in[0].size[0], columns = in[0].size[1];
  const double *u = in[0].floats, eps = *in[1].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < rows - 1; i++) {
    const double *row = u + i * columns, *below = row + columns;
    for (int64_t j = 0; j < columns - 1; j++) {
      const double dx = row[j + 1] - row[j], dy = below[j] - row[j];
      sum += std::sqrt(dx * dx + dy * dy + eps);
    }
  }
  *out = sum;
}

extern "C" void total_variation_gradient(const Input *in, double *__restrict out) {
  const int64_t rows = in[0].size[0], columns = in[0].size[1], n = columns - 1;
  const double *u = in[0].floats, eps = *in[1].floats;
  std::vector<double> scratch(2 * columns, 0.0);
  double *__restrict px = scratch.data(), *__restrict py = px + columns;
  std::fill_n(out, columns, 0.0);
  for (int64_t i = 0; i < rows - 1; i++) {
    const double *row = u + i * columns, *below = row + columns;
    double *__restrict here = out + i * columns, *__restrict next = here + columns;
    for (int64_t j = 0; j < n; j++) {
      const double dx = row[j + 1] - row[j], dy = below[j] - row[j];
      const double scale = 1.0 / std::sqrt(dx * dx + dy * dy + eps);
      px[j] = scale * dx;
      py[j] = scale * dy;
    }
    here[0] -= px[0] + py[0];
    for (int64_t j = 1; j < n; j++) {
      here[j] += px[j - 1] - px[j] - py[j];
    }
    here[n] += px[n - 1];
    std::copy_n(py, n, next);
    next[n] = 0.0;
  }
}
