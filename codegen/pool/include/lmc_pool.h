/* Threads for functions that lmc compiled: link liblmc_pool, and set the threads of a context.

       lmc_pool *pool = lmc_pool_create(4);
       lmc_context ctx = {0};
       ctx.threads = lmc_pool_threads(pool);
       ...
       lmc_pool_free(pool);

   Contexts may share a pool, also those of calls that run at the same time: then one of them has the threads, the
   others do their work alone. */

#ifndef LMC_POOL_H
#define LMC_POOL_H

#include <stdint.h>

#ifndef LMC_THREADS
#define LMC_THREADS

/* As in the header of compiled functions. */
typedef struct lmc_threads {
  void (*parallel_for)(void *pool, void (*body)(void *env, int64_t chunk, int64_t worker), void *env, int64_t chunks);
  void *pool;
  int64_t workers;
} lmc_threads;

#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lmc_pool lmc_pool;

/* A pool in which so many threads work, the calling one included; 0: one for each processor. Null where the system
   refuses them, or the number is negative. */
lmc_pool *lmc_pool_create(int64_t threads);

/* What to set in a context, valid until the pool is freed. Serial for null. */
lmc_threads lmc_pool_threads(lmc_pool *pool);

/* Ends the threads. No call may be using them. Null is fine. */
void lmc_pool_free(lmc_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
