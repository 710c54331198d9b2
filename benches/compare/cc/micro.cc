// Small programs (`ks/micro.ks`) and their gradients; of those that give vectors or matrices, the reverse derivatives
// for a cotangent, which is the last argument.

#include "input.h"
#include "largest.h"
#include <algorithm>
#include <vector>

extern "C" {

void dot_value(const Input *in, double *out) {
  const double *v = in[0].floats, *w = in[1].floats;
  const int64_t n = in[0].size[0];
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    sum += v[i] * w[i];
  }
  *out = sum;
}

void dot_gradient(const Input *in, double *__restrict out) {
  const double *v = in[0].floats, *w = in[1].floats;
  const int64_t n = in[0].size[0];
  std::copy_n(w, n, out);
  std::copy_n(v, n, out + n);
}

void max_value(const Input *in, double *out) {
  const double *v = in[0].floats;
  const int64_t n = in[0].size[0];
  double largest = v[0];
#pragma omp parallel for reduction(max : largest)
  for (int64_t i = 1; i < n; i++) {
    largest = v[i] > largest ? v[i] : largest;
  }
  *out = largest;
}

void max_gradient(const Input *in, double *__restrict out) { largest_gradient(in, out); }

void vsum_value(const Input *in, double *out) {
  const double *v = in[0].floats;
  const int64_t n = in[0].size[0];
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    sum += v[i];
  }
  *out = sum;
}

void vsum_gradient(const Input *in, double *out) { std::fill_n(out, in[0].size[0], 1.0); }

void vadd_value(const Input *in, double *__restrict out) {
  const double *v = in[0].floats, *w = in[1].floats;
  const int64_t n = in[0].size[0];
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    out[i] = v[i] + w[i];
  }
}

void vadd_gradient(const Input *in, double *__restrict out) {
  const int64_t n = in[0].size[0];
  std::copy_n(in[2].floats, n, out);
  std::copy_n(in[2].floats, n, out + n);
}

void vscale_value(const Input *in, double *__restrict out) {
  const double k = *in[0].floats, *v = in[1].floats;
  const int64_t n = in[1].size[0];
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    out[i] = k * v[i];
  }
}

void vscale_gradient(const Input *in, double *__restrict out) {
  const double k = *in[0].floats, *v = in[1].floats, *dr = in[2].floats;
  const int64_t n = in[1].size[0];
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    sum += v[i] * dr[i];
    out[1 + i] = k * dr[i];
  }
  out[0] = sum;
}

void gather_value(const Input *in, double *out) {
  const double *v = in[0].floats;
  const int64_t *index = in[1].integers, n = in[1].size[0];
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    sum += v[index[i]];
  }
  *out = sum;
}

void gather_gradient(const Input *in, double *__restrict out) {
  const int64_t *index = in[1].integers, n = in[1].size[0];
  std::fill_n(out, in[0].size[0], 0.0);
  for (int64_t i = 0; i < n; i++) {
    out[index[i]] += 1.0;
  }
}

// a (m x k) times b (k x n); the inner loop runs along rows.
void matmul_value(const Input *in, double *__restrict out) {
  const double *a = in[0].floats, *b = in[1].floats;
  const int64_t m = in[0].size[0], k = in[0].size[1], n = in[1].size[1];
#pragma omp parallel for
  for (int64_t i = 0; i < m; i++) {
    std::fill_n(out + i * n, n, 0.0);
    for (int64_t l = 0; l < k; l++) {
      const double x = a[i * k + l];
      for (int64_t j = 0; j < n; j++) {
        out[i * n + j] += x * b[l * n + j];
      }
    }
  }
}

// dr b^T and a^T dr.
void matmul_gradient(const Input *in, double *__restrict out) {
  const double *a = in[0].floats, *b = in[1].floats, *dr = in[2].floats;
  const int64_t m = in[0].size[0], k = in[0].size[1], n = in[1].size[1];
  double *da = out, *db = out + m * k;
  std::vector<double> transposed(n * k);
  for (int64_t l = 0; l < k; l++) {
    for (int64_t j = 0; j < n; j++) {
      transposed[j * k + l] = b[l * n + j];
    }
  }
#pragma omp parallel for
  for (int64_t i = 0; i < m; i++) {
    std::fill_n(da + i * k, k, 0.0);
    for (int64_t j = 0; j < n; j++) {
      const double x = dr[i * n + j];
      for (int64_t l = 0; l < k; l++) {
        da[i * k + l] += x * transposed[j * k + l];
      }
    }
  }
#pragma omp parallel for
  for (int64_t l = 0; l < k; l++) {
    std::fill_n(db + l * n, n, 0.0);
    for (int64_t i = 0; i < m; i++) {
      const double x = a[i * k + l];
      for (int64_t j = 0; j < n; j++) {
        db[l * n + j] += x * dr[i * n + j];
      }
    }
  }
}

// |a - w h|^2, of which a row of the residual is made at a time.
void nnmf_value(const Input *in, double *out) {
  const double *w = in[0].floats, *h = in[1].floats, *a = in[2].floats;
  const int64_t m = in[0].size[0], k = in[0].size[1], n = in[1].size[1];
  double sum = 0.0;
#pragma omp parallel
  {
    std::vector<double> r(n);
#pragma omp for reduction(+ : sum)
    for (int64_t i = 0; i < m; i++) {
      std::copy_n(a + i * n, n, r.data());
      for (int64_t l = 0; l < k; l++) {
        const double x = w[i * k + l];
        for (int64_t j = 0; j < n; j++) {
          r[j] -= x * h[l * n + j];
        }
      }
      for (int64_t j = 0; j < n; j++) {
        sum += r[j] * r[j];
      }
    }
  }
  *out = sum;
}

// dw = - 2 r h^T, dh = - 2 w^T r, for r = a - w h.
void nnmf_gradient(const Input *in, double *__restrict out) {
  const double *w = in[0].floats, *h = in[1].floats, *a = in[2].floats;
  const int64_t m = in[0].size[0], k = in[0].size[1], n = in[1].size[1];
  double *dw = out, *dh = out + m * k;
  std::fill_n(dh, k * n, 0.0);
#pragma omp parallel
  {
    std::vector<double> r(n);
#pragma omp for reduction(+ : dh[ : k * n])
    for (int64_t i = 0; i < m; i++) {
      std::copy_n(a + i * n, n, r.data());
      for (int64_t l = 0; l < k; l++) {
        const double x = w[i * k + l];
        for (int64_t j = 0; j < n; j++) {
          r[j] -= x * h[l * n + j];
        }
      }
      for (int64_t l = 0; l < k; l++) {
        const double x = -2.0 * w[i * k + l];
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++) {
          sum += r[j] * h[l * n + j];
          dh[l * n + j] += x * r[j];
        }
        dw[i * k + l] = -2.0 * sum;
      }
    }
  }
}

} // extern "C"
