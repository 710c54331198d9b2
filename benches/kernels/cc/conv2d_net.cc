// A 3 x 3 convolution with bias, relu, sums p over blocks of 2 x 2, f = sum p^2 / images; its gradients by filters and
// bias. Images have even heights and widths.
//
//   dz = 2 p / images where z > 0,   dfilter_ab = sum dz x_{i+a,j+b},   dbias = sum dz

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

struct Net {
  int64_t channels, n, height, width, rows, columns;
  const double *filters, *bias, *images;
  std::vector<double> z; // two rows of the convolution

  explicit Net(const Input *in)
      : channels(in[1].size[0]), n(in[2].size[0]), height(in[2].size[1]), width(in[2].size[2]), rows(height - 2),
        columns(width - 2), filters(in[0].floats), bias(in[1].floats), images(in[2].floats), z(2 * columns) {}

  // A row of the convolution, after relu.
  void row(const double *image, int64_t c, int64_t i, double *__restrict to) const {
    const double *f = filters + 9 * c, *x0 = image + i * width, *x1 = x0 + width, *x2 = x1 + width;
    const double b = bias[c];
    for (int64_t j = 0; j < columns; j++) {
      const double sum = b + f[0] * x0[j] + f[1] * x0[j + 1] + f[2] * x0[j + 2] + f[3] * x1[j] + f[4] * x1[j + 1] +
                         f[5] * x1[j + 2] + f[6] * x2[j] + f[7] * x2[j + 1] + f[8] * x2[j + 2];
      to[j] = sum > 0.0 ? sum : 0.0;
    }
  }

  double *two_rows(const double *image, int64_t c, int64_t i) {
    row(image, c, i, z.data());
    row(image, c, i + 1, z.data() + columns);
    return z.data();
  }
};

} // namespace

extern "C" void conv2d_net_value(const Input *in, double *out) {
  Net net(in);
  double sum = 0.0;
  for (int64_t t = 0; t < net.n; t++) {
    const double *image = net.images + t * net.height * net.width;
    for (int64_t c = 0; c < net.channels; c++) {
      for (int64_t i = 0; i + 1 < net.rows; i += 2) {
        const double *z = net.two_rows(image, c, i), *below = z + net.columns;
        for (int64_t j = 0; j + 1 < net.columns; j += 2) {
          const double p = z[j] + z[j + 1] + below[j] + below[j + 1];
          sum += p * p;
        }
      }
    }
  }
  *out = sum / net.n;
}

extern "C" void conv2d_net_gradient(const Input *in, double *__restrict out) {
  Net net(in);
  const int64_t columns = net.columns, width = net.width;
  double *dfilters = out, *dbias = out + 9 * net.channels;
  std::fill(out, dbias + net.channels, 0.0);
  const double scale = 2.0 / net.n;
  for (int64_t t = 0; t < net.n; t++) {
    const double *image = net.images + t * net.height * width;
    for (int64_t c = 0; c < net.channels; c++) {
      for (int64_t i = 0; i + 1 < net.rows; i += 2) {
        double *z = net.two_rows(image, c, i), *below = z + columns;
        for (int64_t j = 0; j + 1 < columns; j += 2) {
          const double w = scale * (z[j] + z[j + 1] + below[j] + below[j + 1]);
          z[j] = z[j] > 0.0 ? w : 0.0;
          z[j + 1] = z[j + 1] > 0.0 ? w : 0.0;
          below[j] = below[j] > 0.0 ? w : 0.0;
          below[j + 1] = below[j + 1] > 0.0 ? w : 0.0;
        }
        for (int64_t r = 0; r < 2; r++) {
          const double *w = z + r * columns, *x0 = image + (i + r) * width, *x1 = x0 + width, *x2 = x1 + width;
          double s[10] = {};
          for (int64_t j = 0; j < columns; j++) {
            const double v = w[j];
            s[0] += v * x0[j];
            s[1] += v * x0[j + 1];
            s[2] += v * x0[j + 2];
            s[3] += v * x1[j];
            s[4] += v * x1[j + 1];
            s[5] += v * x1[j + 2];
            s[6] += v * x2[j];
            s[7] += v * x2[j + 1];
            s[8] += v * x2[j + 2];
            s[9] += v;
          }
          for (int e = 0; e < 9; e++) {
            dfilters[9 * c + e] += s[e];
          }
          dbias[c] += s[9];
        }
      }
    }
  }
}
