/* Value and gradient of a Gaussian mixture model, for the data of files: gmm and rev$gmm of `demos/gmm.ks`.
 *
 *   gmm [--all] FILE...
 *
 * Prints the value, a summary of the gradient (with --all, all its numbers too), and the derivative along
 * a direction, by the gradient and by a central difference. The status is 1 when the two disagree, when a
 * call fails, or when a file is not as `demos/README.md` says. `demos/run.sh c gmm` makes the header and
 * the library that this needs. */

#define _POSIX_C_SOURCE 200809L /* getline */

#include "gmm.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LIMIT = 1e-6;
static const int64_t LARGEST_SIZE = 1000000;

/* What the model is differentiated by, in the order of the file. */
enum { ALPHAS, MEANS, ICF, X, GAMMA, PARTS };
static const char *const NAMES[PARTS] = {"alphas", "means", "icf", "x", "gamma"};

/* A point has the parts one after the other, and so has a gradient: part p is start[p] .. start[p + 1] - 1. */
typedef struct model {
  size_t rows[PARTS], columns[PARTS], start[PARTS + 1];
  int64_t *offsets[PARTS]; /* of rows */
  double *point;
  int64_t m;
} model;

/* Reading. Functions give whether all went well; where not, they have printed why. */

typedef struct reader {
  const char *path;
  FILE *file;
  long line; /* the number of the line in text */
  char *text;
  size_t room; /* for text */
} reader;

static int wrong(const reader *from, const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "%s:%ld: ", from->path, from->line);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  return 0;
}

/* Reads the next line; `what` it should be, for the message where the file ends. */
static int next_line(reader *from, const char *what) {
  from->line++;
  errno = 0;
  const ssize_t length = getline(&from->text, &from->room, from->file);
  if (length < 0) {
    return errno ? wrong(from, "%s", strerror(errno)) : wrong(from, "the file ends before %s", what);
  }
  return strlen(from->text) == (size_t)length || wrong(from, "there is a NUL character");
}

/* The next word of the line, or null. */
static char *next_word(reader *from, int first) {
  return strtok(first ? from->text : NULL, " \t\r\n\f");
}

static int number(const reader *from, const char *word, double *out) {
  char *end;
  *out = strtod(word, &end);
  /* strtod also takes hexadecimal numbers, infinities and NaN. */
  const int decimal = word[strspn(word, "+-.0123456789eE")] == '\0';
  return (decimal && *end == '\0' && isfinite(*out)) || wrong(from, "`%s` is no number", word);
}

static int integer(const reader *from, const char *word, int64_t *out) {
  char *end;
  errno = 0;
  const long long read = strtoll(word, &end, 10);
  *out = read;
  return (*end == '\0' && errno == 0) || wrong(from, "`%s` is no integer", word);
}

/* Reads a line of so many numbers. */
static int row(reader *from, const char *what, size_t count, double *out) {
  size_t found = 0;
  if (!next_line(from, what)) {
    return 0;
  }
  for (char *word = next_word(from, 1); word; word = next_word(from, 0)) {
    if (found < count && !number(from, word, out + found)) {
      return 0;
    }
    found++;
  }
  return found == count || wrong(from, "here are %zu numbers, %s has %zu", found, what, count);
}

/* Reads the first line. */
static int sizes(reader *from, model *to) {
  int64_t size[3]; /* d, k, n */
  size_t found = 0;
  if (!next_line(from, "d, k and n")) {
    return 0;
  }
  for (char *word = next_word(from, 1); word; word = next_word(from, 0), found++) {
    if (found < 3 && !integer(from, word, &size[found])) {
      return 0;
    }
    if (found < 3 && (size[found] < 1 || size[found] > LARGEST_SIZE)) {
      return wrong(from, "a size is from 1 to %" PRId64 ", not %s", LARGEST_SIZE, word);
    }
  }
  if (found != 3) {
    return wrong(from, "here are %zu numbers, the first line has 3: d, k and n", found);
  }
  const size_t d = (size_t)size[0], k = (size_t)size[1], n = (size_t)size[2];
  const size_t rows[PARTS] = {k, k, k, n, 1}, columns[PARTS] = {1, d, d * (d + 1) / 2, d, 1};
  for (int p = 0; p < PARTS; p++) {
    to->rows[p] = rows[p];
    to->columns[p] = columns[p];
    to->start[p + 1] = to->start[p] + rows[p] * columns[p];
  }
  return 1;
}

