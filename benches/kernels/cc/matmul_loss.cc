// The sum of squares of R = A B - C, and its gradients: 2 R B^T, 2 A^T R, -2 R.

#include "input.h"
#include <algorithm>
#include <vector>

namespace {

// A matrix whose element at (i, k) is data[i * row + k * column].
struct View {
  const double *data;
  int64_t row, column;
};

// Eight neighbours at any address.
typedef double Pack __attribute__((vector_size(64), aligned(8), may_alias));

constexpr int64_t ROWS = 8, COLUMNS = 8;

// One tile of c += a b, its sums in registers.
void tile(View a, const double *b, double *c, int64_t inner, int64_t n) {
  Pack sums[ROWS] = {};
  for (int64_t k = 0; k < inner; k++) {
    const Pack row = *reinterpret_cast<const Pack *>(b + k * n);
#pragma GCC unroll 8
    for (int64_t i = 0; i < ROWS; i++) {
      sums[i] += a.data[i * a.row + k * a.column] * row;
    }
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < ROWS; i++) {
    *reinterpret_cast<Pack *>(c + i * n) += sums[i];
  }
}

// What tiles leave: some rows, from some column on.
void rest(View a, const double *__restrict b, double *__restrict c, int64_t rows, int64_t inner, int64_t from,
          int64_t n) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < inner; k++) {
      const double x = a.data[i * a.row + k * a.column];
      for (int64_t j = from; j < n; j++) {
        c[i * n + j] += x * b[k * n + j];
      }
    }
  }
}

// c += a b; b and c have rows of n elements.
void multiply(View a, const double *b, double *c, int64_t m, int64_t inner, int64_t n) {
  const int64_t whole = n - n % COLUMNS;
  int64_t i = 0;
  for (; i + ROWS <= m; i += ROWS) {
    const View rows{a.data + i * a.row, a.row, a.column};
    for (int64_t j = 0; j < whole; j += COLUMNS) {
      tile(rows, b + j, c + i * n + j, inner, n);
    }
    rest(rows, b, c + i * n, ROWS, inner, whole, n);
  }
  rest({a.data + i * a.row, a.row, a.column}, b, c + i * n, m - i, inner, 0, n);
}

void residual(const Input *in, double *r) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  for (int64_t e = 0; e < m * n; e++) {
    r[e] = -in[2].floats[e];
  }
  multiply({in[0].floats, inner, 1}, in[1].floats, r, m, inner, n);
}

} // namespace

extern "C" void matmul_loss_value(const Input *in, double *out) {
  const int64_t count = in[0].size[0] * in[1].size[1];
  std::vector<double> r(count);
  residual(in, r.data());
  double sum = 0.0;
  for (double x : r) {
    sum += x * x;
  }
  *out = sum;
}

extern "C" void matmul_loss_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], inner = in[0].size[1], n = in[1].size[1];
  const double *a = in[0].floats, *b = in[1].floats;
  double *da = out, *db = da + m * inner, *dc = db + inner * n;
  std::vector<double> transposed(n * inner);
  for (int64_t k = 0; k < inner; k++) {
    for (int64_t j = 0; j < n; j++) {
      transposed[j * inner + k] = b[k * n + j];
    }
  }
  residual(in, dc);
  for (int64_t e = 0; e < m * n; e++) {
    dc[e] *= 2.0;
  }
  std::fill(da, dc, 0.0);
  multiply({dc, n, 1}, transposed.data(), da, m, n, inner);
  multiply({a, 1, inner}, dc, db, inner, m, n);
  for (int64_t e = 0; e < m * n; e++) {
    dc[e] = -dc[e];
  }
}
