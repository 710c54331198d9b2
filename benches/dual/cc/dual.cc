// Derivatives by one argument of small functions, and of the loss of a factorisation: `ks/`.

#include "input.h"
#include "largest.h"
#include <algorithm>

extern "C" {

// The derivative of v . w by v is w.
void dot_by_v_gradient(const Input *in, double *__restrict out) { std::copy_n(in[1].floats, in[1].size[0], out); }

void largest_by_v_gradient(const Input *in, double *__restrict out) { largest_gradient(in, out); }

void vsum_by_v_gradient(const Input *in, double *out) { std::fill_n(out, in[0].size[0], 1.0); }

// The derivative of v + w by v is the identity.
void vadd_by_v_jacobian(const Input *in, double *out) {
  const int64_t n = in[0].size[0];
  std::fill_n(out, n * n, 0.0);
  for (int64_t i = 0; i < n; i++) {
    out[i * n + i] = 1.0;
  }
}

// The derivative of k v by k is v.
void vscale_by_k_jacobian(const Input *in, double *__restrict out) { std::copy_n(in[1].floats, in[1].size[0], out); }

// u^T (1 / x - a / x^2) for x = u v^T, elementwise; the inner loop runs along rows of a.
void nnmf_by_v_gradient(const Input *in, double *__restrict out) {
  const double *u = in[0].floats, *v = in[1].floats, *a = in[2].floats;
  const int64_t m = in[0].size[0], n = in[1].size[0];
  std::fill_n(out, n, 0.0);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      const double inverse = 1.0 / (u[i] * v[j]);
      out[j] += u[i] * (inverse - a[i * n + j] * inverse * inverse);
    }
  }
}

void nnmf_of_arrays_gradient(const Input *in, double *__restrict out) { nnmf_by_v_gradient(in, out); }

} // extern "C"
