/* What the programs of this folder share. */

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the line and the text of a condition that does not hold. */
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);         \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

/* Returns the pages of memory that the process has now. */
static long resident(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages;
}
