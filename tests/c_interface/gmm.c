/* Calls the gradient of `demos/gmm.ks` with data that are wrong in every way C has: each call gives a status
   and a message, or NaN where a NaN went in. Prints the first thing that is not as it should be. With an
   argument, makes so many calls and prints how the memory of the process grew. */

#include "check.h"
#include "gmm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 2, K = 2, N = 3, LOWER = D * (D + 1) / 2 };

/* The parameters of rev_gmm, and what it takes and gives. */
enum { ALPHAS = 1, MEANS, ICF, X, GAMMA, M, DR, TO_ALPHAS, TO_MEANS, TO_ICF, TO_X, TO_GAMMA };

typedef struct call {
  double data[K + K * D + K * LOWER + N * D], gradient[K + K * D + K * LOWER + N * D + 1];
  int64_t by_d[N + 1], by_lower[K + 1];
  lmc_tensor_f64_1 alphas, to_alphas;
  lmc_jagged_f64 means, icf, x, to_means, to_icf, to_x;
  double gamma;
  int64_t m;
} call;

/* All as it should be. */
static void fill(call *c) {
  memset(c, 0, sizeof *c);
  for (size_t i = 0; i < sizeof c->data / sizeof c->data[0]; i++) {
    c->data[i] = 0.1 * (double)(i % 7) - 0.2;
  }
  for (int i = 0; i <= N; i++) {
    c->by_d[i] = D * i;
  }
  for (int i = 0; i <= K; i++) {
    c->by_lower[i] = LOWER * i;
  }
  double *in = c->data, *out = c->gradient;
  c->alphas = (lmc_tensor_f64_1){in, {K}};
  c->means = (lmc_jagged_f64){in + K, c->by_d, K};
  c->icf = (lmc_jagged_f64){in + K + K * D, c->by_lower, K};
  c->x = (lmc_jagged_f64){in + K + K * D + K * LOWER, c->by_d, N};
  c->to_alphas = (lmc_tensor_f64_1){out, {K}};
  c->to_means = (lmc_jagged_f64){out + K, c->by_d, K};
  c->to_icf = (lmc_jagged_f64){out + K + K * D, c->by_lower, K};
  c->to_x = (lmc_jagged_f64){out + K + K * D + K * LOWER, c->by_d, N};
  c->gamma = 1.5;
  c->m = 2;
}

static double *to_gamma(call *c) {
  return c->gradient + K + K * D + K * LOWER + N * D;
}

static int32_t gradient(lmc_context *ctx, call *c) {
  return rev_gmm(ctx, &c->alphas, &c->means, &c->icf, &c->x, c->gamma, c->m, 1.0, &c->to_alphas, &c->to_means,
                 &c->to_icf, &c->to_x, to_gamma(c));
}

static int32_t value(lmc_context *ctx, const call *c, double *out) {
  return gmm(ctx, &c->alphas, &c->means, &c->icf, &c->x, c->gamma, c->m, out);
}

/* The call fails with one of two statuses, with a message, and touches no result. */
static void refused(call *c, int32_t status, int32_t other, int64_t parameter) {
  lmc_context ctx = {0};
  double before[sizeof c->gradient / sizeof c->gradient[0]];
  memcpy(before, c->gradient, sizeof before);
  const int32_t found = gradient(&ctx, c);
  CHECK(found == status || found == other);
  CHECK(ctx.error.code == found && ctx.error.message && ctx.error.message[0]);
  CHECK(parameter == 0 || (ctx.error.count >= 1 && ctx.error.number[0] == parameter));
  CHECK(gradient(NULL, c) == found);
  CHECK(memcmp(before, c->gradient, sizeof before) == 0);
  lmc_context_free(&ctx);
}

#define REFUSED(change, status, other, parameter) \
  do {                                            \
    fill(&c);                                     \
    change;                                       \
    refused(&c, status, other, parameter);        \
  } while (0)

