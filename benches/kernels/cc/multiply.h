// Products of matrices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace {

// A matrix whose element at (i, k) is data[i * row + k * column].
struct View {
  const double *data;
  int64_t row, column;
};

// A tile has eight columns, and as many rows as registers can hold the sums of.
#ifdef __AVX512F__
constexpr int64_t ROWS = 8, COLUMNS = 8, WIDTH = 8;
#else
constexpr int64_t ROWS = 4, COLUMNS = 8, WIDTH = 4;
#endif

// Neighbours at any address, as many as a register holds.
typedef double Pack __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

constexpr int64_t PACKS = COLUMNS / WIDTH;

// One tile of c += a b, its sums in registers. Rows of the tile's columns of b are one after the other.
void tile(View a, const double *b, double *c, int64_t inner, int64_t n) {
  Pack sums[ROWS][PACKS] = {};
  for (int64_t k = 0; k < inner; k++) {
#pragma GCC unroll 8
    for (int64_t p = 0; p < PACKS; p++) {
      const Pack row = *reinterpret_cast<const Pack *>(b + k * COLUMNS + p * WIDTH);
#pragma GCC unroll 8
      for (int64_t i = 0; i < ROWS; i++) {
        sums[i][p] += a.data[i * a.row + k * a.column] * row;
      }
    }
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < ROWS; i++) {
#pragma GCC unroll 8
    for (int64_t p = 0; p < PACKS; p++) {
      *reinterpret_cast<Pack *>(c + i * n + p * WIDTH) += sums[i][p];
    }
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

// c += a b; b and c have rows of n elements. Tiles take a copy of what they need of b, which stays in the cache.
void multiply(View a, const double *b, double *c, int64_t m, int64_t inner, int64_t n) {
  constexpr int64_t BLOCK = 256;
  const int64_t rows = m - m % ROWS, columns = n - n % COLUMNS;
  double copy[BLOCK * COLUMNS];
  for (int64_t from = 0; from < inner; from += BLOCK) {
    const int64_t count = std::min(BLOCK, inner - from);
    for (int64_t j = 0; j < columns; j += COLUMNS) {
      for (int64_t k = 0; k < count; k++) {
        std::copy_n(b + (from + k) * n + j, COLUMNS, copy + k * COLUMNS);
      }
      for (int64_t i = 0; i < rows; i += ROWS) {
        tile({a.data + i * a.row + from * a.column, a.row, a.column}, copy, c + i * n + j, count, n);
      }
    }
  }
  rest(a, b, c, rows, inner, columns, n);
  rest({a.data + rows * a.row, a.row, a.column}, b, c + rows * n, m - rows, inner, 0, n);
}

} // namespace
