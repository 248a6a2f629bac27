// The database of docs/benchmarks/flash-and-ram.txt over the C interface of any library that has it: plain tables,
// mapped, under a memtable by the hash of prefixes. Prints the time of an operation and the memory of the process.
//
//   cc -O2 dev/interop/flash_and_ram.c -o flash_and_ram -ldl
//   ./flash_and_ram LIBRARY DIRECTORY fill KEYS
//   ./flash_and_ram LIBRARY DIRECTORY read KEYS LOOKUPS
//
// Every lookup must find its key. The directory must not exist before `fill`.
#include <sys/resource.h>

#include "c_library.h"

enum { KEY = 20, VALUE = 100 };

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

// As db_bench makes them: the number first, then zeros.
static void make_key(char* key, uint64_t number) {
  uint64_t big_endian = __builtin_bswap64(number);
  memcpy(key, &big_endian, 8);
  memset(key + 8, '0', KEY - 8);
}

static void* open_database(const char* directory) {
  USES(void*, options_create, void);
  USES(void*, open, void*, const char*, char**);
  USES(void*, slicetransform_create_fixed_prefix, size_t);
  USES(void, options_set_create_if_missing, void*, unsigned char);
  USES(void, options_set_compression, void*, int);
  USES(void, options_set_write_buffer_size, void*, size_t);
  USES(void, options_set_prefix_extractor, void*, void*);
  USES(void, options_set_plain_table_factory, void*, uint32_t, int, double, size_t, size_t, char, unsigned char,
       unsigned char);
  USES(void, options_set_hash_skip_list_rep, void*, size_t, int32_t, int32_t);
  USES(void, options_set_allow_mmap_reads, void*, unsigned char);
  USES(void, options_set_allow_concurrent_memtable_write, void*, unsigned char);
  USES(void, options_set_bloom_locality, void*, uint32_t);
  USES(void, options_set_num_levels, void*, int);
  USES(void, options_set_target_file_size_base, void*, uint64_t);
  USES(void, options_set_max_bytes_for_level_base, void*, uint64_t);
  USES(void, options_set_level0_file_num_compaction_trigger, void*, int);
  USES(void, options_set_max_background_jobs, void*, int);
  USES(void, options_set_max_open_files, void*, int);
  USES(void, options_set_level_compaction_dynamic_level_bytes, void*, unsigned char);
  void* options = options_create();
  options_set_create_if_missing(options, 1);
  options_set_compression(options, 0);
  options_set_write_buffer_size(options, 128u << 20);
  options_set_prefix_extractor(options, slicetransform_create_fixed_prefix(KEY));
  options_set_plain_table_factory(options, KEY, 10, 0.75, 16, 0, 0, 0, 0);
  options_set_hash_skip_list_rep(options, 1 << 20, 4, 4);
  options_set_allow_mmap_reads(options, 1);
  options_set_allow_concurrent_memtable_write(options, 0);
  options_set_bloom_locality(options, 1);
  options_set_num_levels(options, 6);
  options_set_target_file_size_base(options, 2 << 20);
  options_set_max_bytes_for_level_base(options, 1 << 30);
  options_set_level0_file_num_compaction_trigger(options, 8);
  options_set_max_background_jobs(options, 4);
  options_set_max_open_files(options, -1);
  options_set_level_compaction_dynamic_level_bytes(options, 0);
  char* error = NULL;
  void* database = open(options, directory, &error);
  if (error) fail(error);
  return database;
}

int main(int count, char** arguments) {
  if (count < 5) fail("usage: flash_and_ram LIBRARY DIRECTORY fill KEYS | read KEYS LOOKUPS");
  load_library(arguments[1]);
  USES(void, put, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(void*, get_pinned, void*, void*, const char*, size_t, char**);
  USES(void, pinnableslice_destroy, void*);
  USES(void*, writeoptions_create, void);
  USES(void*, readoptions_create, void);
  USES(void*, flushoptions_create, void);
  USES(void, flush, void*, void*, char**);
  USES(void, close, void*);
  void* database = open_database(arguments[2]);
  void *writing = writeoptions_create(), *reading = readoptions_create();
  long keys = atol(arguments[4]), operations = count > 5 ? atol(arguments[5]) : keys;
  char *error = NULL, key[KEY], value[VALUE];
  memset(value, 'x', VALUE);
  double begin = seconds();
  for (long number = 0; number < operations; number++) {
    if (!strcmp(arguments[3], "fill")) {
      make_key(key, number);
      put(database, writing, key, KEY, value, VALUE, &error);
      if (error) fail(error);
      continue;
    }
    make_key(key, next_random() % keys);
    void* found = get_pinned(database, reading, key, KEY, &error);
    if (error) fail(error);
    if (!found) fail("a key is missing");
    pinnableslice_destroy(found);
  }
  double taken = seconds() - begin;
  if (!strcmp(arguments[3], "fill")) {
    flush(database, flushoptions_create(), &error);
    if (error) fail(error);
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%s: %.0f ns, %.0f operations a second; at most %ld MB of memory\n", arguments[3], taken / operations * 1e9,
         operations / taken, used.ru_maxrss / 1024);
  close(database);
  return 0;
}