static void what_is_right(void) {
  call c, d;
  lmc_context ctx = {0};
  double f, above, below;
  fill(&c);
  CHECK(value(&ctx, &c, &f) == LMC_OK && isfinite(f));
  CHECK(gradient(&ctx, &c) == LMC_OK);
  /* Without a context the same. */
  fill(&d);
  CHECK(gradient(NULL, &d) == LMC_OK && memcmp(c.gradient, d.gradient, sizeof c.gradient) == 0);
  /* Each component is that of a central difference. */
  for (size_t i = 0; i < sizeof c.data / sizeof c.data[0]; i++) {
    fill(&d);
    d.data[i] = c.data[i] + 1e-5;
    CHECK(value(&ctx, &d, &above) == LMC_OK);
    d.data[i] = c.data[i] - 1e-5;
    CHECK(value(&ctx, &d, &below) == LMC_OK);
    CHECK(fabs((above - below) / 2e-5 - c.gradient[i]) < 1e-7 * fmax(1.0, fabs(c.gradient[i])));
  }
  /* Results without storage lie in the arena. */
  fill(&d);
  d.to_x = (lmc_jagged_f64){NULL, NULL, 0};
  CHECK(gradient(&ctx, &d) == LMC_OK && d.to_x.size == N && d.to_x.offsets[N] == N * D);
  CHECK(memcmp(d.to_x.data, c.to_x.data, N * D * sizeof(double)) == 0);
  lmc_context_free(&ctx);
}

static void null_structures(void) {
  call c;
  fill(&c);
  double *g = to_gamma(&c);
#define CALL(alphas, means, icf, x, to_alphas, to_means, to_icf, to_x) \
  rev_gmm(&ctx, alphas, means, icf, x, 1.5, 2, 1.0, to_alphas, to_means, to_icf, to_x, g)
  lmc_context ctx = {0};
  for (int null = ALPHAS; null <= TO_X; null++) {
    if (null > X && null < TO_ALPHAS) {
      continue;
    }
    CHECK(CALL(null == ALPHAS ? NULL : &c.alphas, null == MEANS ? NULL : &c.means, null == ICF ? NULL : &c.icf,
               null == X ? NULL : &c.x, null == TO_ALPHAS ? NULL : &c.to_alphas,
               null == TO_MEANS ? NULL : &c.to_means, null == TO_ICF ? NULL : &c.to_icf,
               null == TO_X ? NULL : &c.to_x) == LMC_BAD_ARGUMENT);
    CHECK(ctx.error.count == 1 && ctx.error.number[0] == null && ctx.error.message[0]);
  }
#undef CALL
  lmc_context_free(&ctx);
}

static void null_data_and_offsets(void) {
  call c;
  REFUSED(c.alphas.data = NULL, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, ALPHAS);
  REFUSED(c.means.data = NULL, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, MEANS);
  REFUSED(c.icf.offsets = NULL, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, ICF);
  REFUSED(c.x.data = NULL; c.x.offsets = NULL, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, X);
  /* Without a context there is no arena for results. */
  fill(&c);
  c.to_alphas.data = NULL;
  CHECK(gradient(NULL, &c) == LMC_BAD_ARGUMENT);
  fill(&c);
  c.to_x.data = NULL;
  CHECK(gradient(NULL, &c) == LMC_BAD_ARGUMENT);
}

