/* Calls of functions whose loops run on threads: those of a pool, and those of a parallel_for of this program's own.
 *
 * Without arguments, the test: values and errors are the same in all ways, the workspace suffices, calls from several
 * threads may share a pool. With an argument, the calls with threads of this program's own alone, for tools that watch
 * them. */

#include "threads.h"
#include "lmc_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
  do { \
    if (!(holds)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); \
      exit(1); \
    } \
  } while (0)

enum { POINTS = 500, CENTRES = 6, D = 3, W = 40, CALLERS = 4 };

/* What one caller has of its own. */
typedef struct caller {
  double points[POINTS * D], centres[CENTRES * D], w[W];
  int64_t point_offsets[POINTS + 1], centre_offsets[CENTRES + 1];
  double value, to_points[POINTS * D], to_centres[CENTRES * D], to_w[W];
} caller;

static void fill(caller *c) {
  memset(c, 0, sizeof *c);
  for (int i = 0; i < POINTS * D; i++) {
    c->points[i] = (i * 37 % 101) / 101.0;
  }
  for (int i = 0; i < CENTRES * D; i++) {
    c->centres[i] = (i * 29 % 17) / 17.0;
  }
  for (int i = 0; i < W; i++) {
    c->w[i] = (i * 11 % 7) / 7.0;
  }
  for (int i = 0; i <= POINTS; i++) {
    c->point_offsets[i] = i * D;
  }
  for (int i = 0; i <= CENTRES; i++) {
    c->centre_offsets[i] = i * D;
  }
}

/* The value, and the gradient; or how much memory that takes, where there is a place for that. */
static int32_t call(caller *c, lmc_context *ctx, int64_t *bytes) {
  const lmc_jagged_f64 points = {c->points, c->point_offsets, POINTS}, centres = {c->centres, c->centre_offsets, CENTRES};
  const lmc_tensor_f64_1 w = {c->w, {W}};
  lmc_jagged_f64 to_points = {c->to_points, c->point_offsets, POINTS};
  lmc_jagged_f64 to_centres = {c->to_centres, c->centre_offsets, CENTRES};
  lmc_tensor_f64_1 to_w = {c->to_w, {W}};
  if (bytes) {
    return rev_loss_workspace(ctx, &points, &centres, &w, 1.0, bytes);
  }
  const int32_t status = loss(ctx, &points, &centres, &w, &c->value);
  return status ? status : rev_loss(ctx, &points, &centres, &w, 1.0, &to_points, &to_centres, &to_w);
}

static int same(const caller *a, const caller *b) {
  return memcmp(&a->value, &b->value, sizeof a->value) == 0 &&
         memcmp(a->to_points, b->to_points, sizeof a->to_points) == 0 &&
         memcmp(a->to_centres, b->to_centres, sizeof a->to_centres) == 0 &&
         memcmp(a->to_w, b->to_w, sizeof a->to_w) == 0;
}

/* A parallel_for without a pool: two threads, begun for each loop, of which each takes every other chunk. */

typedef struct half {
  void (*body)(void *env, int64_t chunk, int64_t worker);
  void *env;
  int64_t chunks, worker;
} half;

static int64_t loops;

static void *run_half(void *argument) {
  const half *h = argument;
  for (int64_t chunk = h->worker; chunk < h->chunks; chunk += 2) {
    h->body(h->env, chunk, h->worker);
  }
  return NULL;
}

static void halves(void *pool, void (*body)(void *env, int64_t chunk, int64_t worker), void *env, int64_t chunks) {
  half both[2] = {{body, env, chunks, 0}, {body, env, chunks, 1}};
  pthread_t other;
  loops++;
  CHECK(pool == NULL && chunks > 1);
  CHECK(pthread_create(&other, NULL, run_half, &both[1]) == 0);
  run_half(&both[0]);
  CHECK(pthread_join(other, NULL) == 0);
}

