// sum of m_ij (a_ij - u_i . v_j)^2 / 2 + (|U|^2 + |V|^2) / 20, and its gradients by U and V. m is 0 or 1.
//
//   r = m (u_i . v_j - a_ij),   du_i = sum over j of r v_j + u_i / 10,   dv_j = sum over i of r u_i + v_j / 10

#include "dot.h"
#include "input.h"
#include <algorithm>

extern "C" void low_rank_factorisation_value(const Input *in, double *out) {
  const int64_t m = in[0].size[0], n = in[1].size[0], rank = in[0].size[1];
  const double *u = in[0].floats, *v = in[1].floats, *a = in[2].floats, *mask = in[3].floats;
  double sum = 0.0;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      const double r = a[i * n + j] - dot(u + i * rank, v + j * rank, rank);
      sum += mask[i * n + j] * r * r;
    }
  }
  *out = 0.5 * sum + 0.05 * (dot(u, u, m * rank) + dot(v, v, n * rank));
}

extern "C" void low_rank_factorisation_gradient(const Input *in, double *__restrict out) {
  const int64_t m = in[0].size[0], n = in[1].size[0], rank = in[0].size[1];
  const double *u = in[0].floats, *v = in[1].floats, *a = in[2].floats, *mask = in[3].floats;
  double *du = out, *dv = out + m * rank;
  for (int64_t e = 0; e < m * rank; e++) {
    du[e] = 0.1 * u[e];
  }
  for (int64_t e = 0; e < n * rank; e++) {
    dv[e] = 0.1 * v[e];
  }
  for (int64_t i = 0; i < m; i++) {
    const double *ui = u + i * rank;
    double *dui = du + i * rank;
    for (int64_t j = 0; j < n; j++) {
      if (mask[i * n + j] == 0.0) {
        continue;
      }
      const double *vj = v + j * rank, r = dot(ui, vj, rank) - a[i * n + j];
      double *dvj = dv + j * rank;
      for (int64_t k = 0; k < rank; k++) {
        dui[k] += r * vj[k];
        dvj[k] += r * ui[k];
      }
    }
  }
}
