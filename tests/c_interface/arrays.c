/* Calls functions on arrays as a program in C would, right and wrong. Prints the first thing that is not
   as it should be. With an argument, makes so many calls and prints how the memory of the process grew. */

#include "check.h"
#include "arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void storage_of_the_caller(lmc_context *ctx) {
  double in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
  lmc_tensor_f64_1 v = {in, {3}}, result = {out, {3}};
  CHECK(scale(ctx, &v, 2.0, &result) == LMC_OK);
  CHECK(result.data == out && result.size[0] == 3 && out[0] == 2 && out[1] == 4 && out[2] == 6);

  lmc_tensor_f64_1 small = {out, {2}};
  out[0] = 7;
  CHECK(scale(ctx, &v, 2.0, &small) == LMC_SHAPE_MISMATCH);
  CHECK(out[0] == 7);
  if (ctx) {
    CHECK(ctx->error.count == 3 && ctx->error.number[0] == 3);
    CHECK(ctx->error.number[1] == 3 && ctx->error.number[2] == 2);
  }

  double dv[3], dw[3], y;
  lmc_tensor_f64_1 w = {out, {3}}, gradient_v = {dv, {3}}, gradient_w = {dw, {3}};
  CHECK(dot(ctx, &v, &w, &y) == LMC_OK && y == 7 + 8 + 18);
  CHECK(rev_dot(ctx, &v, &w, 1.0, &gradient_v, &gradient_w) == LMC_OK);
  CHECK(dv[0] == 7 && dv[1] == 4 && dw[0] == 1 && dw[2] == 3);
}

static void storage_of_the_context(lmc_context *ctx) {
  double in[6] = {1, 2, 3, 4, 5, 6};
  lmc_tensor_f64_2 m = {in, {2, 3}}, out = {NULL, {0, 0}};
  CHECK(flip(ctx, &m, &out) == LMC_OK);
  CHECK(out.size[0] == 3 && out.size[1] == 2 && out.data[1] == 4 && out.data[4] == 3);
  CHECK(ctx->arena.peak >= 48 && ctx->arena.peak < 256);

  int64_t offsets[4] = {0, 2, 2, 5};
  lmc_jagged_f64 v = {in, offsets, 3}, rows_out = {NULL, NULL, 0};
  CHECK(rows(ctx, &v, &rows_out) == LMC_OK);
  CHECK(rows_out.size == 3 && memcmp(rows_out.offsets, offsets, sizeof offsets) == 0);
  CHECK(rows_out.data[0] == 2 && rows_out.data[4] == 10);

  lmc_tensor_unit_1 units_out = {NULL, {0}};
  CHECK(units(ctx, 5, &units_out) == LMC_OK && units_out.size[0] == 5);
}

static void components_and_rows(lmc_context *ctx) {
  double in[4] = {1, 2, 3, 4}, out[4];
  uint8_t bools[4] = {0, 1, 2, 0}, flags[4];
  lmc_tensor_f64_1 v_1 = {in, {4}}, out_2 = {out, {4}};
  lmc_tensor_bool_1 v_2 = {bools, {4}}, out_1 = {flags, {4}};
  CHECK(swap(ctx, &v_1, &v_2, &out_1, &out_2) == LMC_OK);
  CHECK(flags[0] == 0 && flags[1] == 1 && flags[2] == 1 && out[3] == 4);
  v_2.size[0] = 3;
  CHECK(swap(ctx, &v_1, &v_2, &out_1, &out_2) == LMC_BAD_ARGUMENT);

  int64_t offsets[3] = {1, 1, 4}, other[3] = {0, 1, 3};
  lmc_jagged_f64 v = {in, offsets, 2}, wrong = {out, other, 2}, right = {out, offsets, 2};
  out[0] = -1;
  CHECK(rows(ctx, &v, &wrong) == LMC_SHAPE_MISMATCH && out[0] == -1);
  CHECK(rows(ctx, &v, &right) == LMC_OK && out[0] == -1 && out[1] == 4 && out[3] == 8);
}

