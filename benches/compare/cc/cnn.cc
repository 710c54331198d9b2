// The loss of a convolutional network (`demos/cnn.ks`), and its gradient by kernels, biases and weights: twice
// convolution, bias, rectification and pooling by the maximum, then a dense layer and the cross-entropy of its softmax.
//
// The gradient goes back through each picture at once. Of a window, the first largest element gets the cotangent, if it
// is positive. The innermost loops run over rows of pictures.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// A convolution with rectification and pooling, from pictures of one shape.
struct Layer {
  const double *kernels, *bias;
  int64_t filters, channels, kernel_rows, kernel_columns, rows, columns, out_rows, out_columns, window;

  Layer(const Input &k, const Input &b, int64_t rows, int64_t columns, int64_t window)
      : kernels(k.floats), bias(b.floats), filters(k.size[0]), channels(k.size[1]), kernel_rows(k.size[2]),
        kernel_columns(k.size[3]), rows(rows), columns(columns), out_rows(rows - kernel_rows + 1),
        out_columns(columns - kernel_columns + 1), window(window) {}

  int64_t convolved() const { return filters * out_rows * out_columns; }
  int64_t pooled_rows() const { return out_rows / window; }
  int64_t pooled_columns() const { return out_columns / window; }
  int64_t pooled() const { return filters * pooled_rows() * pooled_columns(); }
  int64_t kernel_size() const { return filters * channels * kernel_rows * kernel_columns; }

  // Calls f(place of the kernel's element, row of the picture, row of the result) for all that meet.
  template <typename F> void rows_that_meet(F f) const {
    for (int64_t filter = 0; filter < filters; filter++) {
      for (int64_t row = 0; row < out_rows; row++) {
        for (int64_t c = 0; c < channels; c++) {
          for (int64_t i = 0; i < kernel_rows; i++) {
            for (int64_t j = 0; j < kernel_columns; j++) {
              f(((filter * channels + c) * kernel_rows + i) * kernel_columns + j, (c * rows + row + i) * columns + j,
                (filter * out_rows + row) * out_columns);
            }
          }
        }
      }
    }
  }

  void convolve(const double *__restrict image, double *__restrict out) const {
    for (int64_t filter = 0; filter < filters; filter++) {
      std::fill_n(out + filter * out_rows * out_columns, out_rows * out_columns, bias[filter]);
    }
    rows_that_meet([=, this](int64_t k, int64_t from, int64_t to) {
      for (int64_t column = 0; column < out_columns; column++) {
        out[to + column] += kernels[k] * image[from + column];
      }
    });
  }

  // Where in `in` the first largest element of each window is.
  void pool(const double *in, double *out, int64_t *places) const {
    for (int64_t filter = 0; filter < filters; filter++) {
      for (int64_t row = 0; row < pooled_rows(); row++) {
        for (int64_t column = 0; column < pooled_columns(); column++) {
          const int64_t first = (filter * out_rows + row * window) * out_columns + column * window;
          int64_t best = first;
          for (int64_t i = 0; i < window; i++) {
            for (int64_t j = 0; j < window; j++) {
              const int64_t place = first + i * out_columns + j;
              best = in[place] > in[best] ? place : best;
            }
          }
          *places++ = best;
          *out++ = std::max(0.0, in[best]);
        }
      }
    }
  }

  void forward(const double *image, double *convolved, double *out, int64_t *places) const {
    convolve(image, convolved);
    pool(convolved, out, places);
  }

  // From the cotangent of the pooled result; d_image may be null.
  void back(const double *__restrict image, const double *out, const int64_t *places, const double *d_out,
            double *__restrict d_convolved, double *__restrict to_kernels, double *to_bias,
            double *__restrict d_image) const {
    std::fill_n(d_convolved, convolved(), 0.0);
    for (int64_t p = 0; p < pooled(); p++) {
      if (out[p] > 0.0) {
        d_convolved[places[p]] += d_out[p];
        to_bias[p / (pooled_rows() * pooled_columns())] += d_out[p];
      }
    }
    rows_that_meet([=, this](int64_t k, int64_t from, int64_t to) {
      double sum = 0.0;
      for (int64_t column = 0; column < out_columns; column++) {
        sum += d_convolved[to + column] * image[from + column];
      }
      to_kernels[k] += sum;
      if (d_image != nullptr) {
        for (int64_t column = 0; column < out_columns; column++) {
          d_image[from + column] += kernels[k] * d_convolved[to + column];
        }
      }
    });
  }
};

