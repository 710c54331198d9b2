// Bodies: places, copied to a vector for each coordinate, and masses.
#pragma once

#include "input.h"
#include <vector>

struct Bodies {
  int64_t n;
  const double *m;
  std::vector<double> columns;
  const double *x, *y, *z;

  explicit Bodies(const Input *in) : n(in[1].size[0]), m(in[1].floats), columns(3 * n) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t c = 0; c < 3; c++) {
        columns[c * n + i] = in[0].floats[3 * i + c];
      }
    }
    x = columns.data();
    y = x + n;
    z = y + n;
  }
};
