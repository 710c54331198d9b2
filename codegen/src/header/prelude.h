/* One rule for every function:

       int32_t f(lmc_context *ctx, inputs..., outputs...);

   The result is 0 when all went well, else the error's code. Float is double, Integer int64_t, Bool
   uint8_t (0 or 1; any other byte counts as 1), String a NUL-terminated UTF-8 text; a tuple is its
   components in order, unit is nothing.

   Memory: outputs point to storage of the caller, one element each, not null, and are written only when
   the result is 0. Text outputs are constants of the library, or texts that came in.

   Threads: there is no global state. Calls from several threads are safe, each with its own context or
   with none (a null pointer). Nothing aborts, prints or leaks. */

#ifndef LMC_CONTEXT
#define LMC_CONTEXT

#include <stdint.h>

/* Error codes, and what error.number holds. */
enum {
  LMC_OK = 0,
  LMC_ASSERT_FAILED = 1,     /* nothing */
  LMC_DIVISION_BY_ZERO = 2,  /* the dividend */
  LMC_RECURSION_TOO_DEEP = 3 /* the depth of calls reached */
};

/* Kinds of printed values. */
enum {
  LMC_FLOAT = 0,   /* in number */
  LMC_INTEGER = 1, /* in integer */
  LMC_BOOL = 2,    /* in integer: 0 or 1 */
  LMC_TEXT = 3     /* in text: NUL-terminated UTF-8, valid as long as the library is loaded */
};

/* Takes a value that the program prints. Only the parameter that kind names counts. */
typedef void (*lmc_write)(void *user, int32_t kind, double number, int64_t integer, const char *text);

/* The last error. Valid after a call that returned its code; not touched by calls that return 0. */
typedef struct lmc_error {
  int32_t code;
  int32_t line;        /* in the source, from 1; 0 when not known */
  int32_t column;      /* in characters, from 1; 0 when not known */
  uint32_t start;      /* byte offsets of the place in the source */
  uint32_t end;
  uint32_t reserved;   /* 0 */
  int64_t number[2];
  const char *message; /* constants of the library */
  const char *file;
} lmc_error;

/* What a call may use. Set it to zero bytes, then set what is wanted. Owned by the caller. */
typedef struct lmc_context {
  void *user;           /* passed to write */
  lmc_write write;      /* null: what is printed is dropped */
  uint64_t stack_bytes; /* the stack that recursion may use; 0: one MiB */
  void *reserved[5];    /* null */
  lmc_error error;
} lmc_context;

#endif

#ifdef __cplusplus
extern "C" {
#endif
