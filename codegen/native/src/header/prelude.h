/* One rule for every function:

       int32_t f(lmc_context *ctx, inputs..., outputs...);

   The result is 0 when all went well, else the error's code. Float is double, Integer int64_t, Bool
   uint8_t (0 or 1; any other byte counts as 1), String a NUL-terminated UTF-8 text; a tuple is its
   components in order, unit is nothing.

   Tensors are structures (below, those that are used): the data, contiguous, the last index running fastest,
   and the size in each dimension. A tensor of tuples is one such structure for each component, all of one size;
   a tensor of units one without data. A vector of vectors has the data of all rows one after the other, and
   offsets, one more than it has rows: row i is data[offsets[i]] .. data[offsets[i + 1] - 1]. A vector of tensors
   with d > 1 dimensions has the same, and sizes, d numbers for each of them: element i has the size
   sizes[d * i] .. sizes[d * i + d - 1], whose product is offsets[i + 1] - offsets[i].

   Memory: inputs are only read, and must not overlap with outputs. Outputs point to storage of the caller, not
   null, and are written only when the result is 0. A scalar's is one element. A tensor's is a structure: set its
   data, sizes and offsets to those of your storage, and the result is copied there when it has these very sizes,
   else the call fails. Set data to null, and the result lies in the context's arena, until the next call with
   that context: data, sizes and offsets are set. Without a context, there must be storage. Gradients have the
   sizes of what they are gradients of. Text outputs are constants of the library, or texts that came in.

   Workspace: f_workspace(ctx, inputs..., &bytes), for each function f with tensors, tells how many bytes of arena a call
   of f with these inputs takes, when its results lie there, too; results with storage take no more. An arena
   of so many bytes that starts at a multiple of 16 suffices. It does the part of the work that sizes depend on, mostly
   a small one; all of it where sizes depend on all, or where f passes tensors to functions of C. What memory it needs
   itself it gives back; what f would print is dropped. Errors that follow from sizes are those of f; for others,
   only the call may find them. Of the context, which gets the error and may be null, nothing else is used but stack_bytes
   and threads: with other threads a call may take more.

   Threads: there is no global state. Calls from several threads are safe, each with its own context or
   with none (a null pointer). Nothing aborts, prints or leaks. A call works on one thread, unless its context has
   parallel_for: then long loops are run in chunks. The chunks of a loop depend on what is computed, not on who
   runs them, and what they give is put together in their order: results are the same, to the bit, and errors, too,
   with any number of threads, or none; but memory is exhausted earlier, since each worker needs its own. */

#ifndef LMC_CONTEXT
#define LMC_CONTEXT

#include <stdint.h>

/* Error codes, and what error.number holds: error.count numbers. A size or an index of a tensor with d
   dimensions is d numbers. */
enum {
  LMC_OK = 0,
  LMC_ASSERT_FAILED = 1,      /* nothing */
  LMC_DIVISION_BY_ZERO = 2,   /* the dividend */
  LMC_RECURSION_TOO_DEEP = 3, /* the depth of calls reached */
  LMC_INDEX_OUT_OF_RANGE = 4, /* the index, then the size of the tensor */
  LMC_NEGATIVE_SIZE = 5,      /* the size */
  LMC_SIZE_MISMATCH = 6,      /* two sizes that should be one */
  LMC_TOO_LARGE = 7,          /* the size */
  LMC_SHAPE_UNKNOWN = 8,      /* nothing: a sum over no tensors, of a shape that cannot be known */
  LMC_OUT_OF_MEMORY = 9,      /* the bytes that were asked for, the bytes of the arena that were free */
  LMC_BAD_ARGUMENT = 10,      /* which parameter of the C function, from 1 for the one after ctx */
  LMC_SHAPE_MISMATCH = 11,    /* which parameter, the size of the result, the size of the storage */
  LMC_EXTERNAL_FAILED = 12,   /* what the external function returned */
  LMC_NOT_SPECIALISED = 13    /* the argument or size, and what the function was compiled for */
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
  uint32_t count;      /* how many numbers there are */
  int64_t number[15];
  const char *message; /* constants of the library */
  const char *file;
} lmc_error;

/* Memory for tensors on the way, and for results without storage of the caller. Each call starts to fill it
   anew. While base is null, the first call that needs an arena reserves one, for the context: of its bytes, only
   those that are used take memory, and lmc_context_free gives them back. To use memory of your own, set base and
   bytes; then nothing is ever reserved or freed. */
typedef struct lmc_arena {
  void *base;        /* the first byte */
  uint64_t bytes;    /* the size; while base is null, how much to reserve, and 0 is a quarter of the machine's memory */
  uint64_t peak;     /* how many bytes the last call had in use at once */
  uint64_t owned;    /* not 0: lmc_context_free has something to do */
  uint64_t reserved; /* 0 */
} lmc_arena;

#ifndef LMC_THREADS
#define LMC_THREADS

/* Who runs the chunks of long loops: all zero for nobody but the caller, or what lmc_pool_threads gives, or a function of
   your own. It calls body(env, chunk, worker) once for each chunk from 0 to chunks - 1, in any order and on any
   threads, and returns when all calls have; they are done then for the thread that called it. Calls that run at the same
   time have different workers, from 0 to workers - 1. */
typedef struct lmc_threads {
  void (*parallel_for)(void *pool, void (*body)(void *env, int64_t chunk, int64_t worker), void *env, int64_t chunks);
  void *pool;
  int64_t workers;
} lmc_threads;

#endif

/* What a call may use. Set it to zero bytes, then set what is wanted. Owned by the caller. A
   context serves one call at a time. */
typedef struct lmc_context {
  void *user;           /* passed to write */
  lmc_write write;      /* null: what is printed is dropped */
  uint64_t stack_bytes; /* the stack that recursion may use; 0: one MiB */
  lmc_arena arena;
  lmc_threads threads; /* zero: a call works on one thread */
  lmc_error error;
} lmc_context;

#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Gives back the memory that calls reserved for a context; it can be used again. Null is fine. */
void lmc_context_free(lmc_context *ctx);
