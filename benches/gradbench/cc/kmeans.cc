// A step of Newton's method for k-means: gradient by diagonal of the Hessian. The factor 2 of both is left out.

#include "../../compare/cc/kmeans.cc"
#include <vector>

extern "C" void kmeans_dir(const Input *in, double *__restrict out) {
  const Clusters c(in);
  std::vector<double> counts(c.k);
  std::fill_n(out, c.k * c.d, 0.0);
  for (int64_t i = 0; i < c.n; i++) {
    double smallest = 0.0;
    const int64_t j = c.nearest(i, smallest);
    counts[j] += 1.0;
    for (int64_t r = 0; r < c.d; r++) {
      out[j * c.d + r] += c.centroids[j * c.d + r] - c.points[i * c.d + r];
    }
  }
  for (int64_t j = 0; j < c.k; j++) {
    for (int64_t r = 0; r < c.d; r++) {
      out[j * c.d + r] /= counts[j];
    }
  }
}
