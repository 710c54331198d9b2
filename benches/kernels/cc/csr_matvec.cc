// Half the squared norm of y = A x, A in compressed rows, and its gradients by the elements of A, y_i x_j, and by x,
// A' y.

#include "input.h"
#include <algorithm>

namespace {

struct Sparse {
  const double *values, *x;
  const int64_t *columns, *starts;
  int64_t rows, count, n;

  explicit Sparse(const Input *in)
      : values(in[0].floats), x(in[3].floats), columns(in[1].integers), starts(in[2].integers),
        rows(in[2].size[0] - 1), count(in[0].size[0]), n(in[3].size[0]) {}

  double row(int64_t i) const {
    double sum = 0.0;
    for (int64_t k = starts[i]; k < starts[i + 1]; k++) {
      sum += values[k] * x[columns[k]];
    }
    return sum;
  }
};

} // namespace

extern "C" void csr_matvec_value(const Input *in, double *out) {
  const Sparse a(in);
  double sum = 0.0;
  for (int64_t i = 0; i < a.rows; i++) {
    const double y = a.row(i);
    sum += y * y;
  }
  *out = 0.5 * sum;
}

extern "C" void csr_matvec_gradient(const Input *in, double *__restrict out) {
  const Sparse a(in);
  double *dvalues = out, *dx = out + a.count;
  std::fill_n(dx, a.n, 0.0);
  for (int64_t i = 0; i < a.rows; i++) {
    const double y = a.row(i);
    for (int64_t k = a.starts[i]; k < a.starts[i + 1]; k++) {
      const int64_t j = a.columns[k];
      dvalues[k] = y * a.x[j];
      dx[j] += y * a.values[k];
    }
  }
}