static void wrong_sizes(void) {
  int64_t falling[N + 1] = {0, 2, 1, 3}, negative[N + 1] = {-4, -2, 0, 2};
  int64_t short_rows[N + 1] = {0, 1, 2, 3}, shifted[N + 1] = {0, 1, 3, 5};
  call c;
  REFUSED(c.alphas.size[0] = -1, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, ALPHAS);
  REFUSED(c.alphas.size[0] = INT64_MIN, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, ALPHAS);
  REFUSED(c.alphas.size[0] = INT64_MAX, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, ALPHAS);
  REFUSED(c.means.size = -2, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, MEANS);
  REFUSED(c.x.size = INT64_MIN, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, X);
  REFUSED(c.x.size = INT64_MAX, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, X);
  REFUSED(c.x.offsets = falling, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, X);
  REFUSED(c.means.offsets = negative, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, MEANS);
  REFUSED(c.to_alphas.size[0] = -1, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, TO_ALPHAS);
  REFUSED(c.to_x.offsets = falling, LMC_BAD_ARGUMENT, LMC_BAD_ARGUMENT, TO_X);

  /* Arguments that disagree with each other. */
  REFUSED(c.alphas.size[0] = 1, LMC_SHAPE_MISMATCH, LMC_SIZE_MISMATCH, 0);
  REFUSED(c.means.size = 1, LMC_INDEX_OUT_OF_RANGE, LMC_SIZE_MISMATCH, 0);
  REFUSED(c.means.size = 0, LMC_INDEX_OUT_OF_RANGE, LMC_SIZE_MISMATCH, 0);
  REFUSED(c.icf.size = 1, LMC_INDEX_OUT_OF_RANGE, LMC_SIZE_MISMATCH, 0);
  REFUSED(c.icf.offsets = short_rows, LMC_INDEX_OUT_OF_RANGE, LMC_SIZE_MISMATCH, 0);
  REFUSED(c.x.offsets = short_rows, LMC_SIZE_MISMATCH, LMC_INDEX_OUT_OF_RANGE, 0);
  REFUSED(c.x.offsets = shifted, LMC_SIZE_MISMATCH, LMC_INDEX_OUT_OF_RANGE, 0);

  /* Storage that is too small, too large, or of rows of other sizes. */
  REFUSED(c.to_alphas.size[0] = K - 1, LMC_SHAPE_MISMATCH, LMC_SHAPE_MISMATCH, TO_ALPHAS);
  REFUSED(c.to_means.size = K + 1, LMC_SHAPE_MISMATCH, LMC_SHAPE_MISMATCH, TO_MEANS);
  REFUSED(c.to_icf.offsets = c.by_d, LMC_SHAPE_MISMATCH, LMC_SHAPE_MISMATCH, TO_ICF);
  REFUSED(c.to_x.offsets = short_rows, LMC_SHAPE_MISMATCH, LMC_SHAPE_MISMATCH, TO_X);
}

/* Neither points nor Gaussians. */
static void nothing(void) {
  call c;
  lmc_context ctx = {0};
  double f = 0.0;
  fill(&c);
  c.x.size = c.to_x.size = 0;
  CHECK(value(&ctx, &c, &f) == LMC_OK && isfinite(f) && gradient(&ctx, &c) == LMC_OK);
  fill(&c);
  c.alphas.size[0] = c.means.size = c.icf.size = 0;
  refused(&c, LMC_INDEX_OUT_OF_RANGE, LMC_INDEX_OUT_OF_RANGE, 0);
  lmc_context_free(&ctx);
}

/* What is no number stays none, and does no harm. */
static void not_a_number(void) {
  const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324};
  call c;
  lmc_context ctx = {0};
  double f;
  for (size_t i = 0; i < sizeof c.data / sizeof c.data[0]; i++) {
    for (size_t j = 0; j < sizeof odd / sizeof odd[0]; j++) {
      fill(&c);
      c.data[i] = odd[j];
      CHECK(value(&ctx, &c, &f) == LMC_OK && gradient(&ctx, &c) == LMC_OK);
      CHECK(!isnan(odd[j]) || (isnan(f) && isnan(c.gradient[i])));
    }
  }
  fill(&c);
  c.gamma = -1.0;
  CHECK(value(&ctx, &c, &f) == LMC_OK && isnan(f) && gradient(&ctx, &c) == LMC_OK);
  fill(&c);
  c.m = INT64_MAX;
  CHECK(value(&ctx, &c, &f) == LMC_OK && gradient(&ctx, &c) == LMC_OK);
  lmc_context_free(&ctx);
}

static void too_little_memory(void) {
  static _Alignas(16) char memory[64];
  call c;
  lmc_context ctx = {0};
  fill(&c);
  ctx.arena.base = memory;
  ctx.arena.bytes = sizeof memory;
  CHECK(gradient(&ctx, &c) == LMC_OUT_OF_MEMORY && ctx.error.message[0]);
}

/* Calls that go well, some of them without a context, and calls that fail. */
static void many_calls(long calls) {
  call good, bad;
  lmc_context ctx = {0};
  long before = 0;
  fill(&good);
  fill(&bad);
  bad.x.size = -1;
  for (long i = 0; i < calls; i++) {
    if (i == calls / 10) {
      before = resident();
    }
    CHECK(gradient(&ctx, &good) == LMC_OK);
    if (i % 100 == 0) {
      CHECK(gradient(NULL, &good) == LMC_OK);
      CHECK(gradient(&ctx, &bad) == LMC_BAD_ARGUMENT && gradient(NULL, &bad) == LMC_BAD_ARGUMENT);
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
  what_is_right();
  null_structures();
  null_data_and_offsets();
  wrong_sizes();
  nothing();
  not_a_number();
  too_little_memory();
  return 0;
}