static void what_is_wrong(lmc_context *ctx) {
  double in[6] = {1, 2, 3, 4, 5, 6}, y = 0;
  lmc_tensor_f64_1 null = {NULL, {3}}, negative = {in, {-1}}, empty = {NULL, {0}}, two = {in, {2}}, three = {in, {3}};
  CHECK(dot(ctx, NULL, &two, &y) == LMC_BAD_ARGUMENT);
  CHECK(dot(ctx, &two, &null, &y) == LMC_BAD_ARGUMENT);
  if (ctx) {
    CHECK(ctx->error.count == 1 && ctx->error.number[0] == 2);
  }
  CHECK(dot(ctx, &negative, &negative, &y) == LMC_BAD_ARGUMENT);
  CHECK(dot(ctx, &empty, &empty, &y) == LMC_OK && y == 0);
  CHECK(dot(ctx, &two, &three, &y) == LMC_SIZE_MISMATCH);
  if (ctx) {
    CHECK(ctx->error.count == 2 && ctx->error.number[0] == 2 && ctx->error.number[1] == 3);
    CHECK(ctx->error.line == 4 && strcmp(ctx->error.message, "two sizes differ") == 0);
  }
  lmc_tensor_f64_2 m = {in, {2, 3}}, huge = {in, {INT64_MAX, 2}};
  CHECK(pick(ctx, &m, 1, 3, &y) == LMC_INDEX_OUT_OF_RANGE);
  if (ctx) {
    CHECK(ctx->error.count == 4 && ctx->error.number[1] == 3 && ctx->error.number[2] == 2);
  }
  CHECK(pick(ctx, &m, 1, 2, &y) == LMC_OK && y == 6);
  CHECK(pick(ctx, &huge, 0, 0, &y) == LMC_BAD_ARGUMENT);
  lmc_tensor_unit_1 units_out = {NULL, {0}};
  CHECK(units(ctx, -2, &units_out) == LMC_NEGATIVE_SIZE);
  CHECK(scale(ctx, &two, 1.0, NULL) == LMC_BAD_ARGUMENT);
  lmc_tensor_f64_1 nowhere = {NULL, {2}};
  CHECK(scale(NULL, &two, 1.0, &nowhere) == LMC_BAD_ARGUMENT);

  int64_t falling[3] = {0, 3, 1}, below[2] = {-1, 2};
  lmc_jagged_f64 v = {in, falling, 2}, out = {NULL, NULL, 0}, w = {in, below, 1}, bare = {in, NULL, 1};
  lmc_context own = {0};
  CHECK(rows(&own, &v, &out) == LMC_BAD_ARGUMENT && rows(&own, &w, &out) == LMC_BAD_ARGUMENT);
  CHECK(rows(&own, &bare, &out) == LMC_BAD_ARGUMENT);
}

/* Matrices of 2 x 3, 1 x 0 and 1 x 2. */
static void vectors_of_matrices(lmc_context *ctx) {
  double in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[9] = {0};
  uint8_t negative[8] = {0, 1, 0, 0, 0, 0, 0, 1};
  int64_t offsets[4] = {0, 6, 6, 8}, sizes[6] = {2, 3, 1, 0, 1, 2}, flipped[6] = {3, 2, 0, 1, 2, 1};
  int64_t apart[4] = {1, 7, 7, 9};
  lmc_jagged_f64_2 v_1 = {in, offsets, 3, sizes}, result = {NULL, NULL, 0, NULL}, own = {out, apart, 3, flipped};
  lmc_jagged_bool_2 v_2 = {negative, offsets, 3, sizes};
  if (ctx) {
    CHECK(flips(ctx, &v_1, &v_2, &result) == LMC_OK && result.size == 3);
    CHECK(memcmp(result.offsets, offsets, sizeof offsets) == 0 && memcmp(result.sizes, flipped, sizeof flipped) == 0);
    CHECK(result.data[1] == 4 && result.data[2] == -2 && result.data[5] == 6 && result.data[7] == -8);
  }
  CHECK(flips(ctx, &v_1, &v_2, &own) == LMC_OK && own.data == out && own.sizes == flipped);
  CHECK(out[0] == 0 && out[1] == 1 && out[3] == -2 && out[8] == -8);

  int64_t reshaped[6] = {3, 2, 1, 0, 1, 2}, wrong[6] = {2, 2, 1, 0, 1, 2}, negatives[6] = {-2, -3, 1, 0, 1, 2};
  int64_t huge[6] = {INT64_MAX, 2, 1, 0, 1, 2};
  own.sizes = sizes;
  CHECK(flips(ctx, &v_1, &v_2, &own) == LMC_SHAPE_MISMATCH);
  if (ctx) {
    CHECK(ctx->error.count == 5 && ctx->error.number[0] == 3);
    CHECK(ctx->error.number[1] == 3 && ctx->error.number[2] == 2);
    CHECK(ctx->error.number[3] == 2 && ctx->error.number[4] == 3);
  }
  own.sizes = flipped;
  v_2.sizes = reshaped;
  CHECK(flips(ctx, &v_1, &v_2, &own) == LMC_BAD_ARGUMENT);
  int64_t *bad[] = {wrong, negatives, huge, NULL};
  for (int i = 0; i < 4; i++) {
    v_2.sizes = bad[i];
    CHECK(flips(ctx, &v_1, &v_2, &own) == LMC_BAD_ARGUMENT);
  }

  double sum, gradient[8];
  lmc_jagged_f64_2 to_v = {gradient, offsets, 3, sizes};
  CHECK(total(ctx, &v_1, &sum) == LMC_OK && sum == 204);
  CHECK(rev_total(ctx, &v_1, 0.5, &to_v) == LMC_OK && memcmp(gradient, in, sizeof in) == 0);

  /* Elements of no data have offsets and sizes. */
  int64_t ends[2] = {0, 6}, cube[3] = {1, 2, 3};
  lmc_jagged_unit_3 u = {NULL, ends, 1, cube}, both = {NULL, NULL, 0, NULL};
  if (ctx) {
    CHECK(marks(ctx, &u, &both) == LMC_OK && both.size == 2 && both.offsets[2] == 12 && both.sizes[5] == 3);
  }
}

