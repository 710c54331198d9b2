// The Gaussian mixture model of `gmm.cc`, eight points at a time: a variable is a vector of eight numbers, one of each
// point. So every operation is one on vectors, whatever the dimension; the points are put in that order first.
//
// Sums over points are kept in eight parts through a tile of several vectors, and added up after it. Where the number of
// points is no multiple of eight, the last vector has points of weight zero.

#include "gmm.h"

namespace {

constexpr int64_t LANES = 8, TILE = 4;

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));

double total(Lanes v) {
  double sum = 0.0;
  for (int64_t l = 0; l < LANES; l++) {
    sum += v[l];
  }
  return sum;
}

Lanes exponential(Lanes v) {
  for (int64_t l = 0; l < LANES; l++) {
    v[l] = std::exp(v[l]);
  }
  return v;
}

// The points, and what of Q is in order of use: for each Gaussian its columns from the diagonal on.
struct InLanes {
  const Model &g;
  int64_t vectors;
  std::vector<Lanes> x;
  std::vector<double> q;

  explicit InLanes(const Model &g)
      : g(g), vectors((g.n + LANES - 1) / LANES), x(vectors * g.d, Lanes{}), q(g.k * g.width) {
    for (int64_t i = 0; i < g.n; i++) {
      for (int64_t r = 0; r < g.d; r++) {
        x[i / LANES * g.d + r][i % LANES] = g.x[i * g.d + r];
      }
    }
    for (int64_t j = 0; j < g.k; j++) {
      const double *below = g.icf + j * g.width + g.d;
      double *to = &q[j * g.width];
      for (int64_t c = 0; c < g.d; c++) {
        *to++ = g.diagonal[j * g.d + c];
        to = std::copy_n(below, g.d - c - 1, to);
        below += g.d - c - 1;
      }
    }
  }

  // e of a vector of points and a Gaussian, with v and y.
  Lanes exponent(int64_t i, int64_t j, Lanes *__restrict v, Lanes *__restrict y) const {
    const double *mean = g.means + j * g.d, *q = &this->q[j * g.width];
    for (int64_t r = 0; r < g.d; r++) {
      v[r] = x[i * g.d + r] - mean[r];
      y[r] = Lanes{};
    }
    Lanes squares{};
    for (int64_t c = 0; c < g.d; c++) {
      const Lanes vc = v[c];
      for (int64_t r = c; r < g.d; r++) {
        y[r] += *q++ * vc;
      }
      squares += y[c] * y[c];
    }
    return g.constant[j] - 0.5 * squares;
  }

  // 1 for the points that are there.
  Lanes there(int64_t i) const {
    Lanes ones{};
    for (int64_t l = 0; l < LANES && i * LANES + l < g.n; l++) {
      ones[l] = 1.0;
    }
    return ones;
  }
};

// The largest e of each point; e becomes exp(e - largest), and sum the sum of these.
Lanes softmax(Lanes *e, int64_t n, Lanes &sum) {
  Lanes largest = e[0];
  for (int64_t j = 1; j < n; j++) {
    largest = e[j] > largest ? e[j] : largest;
  }
  sum = Lanes{};
  for (int64_t j = 0; j < n; j++) {
    e[j] = exponential(e[j] - largest);
    sum += e[j];
  }
  return largest;
}

double log_sums(Lanes largest, Lanes sum, Lanes there) {
  double logs = 0.0;
  for (int64_t l = 0; l < LANES; l++) {
    logs += there[l] * (largest[l] + std::log(sum[l]));
  }
  return logs;
}

// What the vectors of a tile add to the sums of Gaussian j; w is by vector and Gaussian, v and y by vector.
void add_tile(const Model &g, int64_t j, int64_t count, const Lanes *w, const Lanes *v, const Lanes *y, double *to_y,
              double *to_icf) {
  const double *diagonal = &g.diagonal[j * g.d];
  double *to_below = to_icf + g.d;
  for (int64_t c = 0; c < g.d; c++) {
    Lanes scale[TILE], of_y{}, of_l{};
    for (int64_t i = 0; i < count; i++) {
      const Lanes yc = y[i * g.d + c];
      scale[i] = w[i * g.k] * v[i * g.d + c];
      of_y += w[i * g.k] * yc;
      of_l += w[i * g.k] - diagonal[c] * yc * scale[i];
    }
    to_y[c] += total(of_y);
    to_icf[c] += total(of_l);
    for (int64_t r = c + 1; r < g.d; r++) {
      Lanes sum{};
      for (int64_t i = 0; i < count; i++) {
        sum += scale[i] * y[i * g.d + r];
      }
      *to_below++ -= total(sum);
    }
  }
}

} // namespace

extern "C" void gmm_value(const Input *in, double *out) {
  const Model g(in);
  const InLanes p(g);
  std::vector<Lanes> v(g.d), y(g.d), e(g.k);
  double value = without_points(g);
  for (int64_t i = 0; i < p.vectors; i++) {
    for (int64_t j = 0; j < g.k; j++) {
      e[j] = p.exponent(i, j, v.data(), y.data());
    }
    Lanes sum;
    const Lanes largest = softmax(e.data(), g.k, sum);
    value += log_sums(largest, sum, p.there(i));
  }
  *out = value;
}

extern "C" void gmm_gradient(const Input *in, double *out) {
  const Model g(in);
  const InLanes p(g);
  const int64_t k = g.k, d = g.d;
  double *to_alphas = out, *to_means = to_alphas + k, *to_icf = to_means + k * d;
  std::fill(out, to_icf + k * g.width, 0.0);
  // By Gaussian, vector and dimension; w by vector and Gaussian.
  std::vector<Lanes> v(k * TILE * d), y(k * TILE * d), w(TILE * k);
  for (int64_t start = 0; start < p.vectors; start += TILE) {
    const int64_t count = std::min(TILE, p.vectors - start);
    for (int64_t i = 0; i < count; i++) {
      for (int64_t j = 0; j < k; j++) {
        const int64_t place = (j * TILE + i) * d;
        w[i * k + j] = p.exponent(start + i, j, &v[place], &y[place]);
      }
      Lanes sum;
      softmax(&w[i * k], k, sum);
      const Lanes scale = p.there(start + i) / sum;
      for (int64_t j = 0; j < k; j++) {
        w[i * k + j] *= scale;
        to_alphas[j] += total(w[i * k + j]);
      }
    }
    for (int64_t j = 0; j < k; j++) {
      add_tile(g, j, count, &w[j], &v[j * TILE * d], &y[j * TILE * d], to_means + j * d, to_icf + j * g.width);
    }
  }
  finish(g, to_alphas, to_means, to_icf);
}
