// What a seek over a million deletions costs, over the C interface of any library that has it: the first one, the next
// ones, and those behind the compactions that the library begins by itself.
//
//   cc -O2 dev/interop/tombstones.c -o tombstones -ldl -lpthread
//   ./tombstones LIBRARY DIRECTORY
//
// A million keys with values of 100 are written and compacted, one is put behind them, all others are deleted from the
// front. Each line tells of a place where the deletions lie: how long it took to seek to the first key, in
// microseconds, the first time and the median of 101 times after it, and the same for a seek back from the last key.
// Options are those of the library, but for Bloom filters. The directory must not exist before.
#include <unistd.h>

#include "c_library.h"

enum { KEYS = 1000000, TIMES = 101 };

static void check(const char* error) {
  if (error) fail(error);
}

static int by_size(const void* one, const void* other) {
  uint64_t a = *(const uint64_t*)one, b = *(const uint64_t*)other;
  return a < b ? -1 : a > b;
}

static void* db;
static void* read_options;

// Nanoseconds of a seek to the first key, or back from the one before the last.
static uint64_t seek(int is_back) {
  USES(void*, create_iterator, void*, void*);
  USES(void, iter_seek_to_first, void*);
  USES(void, iter_seek_to_last, void*);
  USES(void, iter_prev, void*);
  USES(unsigned char, iter_valid, const void*);
  USES(const char*, iter_key, const void*, size_t*);
  USES(void, iter_destroy, void*);
  uint64_t before = now_ns();
  void* iterator = create_iterator(db, read_options);
  if (is_back) {
    iter_seek_to_last(iterator);
    iter_prev(iterator);
    if (iter_valid(iterator)) fail("a deleted key is shown");
  } else {
    iter_seek_to_first(iterator);
    size_t length;
    if (!iter_valid(iterator) || memcmp(iter_key(iterator, &length), "last", 4)) fail("the last key is not the first");
  }
  iter_destroy(iterator);
  return now_ns() - before;
}

static void tell(const char* where) {
  double shown[4];
  for (int is_back = 0; is_back < 2; is_back++) {
    uint64_t times[TIMES];
    shown[2 * is_back] = (double)seek(is_back) / 1000;
    for (int number = 0; number < TIMES; number++) {
      times[number] = seek(is_back);
      if (times[number] > 20000000 && number >= 10) {
        qsort(times, (size_t)number + 1, sizeof *times, by_size);
        times[TIMES / 2] = times[number / 2];
        break;
      }
      if (number == TIMES - 1) qsort(times, TIMES, sizeof *times, by_size);
    }
    shown[2 * is_back + 1] = (double)times[TIMES / 2] / 1000;
  }
  printf("%-28s first key %9.1f then %9.1f us   back from the last %9.1f then %9.1f us\n", where, shown[0], shown[1],
         shown[2], shown[3]);
  fflush(stdout);
}

int main(int count, char** arguments) {
  if (count != 3) fail("see the head of the source");
  load_library(arguments[1]);
  USES(void*, options_create, void);
  USES(void, options_set_create_if_missing, void*, unsigned char);
  USES(void, options_set_write_buffer_size, void*, size_t);
  USES(void*, block_based_options_create, void);
  USES(void*, filterpolicy_create_bloom_full, double);
  USES(void, block_based_options_set_filter_policy, void*, void*);
  USES(void, options_set_block_based_table_factory, void*, void*);
  USES(void*, open, void*, const char*, char**);
  USES(void*, writeoptions_create, void);
  USES(void*, readoptions_create, void);
  USES(void*, flushoptions_create, void);
  USES(void, put, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(void, delete, void*, void*, const char*, size_t, char**);
  USES(void, flush, void*, void*, char**);
  USES(void, compact_range, void*, const char*, size_t, const char*, size_t);
  USES(void, close, void*);

  void* options = options_create();
  options_set_create_if_missing(options, 1);
  options_set_write_buffer_size(options, 256 << 20);
  void* table = block_based_options_create();
  block_based_options_set_filter_policy(table, filterpolicy_create_bloom_full(10));
  options_set_block_based_table_factory(options, table);
  char *error = NULL, key[32], value[100];
  db = open(options, arguments[2], &error);
  check(error);
  void *write = writeoptions_create(), *flushed = flushoptions_create();
  read_options = readoptions_create();
  memset(value, 'x', sizeof value);
  for (int number = 0; number < KEYS; number++) {
    snprintf(key, sizeof key, "key%08d", number);
    put(db, write, key, strlen(key), value, sizeof value, &error);
    check(error);
  }
  put(db, write, "last", 4, "x", 1, &error);
  check(error);
  compact_range(db, NULL, 0, NULL, 0);
  for (int number = 0; number < KEYS; number++) {
    snprintf(key, sizeof key, "key%08d", number);
    delete (db, write, key, strlen(key), &error);
    check(error);
  }
  tell("in the memtable");
  flush(db, flushed, &error);
  check(error);
  tell("in a table of level 0");
  sleep(5);
  tell("five seconds later");
  close(db);
  db = open(options, arguments[2], &error);
  check(error);
  tell("opened again");
  close(db);
  return 0;
}
