// A determinant by expansion along the first row (`demos/gradbench/det.ks`), and its gradient.
//
// An element's derivative is a sum over all minors that have it in their first row: what such a minor is multiplied
// with, times the smaller minor that the element is multiplied with. The first is known going down, the other coming
// back.

#include "../../compare/cc/input.h"
#include <algorithm>

namespace {

constexpr int64_t LARGEST = 32;

// Without one of the columns.
void without(const int64_t *columns, int64_t n, int64_t j, int64_t *rest) {
  std::copy(columns + j + 1, columns + n, std::copy_n(columns, j, rest));
}

// Of the last n rows, and these n columns.
double minor(const double *a, int64_t ell, int64_t n, const int64_t *columns) {
  const double *row = a + (ell - n) * ell;
  if (n == 1) {
    return row[columns[0]];
  }
  int64_t rest[LARGEST];
  double sum = 0.0;
  for (int64_t j = 0; j < n; j++) {
    without(columns, n, j, rest);
    const double term = row[columns[j]] * minor(a, ell, n - 1, rest);
    sum += j % 2 == 0 ? term : -term;
  }
  return sum;
}

// The same; adds `outer` times its derivative.
double minor_back(const double *a, int64_t ell, int64_t n, const int64_t *columns, double outer, double *out) {
  const double *row = a + (ell - n) * ell;
  double *to_row = out + (ell - n) * ell;
  if (n == 1) {
    to_row[columns[0]] += outer;
    return row[columns[0]];
  }
  int64_t rest[LARGEST];
  double sum = 0.0;
  for (int64_t j = 0; j < n; j++) {
    without(columns, n, j, rest);
    const double scale = j % 2 == 0 ? outer : -outer, element = row[columns[j]];
    const double smaller = minor_back(a, ell, n - 1, rest, scale * element, out);
    to_row[columns[j]] += scale * smaller;
    sum += j % 2 == 0 ? element * smaller : -element * smaller;
  }
  return sum;
}

} // namespace

extern "C" void det_value(const Input *in, double *out) {
  const int64_t ell = *in[1].integers;
  int64_t columns[LARGEST];
  for (int64_t j = 0; j < ell; j++) {
    columns[j] = j;
  }
  *out = minor(in[0].floats, ell, ell, columns);
}

extern "C" void det_gradient(const Input *in, double *out) {
  const int64_t ell = *in[1].integers;
  int64_t columns[LARGEST];
  for (int64_t j = 0; j < ell; j++) {
    columns[j] = j;
  }
  std::fill_n(out, ell * ell, 0.0);
  minor_back(in[0].floats, ell, ell, columns, 1.0, out);
}
