// The derivative of lgamma.
#pragma once

#include <cmath>

namespace {

// For x > 0: up by the recurrence, then the asymptotic series.
inline double digamma(double x) {
  double shift = 0.0;
  while (x < 10.0) {
    shift += 1.0 / x;
    x += 1.0;
  }
  const double i = 1.0 / x, s = i * i;
  const double series =
      s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760))))));
  return std::log(x) - 0.5 * i - series - shift;
}

} // namespace
