// An image through a filter whose window is clamped to the image, the squared distance to another image, and its
// gradients by the image and the weights. A wider image is made first, whose margin repeats the border; cotangents of
// the margin are added to the border at the end.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

struct Blur {
  const double *image, *weights, *target;
  int64_t rows, columns, height, width, wide_rows, wide_columns;
  std::vector<double> wide;

  explicit Blur(const Input *in)
      : image(in[0].floats), weights(in[1].floats), target(in[2].floats), rows(in[0].size[0]), columns(in[0].size[1]),
        height(in[1].size[0]), width(in[1].size[1]), wide_rows(rows + height - 1), wide_columns(columns + width - 1),
        wide(wide_rows * wide_columns) {
    for (int64_t i = 0; i < wide_rows; i++) {
      const double *from = image + inside(i, height, rows) * columns;
      double *to = &wide[i * wide_columns];
      std::fill_n(to, width / 2, from[0]);
      std::copy_n(from, columns, to + width / 2);
      std::fill(to + width / 2 + columns, to + wide_columns, from[columns - 1]);
    }
  }

  static int64_t inside(int64_t i, int64_t size, int64_t n) {
    return std::min(std::max<int64_t>(i - size / 2, 0), n - 1);
  }

  // Row i of the blurred image, less the target.
  void distances(int64_t i, double *__restrict d) const {
    for (int64_t j = 0; j < columns; j++) {
      d[j] = -target[i * columns + j];
    }
    for (int64_t a = 0; a < height; a++) {
      const double *row = &wide[(i + a) * wide_columns];
      for (int64_t b = 0; b < width; b++) {
        const double w = weights[a * width + b];
        for (int64_t j = 0; j < columns; j++) {
          d[j] += w * row[j + b];
        }
      }
    }
  }
};

} // namespace

extern "C" void blur_image_value(const Input *in, double *out) {
  const Blur blur(in);
  std::vector<double> d(blur.columns);
  double sum = 0.0;
  for (int64_t i = 0; i < blur.rows; i++) {
    blur.distances(i, d.data());
    for (int64_t j = 0; j < blur.columns; j++) {
      sum += d[j] * d[j];
    }
  }
  *out = sum;
}

extern "C" void blur_image_gradient(const Input *in, double *__restrict out) {
  const Blur blur(in);
  const int64_t rows = blur.rows, columns = blur.columns, height = blur.height, width = blur.width;
  std::vector<double> d(columns), to_wide(blur.wide.size(), 0.0);
  double *to_image = out, *to_weights = out + rows * columns;
  std::fill_n(to_weights, height * width, 0.0);
  for (int64_t i = 0; i < rows; i++) {
    blur.distances(i, d.data());
    for (double &x : d) {
      x *= 2.0;
    }
    for (int64_t a = 0; a < height; a++) {
      const double *row = &blur.wide[(i + a) * blur.wide_columns];
      double *__restrict to_row = &to_wide[(i + a) * blur.wide_columns];
      for (int64_t b = 0; b < width; b++) {
        const double w = blur.weights[a * width + b];
        double sum = 0.0;
        for (int64_t j = 0; j < columns; j++) {
          to_row[j + b] += w * d[j];
          sum += d[j] * row[j + b];
        }
        to_weights[a * width + b] += sum;
      }
    }
  }
  std::fill_n(to_image, rows * columns, 0.0);
  for (int64_t i = 0; i < blur.wide_rows; i++) {
    const double *from = &to_wide[i * blur.wide_columns];
    double *to = to_image + Blur::inside(i, height, rows) * columns;
    for (int64_t j = 0; j < width / 2; j++) {
      to[0] += from[j];
      to[columns - 1] += from[blur.wide_columns - 1 - j];
    }
    for (int64_t j = 0; j < columns; j++) {
      to[j] += from[j + width / 2];
    }
  }
}
