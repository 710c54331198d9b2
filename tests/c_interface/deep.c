/* Calls functions on deep vectors, which come in pieces: offsets, and the elements one after the other; and functions
   with parts that cannot vary. Prints the first thing that is not as it should be. With an argument, makes so many
   calls and prints how the memory of the process grew. */

#include "check.h"
#include "deep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [[[1, 2], []], [], [[3], [4, 5, 6], [7]]] */
static double data[7] = {1, 2, 3, 4, 5, 6, 7};
static int64_t row_offsets[6] = {0, 2, 2, 3, 6, 7};
static int64_t outer_offsets[4] = {0, 2, 2, 5};

static void vectors_of_vectors_of_vectors(lmc_context *ctx) {
  lmc_tensor_i64_1 outer = {outer_offsets, {4}};
  lmc_jagged_f64 each = {data, row_offsets, 5};

  lmc_tensor_i64_1 outer_out = {NULL, {0}};
  lmc_jagged_f64 out = {NULL, NULL, 0};
  CHECK(scaled(ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_OK);
  CHECK(outer_out.size[0] == 4 && memcmp(outer_out.data, outer_offsets, sizeof outer_offsets) == 0);
  CHECK(out.size == 5 && memcmp(out.offsets, row_offsets, sizeof row_offsets) == 0);
  for (int i = 0; i < 7; i++) {
    CHECK(out.data[i] == 2 * data[i]);
  }

  /* Storage of the caller, for the reverse derivative. */
  double gradient[7] = {0}, dx = 0;
  int64_t offsets[4], rows[6];
  memcpy(rows, row_offsets, sizeof rows);
  lmc_tensor_i64_1 outer_gradient = {offsets, {4}};
  lmc_jagged_f64 each_gradient = {gradient, rows, 5};
  CHECK(rev_scaled(ctx, &outer, &each, 2.0, &outer, &each, &outer_gradient, &each_gradient, &dx) == LMC_OK);
  CHECK(dx == 1 + 4 + 9 + 16 + 25 + 36 + 49 && gradient[0] == 2 && gradient[6] == 14);
  CHECK(memcmp(offsets, outer_offsets, sizeof offsets) == 0);

  /* Nothing is written where the storage has another shape. */
  rows[1] = 1;
  gradient[0] = -1;
  CHECK(rev_scaled(ctx, &outer, &each, 2.0, &outer, &each, &outer_gradient, &each_gradient, &dx) ==
        LMC_SHAPE_MISMATCH);
  CHECK(gradient[0] == -1);
}

static void wrong_offsets(lmc_context *ctx) {
  int64_t beyond[4] = {0, 2, 2, 6}, falling[4] = {0, 2, 1, 5}, none[1] = {0};
  lmc_jagged_f64 each = {data, row_offsets, 5}, out = {NULL, NULL, 0};
  lmc_tensor_i64_1 outer_out = {NULL, {0}}, outer = {beyond, {4}};
  CHECK(scaled(ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_INDEX_OUT_OF_RANGE);
  CHECK(ctx->error.line == 3 && ctx->error.number[0] == 5 && ctx->error.number[1] == 5);
  outer.data = falling;
  CHECK(scaled(ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_NEGATIVE_SIZE);
  outer.size[0] = 0;
  CHECK(scaled(ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_NEGATIVE_SIZE);
  outer.data = none;
  outer.size[0] = 1;
  CHECK(scaled(ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_OK);
  CHECK(outer_out.size[0] == 1 && outer_out.data[0] == 0 && out.size == 0 && out.offsets[0] == 0);
}

static void vectors_of_tuples_of_vectors(lmc_context *ctx) {
  double biases[5] = {1, 2, 3, 4, 5}, weights[8] = {1, 10, 2, 20, 3, 4, 5, 6};
  int64_t bias_offsets[3] = {0, 2, 5}, numbers[2] = {7, 9}, weight_offsets[3] = {0, 4, 8}, sizes[4] = {2, 2, 4, 1};
  lmc_jagged_f64 layers_1 = {biases, bias_offsets, 2};
  lmc_tensor_i64_1 layers_2 = {numbers, {2}};
  lmc_jagged_f64_2 layers_3 = {weights, weight_offsets, 2, sizes};
  double y = 0;
  CHECK(total(ctx, &layers_1, &layers_2, &layers_3, &y) == LMC_OK && y == 7 * 3 * 3 + 9 * 12 * 18);

  double d_biases[5], d_weights[8];
  lmc_jagged_f64 out_1 = {d_biases, bias_offsets, 2};
  lmc_jagged_f64_2 out_3 = {d_weights, weight_offsets, 2, sizes};
  CHECK(rev_total(ctx, &layers_1, &layers_2, &layers_3, 1.0, &out_1, &out_3) == LMC_OK);
  CHECK(d_biases[1] == 7 * 3 && d_biases[4] == 9 * 18 && d_weights[0] == 7 * 3 && d_weights[1] == 0);
  CHECK(d_weights[7] == 9 * 12);

  CHECK(fwd_total(ctx, &layers_1, &layers_2, &layers_3, &layers_1, &layers_3, &y) == LMC_OK);
  CHECK(y == 2 * (7 * 3 * 3 + 9 * 12 * 18));

  layers_2.size[0] = 1;
  CHECK(total(ctx, &layers_1, &layers_2, &layers_3, &y) == LMC_SIZE_MISMATCH);
}

static void results_and_workspaces(lmc_context *ctx) {
  int64_t n = 0, bytes = -1;
  lmc_jagged_f64 out_2_1 = {NULL, NULL, 0};
  lmc_tensor_f64_1 out_2_2 = {NULL, {0}};
  CHECK(triangles_workspace(ctx, 3, &bytes) == LMC_OK && bytes > 0);
  lmc_context own = {0};
  own.arena.base = malloc((size_t)bytes);
  own.arena.bytes = bytes;
  CHECK(triangles(&own, 3, &n, &out_2_1, &out_2_2) == LMC_OK && n == 3);
  CHECK(out_2_1.size == 3 && out_2_1.offsets[3] == 3 && out_2_1.data[2] == 1.5 && out_2_2.data[2] == 2);
  free(own.arena.base);

  int64_t first[3] = {0, 1, 3};
  lmc_tensor_i64_1 v_offsets = {first, {3}}, v_each_offsets = {outer_offsets, {4}};
  lmc_jagged_f64 v_each_each = {data, row_offsets, 5};
  double y = 0;
  CHECK(four(ctx, 2.0, &v_offsets, &v_each_offsets, &v_each_each, &y) == LMC_OK && y == 56);
}

/* Nothing is passed for tangents of labels, which cannot vary. */
static void vectors_of_integers(lmc_context *ctx) {
  double w[3] = {1, 2, 3}, gradient[3] = {0}, d_b = 0, y = 0;
  int64_t numbers[3] = {4, 5, 6}, bytes = -1;
  lmc_tensor_f64_1 in = {w, {3}}, out = {gradient, {3}};
  lmc_tensor_i64_1 labels = {numbers, {3}}, none = {NULL, {3}};
  CHECK(rev_labelled(ctx, &in, &labels, 1.0, 2.0, &out, &d_b) == LMC_OK);
  CHECK(d_b == 12 && gradient[0] == 10 && gradient[2] == 14);
  CHECK(rev_labelled_workspace(ctx, &in, &labels, 1.0, 2.0, &bytes) == LMC_OK);

  /* Errors name the parameter. */
  out.size[0] = 2;
  CHECK(rev_labelled(ctx, &in, &labels, 1.0, 2.0, &out, &d_b) == LMC_SHAPE_MISMATCH && ctx->error.number[0] == 5);
  CHECK(strcmp(ctx->error.message, "the result `d_w` has another size than its storage") == 0);
  CHECK(rev_labelled(ctx, &in, &none, 1.0, 2.0, &out, &d_b) == LMC_BAD_ARGUMENT && ctx->error.number[0] == 2);
  CHECK(strcmp(ctx->error.message, "the argument `labels` is not valid") == 0);

  /* Nor for the cotangent of a result that cannot vary, whatever its size. */
  double cotangent[3] = {1, 10, 100};
  lmc_tensor_f64_1 dr = {cotangent, {3}};
  out.size[0] = 3;
  CHECK(rev_kept(ctx, &in, &labels, &dr, &out) == LMC_OK && gradient[1] == 40 && gradient[2] == 600);

  /* What the function prints is printed once, so the size of the cotangent comes from outside. */
  lmc_tensor_unit_1 units = {NULL, {3}};
  CHECK(rev_printing(ctx, 3.0, &labels, 1.0, &units, &y) == LMC_OK && y == 6);
}

static void labels_in_vectors(lmc_context *ctx) {
  double xs[3] = {1, 2, 3}, d_xs[3] = {0}, y = 0;
  int64_t numbers[4] = {4, 5, 6, 7}, ends[3] = {0, 2, 4}, lengths[3] = {0, 1, 3}, one_batch[2] = {0, 2};
  lmc_jagged_i64 rows_1 = {numbers, ends, 2};
  lmc_jagged_f64 rows_2 = {xs, lengths, 2}, d_rows_2 = {d_xs, lengths, 2};
  CHECK(rev_batch(ctx, &rows_1, &rows_2, 10.0, &d_rows_2) == LMC_OK);
  CHECK(d_xs[0] == 40 && d_xs[1] == 60 && d_xs[2] == 70);

  lmc_tensor_i64_1 v_offsets = {one_batch, {2}}, d_v_offsets = {NULL, {0}};
  CHECK(fwd_batches(ctx, &v_offsets, &rows_1, &rows_2, &v_offsets, &rows_2, &y) == LMC_OK && y == 4 + 12 + 21);
  d_rows_2.data = NULL;
  CHECK(rev_batches(ctx, &v_offsets, &rows_1, &rows_2, 1.0, &d_v_offsets, &d_rows_2) == LMC_OK);
  CHECK(d_v_offsets.size[0] == 2 && d_v_offsets.data[1] == 2 && d_rows_2.offsets[2] == 3 && d_rows_2.data[1] == 6);
}

static void many_calls(long calls) {
  lmc_tensor_i64_1 outer = {outer_offsets, {4}}, outer_out = {NULL, {0}};
  lmc_jagged_f64 each = {data, row_offsets, 5}, out = {NULL, NULL, 0};
  lmc_context ctx = {0};
  long before = 0;
  for (long i = 0; i < calls; i++) {
    if (i == calls / 10) {
      before = resident();
    }
    outer_out.data = NULL;
    out.data = NULL;
    out.offsets = NULL;
    CHECK(scaled(&ctx, &outer, &each, 2.0, &outer_out, &out) == LMC_OK);
  }
  printf("%ld\n", resident() - before);
  lmc_context_free(&ctx);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    many_calls(atol(argv[1]));
    return 0;
  }
  lmc_context ctx = {0};
  ctx.arena.bytes = 1 << 20;
  for (int round = 0; round < 2; round++) {
    vectors_of_vectors_of_vectors(&ctx);
    wrong_offsets(&ctx);
    vectors_of_tuples_of_vectors(NULL);
    vectors_of_tuples_of_vectors(&ctx);
    results_and_workspaces(&ctx);
    vectors_of_integers(&ctx);
    labels_in_vectors(&ctx);
    lmc_context_free(&ctx);
    CHECK(ctx.arena.base == NULL);
  }
  return 0;
}