/* Reads the rows of a part. Memory grows with what the file has, whatever its first line says. */
static int rows(reader *from, int part, model *to) {
  char what[32];
  size_t end = to->start[part], room = end;
  snprintf(what, sizeof what, "a row of %s", NAMES[part]);
  for (size_t i = 0; i < to->rows[part]; i++) {
    if (room < end + to->columns[part]) {
      room = 2 * end + to->columns[part];
      double *larger = realloc(to->point, room * sizeof *larger);
      if (!larger) {
        return wrong(from, "no memory for %zu numbers", room);
      }
      to->point = larger;
    }
    if (!row(from, what, to->columns[part], to->point + end)) {
      return 0;
    }
    end += to->columns[part];
  }
  to->offsets[part] = malloc((to->rows[part] + 1) * sizeof *to->offsets[part]);
  for (size_t i = 0; to->offsets[part] && i <= to->rows[part]; i++) {
    to->offsets[part][i] = (int64_t)(i * to->columns[part]);
  }
  return to->offsets[part] || wrong(from, "no memory for %zu offsets", to->rows[part] + 1);
}

/* Reads the last line. */
static int prior(reader *from, model *to) {
  if (!next_line(from, "the last line: gamma and m")) {
    return 0;
  }
  char *words[2] = {NULL, NULL};
  size_t found = 0;
  for (char *word = next_word(from, 1); word; word = next_word(from, 0), found++) {
    if (found < 2) {
      words[found] = word;
    }
  }
  if (found != 2) {
    return wrong(from, "here are %zu numbers, the last line has 2: gamma and m", found);
  }
  double *larger = realloc(to->point, to->start[PARTS] * sizeof *larger);
  if (!larger) {
    return wrong(from, "no memory for %zu numbers", to->start[PARTS]);
  }
  to->point = larger;
  return number(from, words[0], to->point + to->start[GAMMA]) && integer(from, words[1], &to->m);
}

/* What is left of the file must be white. */
static int end(reader *from) {
  for (int c = fgetc(from->file); c != EOF; c = fgetc(from->file)) {
    if (!strchr(" \t\r\n\f", c) || c == '\0') {
      return wrong(from, "something follows the last line");
    }
  }
  return !ferror(from->file) || wrong(from, "%s", strerror(errno));
}

static int read_model(const char *path, model *to) {
  reader from = {path, fopen(path, "r"), 0, NULL, 0};
  if (!from.file) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 0;
  }
  int good = sizes(&from, to);
  for (int p = ALPHAS; good && p < GAMMA; p++) {
    good = rows(&from, p, to);
  }
  good = good && prior(&from, to) && end(&from);
  free(from.text);
  fclose(from.file);
  return good;
}

static void free_model(model *of) {
  free(of->point);
  for (int p = 0; p < PARTS; p++) {
    free(of->offsets[p]);
  }
}

/* Calling. Functions give the status of the call. */

static lmc_jagged_f64 jagged(const model *of, int part, double *point) {
  return (lmc_jagged_f64){point + of->start[part], of->offsets[part], (int64_t)of->rows[part]};
}

static int32_t value(const model *of, lmc_context *ctx, double *point, double *out) {
  const lmc_tensor_f64_1 alphas = {point, {(int64_t)of->rows[ALPHAS]}};
  const lmc_jagged_f64 means = jagged(of, MEANS, point), icf = jagged(of, ICF, point), x = jagged(of, X, point);
  return gmm(ctx, &alphas, &means, &icf, &x, point[of->start[GAMMA]], of->m, out);
}

static int32_t gradient(const model *of, lmc_context *ctx, double *out) {
  double *point = of->point;
  const lmc_tensor_f64_1 alphas = {point, {(int64_t)of->rows[ALPHAS]}};
  const lmc_jagged_f64 means = jagged(of, MEANS, point), icf = jagged(of, ICF, point), x = jagged(of, X, point);
  lmc_tensor_f64_1 to_alphas = {out, {(int64_t)of->rows[ALPHAS]}};
  lmc_jagged_f64 to_means = jagged(of, MEANS, out), to_icf = jagged(of, ICF, out), to_x = jagged(of, X, out);
  return rev_gmm(ctx, &alphas, &means, &icf, &x, point[of->start[GAMMA]], of->m, 1.0, &to_alphas, &to_means,
                 &to_icf, &to_x, out + of->start[GAMMA]);
}