/* Errors: the first in the order of iterations. */
static void check_errors(lmc_threads threads) {
  enum { N = 2000 };
  static double v[10], w[100];
  static int64_t k[N];
  const lmc_tensor_f64_1 tv = {v, {10}}, tw = {w, {100}};
  const lmc_tensor_i64_1 tk = {k, {N}};
  double result = -1.0;
  lmc_context ctx = {0};
  ctx.threads = threads;
  for (int64_t first = 0; first < N; first += 333) {
    memset(k, 0, sizeof k);
    for (int64_t i = first; i < N; i += 97) {
      k[i] = 10 + i;
    }
    CHECK(pick(&ctx, &tv, &tk, &tw, &result) == LMC_INDEX_OUT_OF_RANGE);
    CHECK(ctx.error.code == LMC_INDEX_OUT_OF_RANGE && ctx.error.count == 2 && result == -1.0);
    CHECK(ctx.error.number[0] == 10 + first && ctx.error.number[1] == 10);
    CHECK(ctx.error.line == 14);
  }
  CHECK(pick(NULL, &tv, &tk, &tw, &result) == LMC_INDEX_OUT_OF_RANGE);
  lmc_context_free(&ctx);
}

/* An arena of the workspace suffices, and a smaller one does not. */
static void check_workspace(const caller *wanted, lmc_threads threads) {
  caller *c = malloc(sizeof *c);
  int64_t bytes;
  CHECK(c);
  fill(c);
  lmc_context ctx = {0};
  ctx.threads = threads;
  CHECK(call(c, &ctx, &bytes) == LMC_OK && bytes > 0 && bytes % 16 == 0 && !ctx.arena.base);
  ctx.arena.base = aligned_alloc(16, (size_t)bytes);
  ctx.arena.bytes = (uint64_t)bytes;
  CHECK(ctx.arena.base && call(c, &ctx, NULL) == LMC_OK && same(c, wanted));
  CHECK(ctx.arena.peak <= (uint64_t)bytes);
  ctx.arena.bytes = (uint64_t)bytes / 4 / 16 * 16;
  CHECK(call(c, &ctx, NULL) == LMC_OUT_OF_MEMORY);
  free(ctx.arena.base);
  free(c);
}

static lmc_pool *shared;
static const caller *expected;

static void *call_often(void *argument) {
  caller *c = argument;
  lmc_context ctx = {0};
  ctx.threads = lmc_pool_threads(shared);
  for (int i = 0; i < 5; i++) {
    CHECK(call(c, &ctx, NULL) == LMC_OK && same(c, expected));
  }
  lmc_context_free(&ctx);
  return NULL;
}

static void check_pool(caller *callers, const caller *wanted) {
  for (int64_t n = 1; n < 5; n++) {
    lmc_pool *pool = lmc_pool_create(n);
    CHECK(pool && lmc_pool_threads(pool).workers == n);
    lmc_context ctx = {0};
    ctx.threads = lmc_pool_threads(pool);
    fill(&callers[0]);
    CHECK(call(&callers[0], &ctx, NULL) == LMC_OK && same(&callers[0], wanted));
    lmc_context_free(&ctx);
    check_errors(lmc_pool_threads(pool));
    check_workspace(wanted, lmc_pool_threads(pool));
    lmc_pool_free(pool);
  }
  CHECK(!lmc_pool_create(-1) && !lmc_pool_threads(NULL).parallel_for);
  lmc_pool_free(NULL);
  shared = lmc_pool_create(0);
  expected = wanted;
  CHECK(shared);
  pthread_t threads[CALLERS];
  for (int i = 0; i < CALLERS; i++) {
    fill(&callers[i]);
    CHECK(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  lmc_pool_free(shared);
}

int main(int argc, char **argv) {
  (void)argv;
  const lmc_threads own = {halves, NULL, 2};
  caller *callers = malloc(CALLERS * sizeof *callers), *wanted = malloc(sizeof *wanted);
  CHECK(callers && wanted);
  fill(wanted);
  CHECK(call(wanted, NULL, NULL) == LMC_OK);
  lmc_context ctx = {0};
  ctx.threads = own;
  fill(&callers[0]);
  CHECK(call(&callers[0], &ctx, NULL) == LMC_OK && same(&callers[0], wanted));
  CHECK(loops >= 2);
  lmc_context_free(&ctx);
  check_errors(own);
  if (argc == 1) {
    check_workspace(wanted, own);
    check_workspace(wanted, (lmc_threads){0});
    check_pool(callers, wanted);
  }
  free(wanted);
  free(callers);
  return 0;
}
