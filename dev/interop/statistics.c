// What a lookup costs that is counted, by a library with RocksDB's C interface. What is counted: `interop counts`.
//
//   cc -O2 dev/interop/statistics.c -o statistics -ldl
//   ./statistics LIBRARY DIRECTORY fill                   100,000 keys with values of 100, in one level
//   ./statistics LIBRARY DIRECTORY get LOOKUPS LEVEL PERF reads them; LEVEL of statistics, -1 for none; PERF level, 0 for
//                                                         the library's own
//
// The cost of a lookup is the difference of two runs of `get` under callgrind. The directory of `fill` must not
// exist before.
#include "c_library.h"

enum { KEYS = 100000, NO_COMPRESSION = 0 };

static void check(const char* error) {
  if (error) fail(error);
}

int main(int count, char** arguments) {
  if (count != 4 && count != 7) fail("see the head of the source");
  load_library(arguments[1]);
  USES(void*, options_create, void);
  USES(void, options_set_create_if_missing, void*, unsigned char);
  USES(void, options_set_compression, void*, int);
  USES(void, options_enable_statistics, void*);
  USES(void, options_set_statistics_level, void*, int);
  USES(void*, block_based_options_create, void);
  USES(void*, filterpolicy_create_bloom_full, double);
  USES(void, block_based_options_set_filter_policy, void*, void*);
  USES(void, options_set_block_based_table_factory, void*, void*);
  USES(void*, open, void*, const char*, char**);
  USES(void*, writeoptions_create, void);
  USES(void*, readoptions_create, void);
  USES(void*, flushoptions_create, void);
  USES(void, put, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(char*, get, void*, void*, const char*, size_t, size_t*, char**);
  USES(void, flush, void*, void*, char**);
  USES(void, compact_range, void*, const char*, size_t, const char*, size_t);
  USES(void, set_perf_level, int);
  USES(void, free, void*);
  USES(void, close, void*);

  int lookups = count == 7 ? atoi(arguments[4]) : 0, level = count == 7 ? atoi(arguments[5]) : -1;
  void* all = options_create();
  options_set_create_if_missing(all, 1);
  void* table = block_based_options_create();
  block_based_options_set_filter_policy(table, filterpolicy_create_bloom_full(10));
  options_set_block_based_table_factory(all, table);
  options_set_compression(all, NO_COMPRESSION);
  if (level >= 0) {
    options_enable_statistics(all);
    options_set_statistics_level(all, level);
  }
  char *error = NULL, key[32], value[101];
  void* db = open(all, arguments[2], &error);
  check(error);
  if (count == 7 && atoi(arguments[6])) set_perf_level(atoi(arguments[6]));
  void *write = writeoptions_create(), *read = readoptions_create();
  size_t length;
  memset(value, 'x', sizeof value);
  for (int number = 0; count == 4 && number < KEYS; number++) {
    snprintf(key, sizeof key, "%016d", number);
    put(db, write, key, 16, value, 100, &error);
  }
  if (count == 4) {
    flush(db, flushoptions_create(), &error);
    compact_range(db, NULL, 0, NULL, 0);
  }
  // A key of each block, then keys at random.
  for (int number = 0; count == 7 && number < KEYS; number += 20) {
    snprintf(key, sizeof key, "%016d", number);
    free(get(db, read, key, 16, &length, &error));
  }
  uint64_t state = 12345;
  for (int lookup = 0; lookup < lookups; lookup++) {
    uint64_t number = splitmix(&state) % KEYS;
    memset(key, '0', 16);
    for (int place = 15; number; place--, number /= 10) key[place] = (char)('0' + number % 10);
    free(get(db, read, key, 16, &length, &error));
  }
  check(error);
  close(db);
  return 0;
}
