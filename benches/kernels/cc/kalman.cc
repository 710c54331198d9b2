// The log likelihood of a Kalman filter with four states and two observations, and its gradients by f, h, q and r.
//
//   x = F x0, P = F P0 F' + diag q;  A = P H', S = H A + diag r, e = y - H x, w = S^-1 e, K = A S^-1
//   x1 = x + A w, P1 = P - K A';  the sum of -(e.w + log det S + 2 log 2 pi) / 2
//
// Back through a step, with cotangents X of x1 and G of P1, and g = A' X:
//   dA = X w' - (G + G') K,  dSi = -A' G A + g e' - e e' / 2,  de = Si g - w,  dS = -Si dSi' Si - Si / 2,
//   dH = dS A' - de x' + dA' P,  dA += H' dS,  dx = X - H' de,  dP = G + dA H,
//   dF = dP F P0' + dP' F P0 + dx x0',  dP0 = F' dP F,  dx0 = F' dx.

#include "input.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr int N = 4, M = 2;

template <int R, int C> struct Matrix {
  double at[R][C];
  double *operator[](int i) { return at[i]; }
  const double *operator[](int i) const { return at[i]; }
};

template <int R, int C> Matrix<R, C> load(const double *from) {
  Matrix<R, C> m;
  std::copy_n(from, R * C, &m.at[0][0]);
  return m;
}

// a b, a b' and a' b.
template <int R, int K, int C> Matrix<R, C> times(const Matrix<R, K> &a, const Matrix<K, C> &b) {
  Matrix<R, C> m = {};
  for (int i = 0; i < R; i++)
    for (int k = 0; k < K; k++)
      for (int j = 0; j < C; j++)
        m[i][j] += a[i][k] * b[k][j];
  return m;
}

template <int R, int K, int C> Matrix<R, C> times_t(const Matrix<R, K> &a, const Matrix<C, K> &b) {
  Matrix<R, C> m = {};
  for (int i = 0; i < R; i++)
    for (int j = 0; j < C; j++)
      for (int k = 0; k < K; k++)
        m[i][j] += a[i][k] * b[j][k];
  return m;
}

template <int R, int K, int C> Matrix<R, C> t_times(const Matrix<K, R> &a, const Matrix<K, C> &b) {
  Matrix<R, C> m = {};
  for (int k = 0; k < K; k++)
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++)
        m[i][j] += a[k][i] * b[k][j];
  return m;
}

template <int R, int C> void add(Matrix<R, C> &to, const Matrix<R, C> &a, double scale = 1.0) {
  for (int i = 0; i < R; i++)
    for (int j = 0; j < C; j++)
      to[i][j] += scale * a[i][j];
}

struct Model {
  Matrix<N, N> f;
  Matrix<M, N> h;
  const double *q, *r, *ys;
  int64_t steps;

  explicit Model(const Input *in)
      : f(load<N, N>(in[0].floats)), h(load<M, N>(in[1].floats)), q(in[2].floats), r(in[3].floats), ys(in[4].floats),
        steps(in[4].size[0]) {}
};

// What a step computes, and what the way back needs.
struct Step {
  Matrix<N, 1> x0, x, x1;
  Matrix<N, N> p0, fp, p, p1;
  Matrix<N, M> a, k;
  Matrix<M, M> si;
  Matrix<M, 1> e, w;

  // Returns the term of the log likelihood.
  double run(const Model &m, const double *y, const Matrix<N, 1> &state, const Matrix<N, N> &variance) {
    x0 = state;
    p0 = variance;
    x = times(m.f, x0);
    fp = times(m.f, p0);
    p = times_t(fp, m.f);
    for (int i = 0; i < N; i++) {
      p[i][i] += m.q[i];
    }
    a = times_t(p, m.h);
    Matrix<M, M> s = times(m.h, a);
    const Matrix<M, 1> seen = times(m.h, x);
    for (int i = 0; i < M; i++) {
      s[i][i] += m.r[i];
      e[i][0] = y[i] - seen[i][0];
    }
    const double det = s[0][0] * s[1][1] - s[0][1] * s[1][0], scale = 1.0 / det;
    si = {{{s[1][1] * scale, -s[0][1] * scale}, {-s[1][0] * scale, s[0][0] * scale}}};
    w = times(si, e);
    k = times(a, si);
    x1 = x;
    add(x1, times(a, w));
    p1 = p;
    add(p1, times_t(k, a), -1.0);
    const double log_2_pi = 1.8378770664093453;
    return -0.5 * (e[0][0] * w[0][0] + e[1][0] * w[1][0] + std::log(det)) - log_2_pi;
  }
};

