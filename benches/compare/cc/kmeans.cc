// The cost of k-means clustering (`demos/kmeans.ks`): sum over points of the smallest squared distance to a centroid;
// its gradient by the centroids, and the diagonal of its Hessian by them.
//
//   gradient_c = 2 (count c - sum of its points),   Hessian_cc = 2 count     of the points nearest to c

#include "input.h"
#include <algorithm>

namespace {

struct Clusters {
  int64_t n, d, k;
  const double *points, *centroids;

  explicit Clusters(const Input *in)
      : n(in[0].size[0]), d(in[0].size[1]), k(in[1].size[0]), points(in[0].floats), centroids(in[1].floats) {}

  // The centroid nearest to point i, the first of several, and the square of its distance.
  int64_t nearest(int64_t i, double &smallest) const {
    int64_t best = 0;
    for (int64_t j = 0; j < k; j++) {
      double distance = 0.0;
      for (int64_t r = 0; r < d; r++) {
        const double difference = points[i * d + r] - centroids[j * d + r];
        distance += difference * difference;
      }
      if (j == 0 || distance < smallest) {
        smallest = distance;
        best = j;
      }
    }
    return best;
  }
};

} // namespace

extern "C" void kmeans_value(const Input *in, double *out) {
  const Clusters c(in);
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < c.n; i++) {
    double smallest = 0.0;
    c.nearest(i, smallest);
    sum += smallest;
  }
  *out = sum;
}

extern "C" void kmeans_gradient(const Input *in, double *out) {
  const Clusters c(in);
  std::fill_n(out, c.k * c.d, 0.0);
#pragma omp parallel for reduction(+ : out[ : c.k * c.d])
  for (int64_t i = 0; i < c.n; i++) {
    double smallest = 0.0;
    const int64_t j = c.nearest(i, smallest);
    for (int64_t r = 0; r < c.d; r++) {
      out[j * c.d + r] += 2.0 * (c.centroids[j * c.d + r] - c.points[i * c.d + r]);
    }
  }
}

extern "C" void kmeans_hessian(const Input *in, double *out) {
  const Clusters c(in);
  std::fill_n(out, c.k * c.d, 0.0);
#pragma omp parallel for reduction(+ : out[ : c.k * c.d])
  for (int64_t i = 0; i < c.n; i++) {
    double smallest = 0.0;
    const int64_t j = c.nearest(i, smallest);
    for (int64_t r = 0; r < c.d; r++) {
      out[j * c.d + r] += 2.0;
    }
  }
}
