/* The derivative of f2 that lmc made, against central differences.
 *
 * Prints a table. The status is 1 when the two disagree by more than 1e-6, relatively, or when a call
 * fails. `demos/run.sh c ex2` makes the header and the library that this needs. */

#include "ex2.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

static const double LIMIT = 1e-6;

typedef struct row {
  double value;      /* f2(x) */
  double derivative; /* rev$f2(x, 1) */
  double difference; /* (f2(x + h) - f2(x - h)) / 2h */
} row;

/* The status is that of the first call that fails; then the row is not complete. */
static int32_t compute(lmc_context *ctx, double x, row *out) {
  const double h = 6e-6 * fmax(1.0, fabs(x)); /* balances truncation against rounding */
  const double right = x + h, left = x - h;
  double above, below;
  int32_t status;
  if ((status = f2(ctx, x, &out->value)) != LMC_OK ||
      (status = rev_f2(ctx, x, 1.0, &out->derivative)) != LMC_OK ||
      (status = f2(ctx, right, &above)) != LMC_OK ||
      (status = f2(ctx, left, &below)) != LMC_OK) {
    return status;
  }
  out->difference = (above - below) / (right - left);
  return LMC_OK;
}

static int agrees(const row *r) {
  /* Not `>`: a NaN agrees with nothing. */
  return fabs(r->derivative - r->difference) <= LIMIT * fmax(1.0, fabs(r->derivative));
}

static int equal(const row *a, const row *b) {
  return a->value == b->value && a->derivative == b->derivative && a->difference == b->difference;
}

int main(void) {
  const double points[] = {-2.0, -0.5, 0.0, 0.5, 1.0, 2.0, 10.0};
  int good = 1;
  printf("     x          f2(x)         rev$f2     difference            error\n");
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    const double x = points[i];
    /* Without a context the status tells what went wrong; with one, its error also tells where. */
    lmc_context context = {0};
    row without, with;
    const int32_t status = compute(NULL, x, &without);
    if (compute(&context, x, &with) != status) {
      fprintf(stderr, "at %g: the status depends on the context\n", x);
      return 1;
    }
    if (status != LMC_OK) {
      const lmc_error *error = &context.error;
      fprintf(stderr, "at %g: status %d, %s:%d:%d: %s\n", x, (int)status, error->file, (int)error->line,
              (int)error->column, error->message);
      return 1;
    }
    printf("%6.2f %14.6f %14.6f %14.6f %16.12f\n", x, without.value, without.derivative, without.difference,
           without.derivative - without.difference);
    good = good && agrees(&without) && equal(&without, &with);
  }
  if (!good) {
    fprintf(stderr, "the derivative disagrees with the differences by more than %g\n", LIMIT);
    return 1;
  }
  return 0;
}
