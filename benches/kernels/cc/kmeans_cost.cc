// The sum over points of the least squared distance to a centroid, and its gradient by the centroids.
//
// Centroids are transposed: so the distances of a point to all of them grow side by side.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

struct Clusters {
  int64_t n, d, k;
  const double *points, *centroids;
  std::vector<double> transposed, distances;

  explicit Clusters(const Input *in)
      : n(in[0].size[0]), d(in[0].size[1]), k(in[1].size[0]), points(in[0].floats), centroids(in[1].floats),
        transposed(d * k), distances(k) {
    for (int64_t j = 0; j < k; j++) {
      for (int64_t r = 0; r < d; r++) {
        transposed[r * k + j] = centroids[j * d + r];
      }
    }
  }

  int64_t nearest(int64_t i) {
    double *__restrict to = distances.data();
    std::fill_n(to, k, 0.0);
    for (int64_t r = 0; r < d; r++) {
      const double x = points[i * d + r], *row = &transposed[r * k];
      for (int64_t j = 0; j < k; j++) {
        const double e = x - row[j];
        to[j] += e * e;
      }
    }
    return std::min_element(to, to + k) - to;
  }
};

} // namespace

extern "C" void kmeans_cost_value(const Input *in, double *out) {
  Clusters c(in);
  double sum = 0.0;
  for (int64_t i = 0; i < c.n; i++) {
    sum += c.distances[c.nearest(i)];
  }
  *out = sum;
}

extern "C" void kmeans_cost_gradient(const Input *in, double *__restrict out) {
  Clusters c(in);
  const int64_t d = c.d;
  std::fill_n(out, c.k * d, 0.0);
  for (int64_t i = 0; i < c.n; i++) {
    const int64_t j = c.nearest(i);
    const double *p = c.points + i * d, *q = c.centroids + j * d;
    double *to = out + j * d;
    for (int64_t r = 0; r < d; r++) {
      to[r] += 2.0 * (q[r] - p[r]);
    }
  }
}