struct Network {
  const double *weights, *bias, *images;
  const int64_t *labels;
  int64_t classes, n, size;
  Layer first, second;

  explicit Network(const Input *in)
      : weights(in[4].floats), bias(in[5].floats), images(in[6].floats), labels(in[7].integers), classes(in[5].size[0]),
        n(in[6].size[0]), size(in[6].size[1] * in[6].size[2] * in[6].size[3]),
        first(in[0], in[1], in[6].size[2], in[6].size[3], *in[8].integers),
        second(in[2], in[3], first.pooled_rows(), first.pooled_columns(), *in[8].integers) {}
};

// What is computed for a picture.
struct Picture {
  std::vector<double> convolved1, features1, convolved2, features2, y;
  std::vector<int64_t> places1, places2;

  explicit Picture(const Network &n)
      : convolved1(n.first.convolved()), features1(n.first.pooled()), convolved2(n.second.convolved()),
        features2(n.second.pooled()), y(n.classes), places1(n.first.pooled()), places2(n.second.pooled()) {}

  // The loss; y becomes its gradient by the results of the dense layer.
  double forward(const Network &n, int64_t i) {
    n.first.forward(n.images + i * n.size, convolved1.data(), features1.data(), places1.data());
    n.second.forward(features1.data(), convolved2.data(), features2.data(), places2.data());
    const int64_t inputs = n.second.pooled();
    for (int64_t c = 0; c < n.classes; c++) {
      double sum = n.bias[c];
      for (int64_t p = 0; p < inputs; p++) {
        sum += n.weights[c * inputs + p] * features2[p];
      }
      y[c] = sum;
    }
    const double largest = *std::max_element(y.begin(), y.end()), at_label = y[n.labels[i]];
    double sum = 0.0;
    for (double &x : y) {
      x = std::exp(x - largest);
      sum += x;
    }
    for (double &x : y) {
      x /= sum;
    }
    y[n.labels[i]] -= 1.0;
    return largest + std::log(sum) - at_label;
  }
};

} // namespace

extern "C" void cnn_value(const Input *in, double *out) {
  const Network n(in);
  double sum = 0.0;
#pragma omp parallel
  {
    Picture picture(n);
#pragma omp for reduction(+ : sum)
    for (int64_t i = 0; i < n.n; i++) {
      sum += picture.forward(n, i);
    }
  }
  *out = sum / n.n;
}

extern "C" void cnn_gradient(const Input *in, double *out) {
  const Network n(in);
  const int64_t inputs = n.second.pooled();
  const int64_t sizes[6] = {n.first.kernel_size(), n.first.filters,     n.second.kernel_size(),
                            n.second.filters,      n.classes * inputs, n.classes};
  int64_t place[7] = {0};
  for (int p = 0; p < 6; p++) {
    place[p + 1] = place[p] + sizes[p];
  }
  const int64_t total = place[6];
  std::fill_n(out, total, 0.0);
#pragma omp parallel
  {
    Picture picture(n);
    std::vector<double> d2(inputs), dc2(n.second.convolved()), d1(n.first.pooled()), dc1(n.first.convolved());
#pragma omp for reduction(+ : out[ : total])
    for (int64_t i = 0; i < n.n; i++) {
      picture.forward(n, i);
      std::fill(d1.begin(), d1.end(), 0.0);
      std::fill(d2.begin(), d2.end(), 0.0);
      for (int64_t c = 0; c < n.classes; c++) {
        const double d = picture.y[c] / n.n;
        out[place[5] + c] += d;
        for (int64_t p = 0; p < inputs; p++) {
          out[place[4] + c * inputs + p] += d * picture.features2[p];
          d2[p] += d * n.weights[c * inputs + p];
        }
      }
      n.second.back(picture.features1.data(), picture.features2.data(), picture.places2.data(), d2.data(), dc2.data(),
                    out + place[2], out + place[3], d1.data());
      n.first.back(n.images + i * n.size, picture.features1.data(), picture.places1.data(), d1.data(), dc1.data(),
                   out + place[0], out + place[1], nullptr);
    }
  }
}
