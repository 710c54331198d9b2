// The dot product of two vectors of n numbers.
#pragma once

#include <cstdint>

inline double dot(const double *a, const double *b, int64_t n) {
  double sum = 0.0;
  for (int64_t j = 0; j < n; j++) {
    sum += a[j] * b[j];
  }
  return sum;
}