struct Gradient {
  Matrix<N, N> f = {};
  Matrix<M, N> h = {};
  double q[N] = {}, r[M] = {};
};

// Back through a step: dx and dp are the cotangents of the new state, then of the old one.
void back(const Model &m, const Step &s, Matrix<N, 1> &dx, Matrix<N, N> &dp, Gradient &to) {
  const Matrix<M, 1> g = t_times(s.a, dx);
  Matrix<N, M> da = times_t(dx, s.w);
  add(da, times(dp, s.k), -1.0);
  add(da, t_times(dp, s.k), -1.0);
  Matrix<M, M> dsi = t_times(s.a, times(dp, s.a));
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < M; j++) {
      dsi[i][j] = g[i][0] * s.e[j][0] - 0.5 * s.e[i][0] * s.e[j][0] - dsi[i][j];
    }
  }
  Matrix<M, 1> de = times(s.si, g);
  add(de, s.w, -1.0);
  Matrix<M, M> ds = times(s.si, times(dsi, s.si));
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < M; j++) {
      ds[i][j] = -ds[i][j] - 0.5 * s.si[i][j];
    }
    to.r[i] += ds[i][i];
  }
  add(to.h, times_t(ds, s.a));
  add(da, t_times(m.h, ds));
  add(to.h, times_t(de, s.x), -1.0);
  add(dx, t_times(m.h, de), -1.0);
  add(dp, times(da, m.h));
  add(to.h, t_times(da, s.p));
  for (int i = 0; i < N; i++) {
    to.q[i] += dp[i][i];
  }
  Matrix<N, N> both = dp; // dP + dP', as P0 is symmetric
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      both[i][j] += dp[j][i];
    }
  }
  add(to.f, times(both, s.fp));
  add(to.f, times_t(dx, s.x0));
  dp = t_times(m.f, times(dp, m.f));
  dx = t_times(m.f, dx);
}

Matrix<N, N> unit() {
  Matrix<N, N> m = {};
  for (int i = 0; i < N; i++) {
    m[i][i] = 1.0;
  }
  return m;
}

} // namespace

extern "C" void kalman_value(const Input *in, double *out) {
  const Model m(in);
  Step s;
  s.x1 = {};
  s.p1 = unit();
  double sum = 0.0;
  for (int64_t t = 0; t < m.steps; t++) {
    const Matrix<N, 1> x = s.x1;
    const Matrix<N, N> p = s.p1;
    sum += s.run(m, m.ys + t * M, x, p);
  }
  *out = sum;
}

extern "C" void kalman_gradient(const Input *in, double *__restrict out) {
  const Model m(in);
  std::vector<Step> steps(m.steps);
  Matrix<N, 1> x = {}, dx = {};
  Matrix<N, N> p = unit(), dp = {};
  for (int64_t t = 0; t < m.steps; t++) {
    steps[t].run(m, m.ys + t * M, x, p);
    x = steps[t].x1;
    p = steps[t].p1;
  }
  Gradient to;
  for (int64_t t = m.steps; t-- > 0;) {
    back(m, steps[t], dx, dp, to);
  }
  out = std::copy_n(&to.f.at[0][0], N * N, out);
  out = std::copy_n(&to.h.at[0][0], M * N, out);
  out = std::copy_n(to.q, N, out);
  std::copy_n(to.r, M, out);
}
