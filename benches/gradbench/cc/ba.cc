// The Jacobian of bundle adjustment in compressed rows (`demos/gradbench/ba.ks`): two rows of fifteen elements for each
// observation, then one of one for each weight.

#include "../../compare/cc/ba.cc"
#include <algorithm>

// integers: where rows start, 3 p + 1 numbers, then the columns of the 31 p elements.
extern "C" void ba_rows(const Input *in, double *__restrict out, int64_t *__restrict integers) {
  const Problem b(in);
  const int64_t first_point = 11 * in[0].size[0], first_weight = first_point + 3 * in[1].size[0];
  int64_t *starts = integers, *columns = integers + 3 * b.n + 1;
  for (int64_t i = 0; i < b.n; i++) {
    double to_camera[22], to_point[6], to_weight[2];
    block(b.camera(i), b.point(i), b.weights[i], b.features + 2 * i, to_camera, to_point, to_weight);
    for (int64_t row = 0; row < 2; row++) {
      const int64_t start = 30 * i + 15 * row;
      starts[2 * i + row] = start;
      std::copy_n(to_camera + 11 * row, 11, out + start);
      std::copy_n(to_point + 3 * row, 3, out + start + 11);
      out[start + 14] = to_weight[row];
      for (int64_t j = 0; j < 11; j++) {
        columns[start + j] = 11 * b.observations[2 * i] + j;
      }
      for (int64_t j = 0; j < 3; j++) {
        columns[start + 11 + j] = first_point + 3 * b.observations[2 * i + 1] + j;
      }
      columns[start + 14] = first_weight + i;
    }
  }
  for (int64_t i = 0; i < b.n; i++) {
    starts[2 * b.n + i] = 30 * b.n + i;
    columns[30 * b.n + i] = first_weight + i;
    out[30 * b.n + i] = -2.0 * b.weights[i];
  }
  starts[3 * b.n] = 31 * b.n;
}