/* The central difference along the direction v with v_j = sin(j + 1). */
static int32_t difference(const model *of, lmc_context *ctx, double *moved, double *out) {
  const double h = 6e-6; /* balances truncation against rounding */
  double at[2];
  for (int side = 0; side < 2; side++) {
    for (size_t j = 0; j < of->start[PARTS]; j++) {
      moved[j] = of->point[j] + (side ? -h : h) * sin((double)j + 1.0);
    }
    const int32_t status = value(of, ctx, moved, &at[side]);
    if (status != LMC_OK) {
      return status;
    }
  }
  *out = (at[0] - at[1]) / (2.0 * h);
  return LMC_OK;
}

/* Printing. */

static void print_summary(const model *of, const double *g) {
  printf("gradient   numbers                norm             largest\n");
  for (int p = 0; p < PARTS; p++) {
    double squares = 0.0, largest = 0.0;
    for (size_t j = of->start[p]; j < of->start[p + 1]; j++) {
      squares += g[j] * g[j];
      largest = fmax(largest, fabs(g[j]));
    }
    printf("%-8s %9zu %19.9f %19.9f\n", NAMES[p], of->start[p + 1] - of->start[p], sqrt(squares), largest);
  }
}

static void print_all(const model *of, const double *g) {
  for (int p = 0; p < PARTS; p++) {
    for (size_t i = 0; i < of->rows[p]; i++) {
      printf("%s %zu:", NAMES[p], i);
      for (size_t j = 0; j < of->columns[p]; j++) {
        printf(" %.12f", g[of->start[p] + i * of->columns[p] + j]);
      }
      printf("\n");
    }
  }
}

/* Prints the derivative along the direction, twice; whether the two agree. */
static int print_derivative(const model *of, const double *g, double by_difference) {
  double by_gradient = 0.0, scale = 1.0;
  for (size_t j = 0; j < of->start[PARTS]; j++) {
    const double term = g[j] * sin((double)j + 1.0);
    by_gradient += term;
    scale += fabs(term);
  }
  printf("along a direction: %.6f by the gradient, %.6f by a difference\n", by_gradient, by_difference);
  /* Not `>`: a NaN agrees with nothing. */
  return fabs(by_gradient - by_difference) <= LIMIT * scale;
}

/* Whether all went well with a file; where not, it is printed why. */
static int run(const char *path, int all) {
  model of = {0};
  lmc_context context = {0};
  double f, by_difference, *g = NULL, *moved = NULL;
  int good = read_model(path, &of);
  if (good) {
    g = calloc(of.start[PARTS], sizeof *g);
    moved = calloc(of.start[PARTS], sizeof *moved);
    good = g && moved;
    if (!good) {
      fprintf(stderr, "%s: no memory for two more points\n", path);
    }
  }
  if (good) {
    int32_t status;
    good = (status = value(&of, &context, of.point, &f)) == LMC_OK &&
           (status = gradient(&of, &context, g)) == LMC_OK &&
           (status = difference(&of, &context, moved, &by_difference)) == LMC_OK;
    if (!good) {
      const lmc_error *error = &context.error;
      fprintf(stderr, "%s: status %d, %s:%d:%d: %s\n", path, (int)status, error->file, (int)error->line,
              (int)error->column, error->message);
    }
  }
  if (good) {
    printf("%s: d = %zu, k = %zu, n = %zu: %.12f\n", path, of.columns[X], of.rows[MEANS], of.rows[X], f);
    print_summary(&of, g);
    if (all) {
      print_all(&of, g);
    }
    good = print_derivative(&of, g, by_difference);
    if (!good) {
      fprintf(stderr, "%s: the gradient disagrees with the difference by more than %g\n", path, LIMIT);
    }
  }
  lmc_context_free(&context);
  free(moved);
  free(g);
  free_model(&of);
  return good;
}

int main(int argc, char **argv) {
  const int all = argc > 1 && strcmp(argv[1], "--all") == 0;
  int good = 1;
  if (argc < 2 + all) {
    fprintf(stderr, "usage: gmm [--all] FILE...\n");
    return 2;
  }
  for (int i = 1 + all; i < argc; i++) {
    good = run(argv[i], all) && good;
  }
  return !good;
}
