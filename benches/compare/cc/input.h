// What the driver passes to a program written by hand: its arguments, one after the other.
#pragma once

#include <cstdint>

// An argument: numbers of one kind, the last index running fastest. Scalars have rank 0.
struct Input {
  const double *floats;
  const int64_t *integers;
  int64_t rank;
  int64_t size[4];
};
