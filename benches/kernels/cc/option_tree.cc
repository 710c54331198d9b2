// The value of an American put in a binomial tree, and its gradients by spot, strike, rate and volatility.
//
//   dt = years / steps, u = exp (volatility sqrt dt), p = (e^{rate dt} - 1/u) / (u - 1/u)
//   v = max (discount (p up + (1 - p) down), strike - spot u^j), j the steps up less those down
//
// Prices are a table by j; back through the tree, cotangents of what exercising gives are summed by j.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Tree {
  double spot, strike, rate, volatility, dt, width, up, growth, p_up, p_down;
  int64_t steps;
  std::vector<double> exercise; // exercise[j + steps], in two halves: for even j + steps, then for odd

  explicit Tree(const Input *in)
      : spot(*in[0].floats), strike(*in[1].floats), rate(*in[2].floats), volatility(*in[3].floats),
        dt(*in[4].floats / *in[5].integers), width(volatility * std::sqrt(dt)), up(std::exp(width)),
        growth(std::exp(rate * dt)), p_up((growth - 1.0 / up) / (growth * (up - 1.0 / up))),
        p_down(1.0 / growth - p_up), steps(*in[5].integers), exercise(2 * steps + 1) {
    for (int64_t j = -steps; j <= steps; j++) {
      exercise[place(j)] = strike - spot * std::exp(width * j);
    }
  }

  int64_t place(int64_t j) const { return (j + steps) / 2 + ((j + steps) % 2 != 0 ? steps + 1 : 0); }

  // What exercising gives at a level, from its lowest price on.
  int64_t level(int64_t m) const { return place(-m); }
};

} // namespace

extern "C" void option_tree_value(const Input *in, double *out) {
  const Tree tree(in);
  std::vector<double> values(tree.steps + 1);
  double *v = values.data();
  for (int64_t i = 0; i <= tree.steps; i++) {
    v[i] = std::max(tree.exercise[i], 0.0);
  }
  for (int64_t m = tree.steps; m-- > 0;) {
    const double *exercise = &tree.exercise[tree.level(m)], p_up = tree.p_up, p_down = tree.p_down;
    for (int64_t i = 0; i <= m; i++) {
      const double kept = p_up * v[i + 1] + p_down * v[i];
      v[i] = kept > exercise[i] ? kept : exercise[i];
    }
  }
  *out = v[0];
}

extern "C" void option_tree_gradient(const Input *in, double *__restrict out) {
  const Tree tree(in);
  const int64_t steps = tree.steps, size = steps + 1;
  const double p_up = tree.p_up, p_down = tree.p_down;
  std::vector<double> levels(size * size), by_price(2 * steps + 1, 0.0), cotangents(2 * size, 0.0);
  double *last = &levels[steps * size];
  for (int64_t i = 0; i <= steps; i++) {
    last[i] = std::max(tree.exercise[i], 0.0);
  }
  for (int64_t m = steps; m-- > 0;) {
    const double *exercise = &tree.exercise[tree.level(m)], *from = &levels[(m + 1) * size];
    double *__restrict to = &levels[m * size];
    for (int64_t i = 0; i <= m; i++) {
      const double kept = p_up * from[i + 1] + p_down * from[i];
      to[i] = kept > exercise[i] ? kept : exercise[i];
    }
  }
  // d[i + 1] is the cotangent of place i, with zeros around the level.
  std::vector<double> kept_part(size + 2, 0.0), d(size + 2, 0.0);
  d[1] = 1.0;
  double dp_up = 0.0, dp_down = 0.0;
  for (int64_t m = 0; m < steps; m++) {
    const double *exercise = &tree.exercise[tree.level(m)], *here = &levels[m * size], *from = here + size;
    double *__restrict by = &by_price[tree.level(m)], *__restrict kept = kept_part.data() + 1;
    for (int64_t i = 0; i <= m; i++) {
      const double x = d[i + 1];
      const bool exercised = here[i] == exercise[i];
      kept[i] = exercised ? 0.0 : x;
      by[i] += exercised ? x : 0.0;
      dp_up += kept[i] * from[i + 1];
      dp_down += kept[i] * from[i];
    }
    kept[m + 1] = 0.0;
    for (int64_t i = 0; i <= m + 1; i++) {
      d[i + 1] = p_up * kept[i - 1] + p_down * kept[i];
    }
  }
  for (int64_t i = 0; i <= steps; i++) {
    by_price[i] += tree.exercise[i] > 0.0 ? d[i + 1] : 0.0;
  }
  double dspot = 0.0, dstrike = 0.0, dwidth = 0.0;
  for (int64_t j = -steps; j <= steps; j++) {
    const double x = by_price[tree.place(j)], price = tree.strike - tree.exercise[tree.place(j)];
    dstrike += x;
    dspot -= x * price / tree.spot;
    dwidth -= x * price * j;
  }
  // p_up = (1 - 1/(g u)) / (u - 1/u), p_down = (u/g - 1) / (u - 1/u)
  const double u = tree.up, g = tree.growth, gap = u - 1.0 / u, dgap = 1.0 + 1.0 / (u * u);
  const double du = dp_up * (1.0 / (g * u * u) - p_up * dgap) / gap + dp_down * (1.0 / g - p_down * dgap) / gap;
  const double dg = dp_up / (g * g * u * gap) - dp_down * u / (g * g * gap);
  dwidth += du * u;
  out[0] = dspot;
  out[1] = dstrike;
  out[2] = dg * g * tree.dt;
  out[3] = dwidth * std::sqrt(tree.dt);
}