static void an_arena_of_the_caller(void) {
  static _Alignas(16) char memory[4096];
  static double in[100], out[100];
  lmc_context ctx = {0};
  ctx.arena.base = memory;
  ctx.arena.bytes = sizeof memory;
  lmc_tensor_f64_1 v = {in, {100}}, result = {out, {100}};
  /* Room for one state, which each step updates in place, however many steps: their indices take none. */
  CHECK(steps(&ctx, &v, 60, &result) == LMC_OK && out[99] == 60);
  CHECK(ctx.arena.peak >= 800 && ctx.arena.peak <= 1700);
  CHECK(steps(&ctx, &v, 1000, &result) == LMC_OK && out[99] == 1000 && ctx.arena.peak <= 1700);
  ctx.arena.bytes = 608;
  CHECK(steps(&ctx, &v, 60, &result) == LMC_OUT_OF_MEMORY);
  CHECK(ctx.error.count == 2 && ctx.error.number[0] == 800 && ctx.error.number[1] == 608);
  ctx.arena.bytes = 10;
  CHECK(steps(&ctx, &v, 1, &result) == LMC_OUT_OF_MEMORY);
  lmc_context_free(&ctx);
  CHECK(ctx.arena.base == memory);
}

static _Alignas(16) char exact_memory[1 << 16];

/* Calls with an arena of so many bytes, and with one byte less. */
#define SUFFICES(bytes, call)                                         \
  do {                                                                \
    lmc_context ctx = {0};                                            \
    ctx.arena.base = exact_memory;                                    \
    ctx.arena.bytes = (uint64_t)(bytes);                              \
    CHECK((bytes) > 0 && (call) == LMC_OK);                           \
    CHECK(ctx.arena.peak == (uint64_t)(bytes));                       \
    ctx.arena.bytes -= 1;                                             \
    CHECK((call) == LMC_OUT_OF_MEMORY);                               \
  } while (0)

static void workspaces(lmc_context *asked) {
  double in[100] = {1, 2, 3}, out[100], y;
  lmc_tensor_f64_1 v = {in, {100}}, result = {out, {100}};
  int64_t bytes = -1;
  CHECK(steps_workspace(asked, &v, 60, &bytes) == LMC_OK);
  SUFFICES(bytes, steps(&ctx, &v, 60, &result));
  result.data = NULL;
  SUFFICES(bytes, steps(&ctx, &v, 60, &result));
  lmc_tensor_f64_1 back = {NULL, {0}};
  CHECK(rev_steps_workspace(asked, &v, 20, &v, &bytes) == LMC_OK);
  SUFFICES(bytes, (back.data = NULL, rev_steps(&ctx, &v, 20, &v, &back)));
  CHECK(scale_workspace(asked, &v, 2.0, &bytes) == LMC_OK && bytes == 800);
  SUFFICES(bytes, (back.data = NULL, scale(&ctx, &v, 2.0, &back)));

  int64_t offsets[4] = {0, 2, 2, 5};
  lmc_jagged_f64 w = {in, offsets, 3}, rows_out = {NULL, NULL, 0};
  CHECK(rows_workspace(asked, &w, &bytes) == LMC_OK);
  SUFFICES(bytes, (rows_out.data = NULL, rows(&ctx, &w, &rows_out)));

  CHECK(dot_workspace(asked, &v, &v, &bytes) == LMC_OK && bytes == 0);
  CHECK(dot(NULL, &v, &v, &y) == LMC_OK && y == 14);
  lmc_tensor_f64_1 two = {in, {2}};
  bytes = 5;
  CHECK(dot_workspace(asked, &v, &two, &bytes) == LMC_SIZE_MISMATCH && bytes == 5);
  CHECK(dot_workspace(asked, &v, NULL, &bytes) == LMC_BAD_ARGUMENT);
  if (asked) {
    CHECK(asked->error.code == LMC_BAD_ARGUMENT && asked->error.number[0] == 2);
    CHECK(asked->arena.base == NULL);
  }
}

static void many_calls(long calls) {
  double in[100] = {0}, out[100];
  lmc_tensor_f64_1 v = {in, {100}}, result = {out, {100}};
  lmc_context ctx = {0};
  long before = 0;
  for (long i = 0; i < calls; i++) {
    if (i == calls / 10) {
      before = resident();
    }
    CHECK(steps(&ctx, &v, 3, &result) == LMC_OK);
    if (i % 100 == 0) {
      CHECK(steps(NULL, &v, 3, &result) == LMC_OK);
    }
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
    storage_of_the_caller(NULL);
    storage_of_the_caller(&ctx);
    storage_of_the_context(&ctx);
    components_and_rows(NULL);
    components_and_rows(&ctx);
    vectors_of_matrices(NULL);
    vectors_of_matrices(&ctx);
    what_is_wrong(NULL);
    what_is_wrong(&ctx);
    lmc_context_free(&ctx);
    CHECK(ctx.arena.base == NULL);
  }
  an_arena_of_the_caller();
  workspaces(NULL);
  workspaces(&ctx);
  lmc_context_free(NULL);
  return 0;
}
