// One load over the C interface of any library that has it: random inserts, overwrites, then reads and writes mixed.
// Prints, for each of the three, its speed, the latencies of writes, what was written and stored, and the memory.
//
//   cc -O2 dev/interop/lsm_at_scale.c -o lsm_at_scale -ldl -lpthread
//   ./lsm_at_scale LIBRARY DIRECTORY leveled|universal|blobs|direct KEYS [MEGABYTES [PACE]]
//
// Keys have 16 bytes, values 100 to 1,000, of which half compresses; LZ4, two background jobs, a cache of 256 MB,
// Bloom filters of 10 bits, all else as the library has it, but for MEGABYTES: the size of a memtable and of a table,
// a quarter of the first level's (64). `direct`: blobs that are written before they are logged. PACE: operations a
// second at most, so that a faster library gets no more work than a slower one. Every value read is checked. The
// directory must not exist before.
//
// Columns: seconds until the last call returned and until background work was done; p50, p99, p99.9 and the longest of
// a write in microseconds; seconds spent in writes of more than a millisecond; bytes written by the process per byte
// put; bytes in the directory per byte of live keys and values, at the end and at a mean of 64 moments before; most
// anonymous memory, and how much of the heap is free at the end (glibc). The last line has the bytes written and the
// mean of bytes stored of all three: those of one part depend on where in it the largest merge falls.
#include <dirent.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "c_library.h"

enum { KEY = 16, LONGEST = 1000, MOMENTS = 64 };

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void) { return splitmix(&random_state); }

static void make_key(char* key, uint64_t number) {
  char text[KEY + 1];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)number);
  memcpy(key, text, KEY);
}

// The value of a key and a generation: its first half is random, the second repeats a byte.
static size_t make_value(char* value, uint64_t number, uint32_t generation) {
  uint64_t state = mixed(number * 1000003 + generation);
  size_t length = 100 + state % (LONGEST - 100 + 1);
  memcpy(value, &generation, 4);
  for (size_t at = 4; at < length; at += 8) {
    if (at < length / 2) state = mixed(state + at);
    uint64_t word = at < length / 2 ? state : 0x6161616161616161ull;
    memcpy(value + at, &word, length - at < 8 ? length - at : 8);
  }
  return length;
}

static uint64_t number_in(const char* path, const char* name) {
  FILE* file = fopen(path, "r");
  char line[256];
  unsigned long long number = 0;
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), "%llu", &number);
  if (file) fclose(file);
  return number;
}

static uint64_t directory_bytes(const char* directory) {
  DIR* opened = opendir(directory);
  uint64_t bytes = 0;
  for (struct dirent* entry; opened && (entry = readdir(opened));) {
    char path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (strncmp(entry->d_name, "LOG", 3) && !stat(path, &found) && S_ISREG(found.st_mode)) bytes += found.st_size;
  }
  if (opened) closedir(opened);
  return bytes;
}

static void* open_database(const char* directory, const char* style, uint64_t bytes) {
  USES(void*, options_create, void);
  USES(void*, open, void*, const char*, char**);
  USES(void, options_set_create_if_missing, void*, unsigned char);
  USES(void, options_set_compression, void*, int);
  USES(void, options_set_write_buffer_size, void*, size_t);
  USES(void, options_set_target_file_size_base, void*, uint64_t);
  USES(void, options_set_max_bytes_for_level_base, void*, uint64_t);
  USES(void, options_set_max_background_jobs, void*, int);
  USES(void, options_set_compaction_style, void*, int);
  USES(void, options_set_enable_blob_files, void*, unsigned char);
  USES(void, options_set_min_blob_size, void*, uint64_t);
  USES(void, options_set_blob_compression_type, void*, int);
  USES(void, options_set_enable_blob_gc, void*, unsigned char);
  USES(void, options_set_enable_blob_direct_write, void*, unsigned char);
  USES(void, options_set_allow_concurrent_memtable_write, void*, unsigned char);
  USES(void*, block_based_options_create, void);
  USES(void, block_based_options_set_block_cache, void*, void*);
  USES(void, block_based_options_set_filter_policy, void*, void*);
  USES(void*, cache_create_lru, size_t);
  USES(void*, filterpolicy_create_bloom, double);
  USES(void, options_set_block_based_table_factory, void*, void*);
  void *options = options_create(), *table = block_based_options_create();
  options_set_create_if_missing(options, 1);
  options_set_compression(options, 4);
  options_set_write_buffer_size(options, bytes);
  options_set_target_file_size_base(options, bytes);
  options_set_max_bytes_for_level_base(options, 4 * bytes);
  options_set_max_background_jobs(options, 2);
  if (!strcmp(style, "universal")) options_set_compaction_style(options, 1);
  int is_direct = !strcmp(style, "direct");
  if (is_direct) {
    options_set_enable_blob_direct_write(options, 1);
    options_set_allow_concurrent_memtable_write(options, 0);
  }
  if (!strcmp(style, "blobs") || is_direct) {
    options_set_enable_blob_files(options, 1);
    options_set_min_blob_size(options, 256);
    options_set_blob_compression_type(options, 4);
    options_set_enable_blob_gc(options, 1);
  }
  block_based_options_set_block_cache(table, cache_create_lru(256u << 20));
  block_based_options_set_filter_policy(table, filterpolicy_create_bloom(10));
  options_set_block_based_table_factory(options, table);
  char* error = NULL;
  void* database = open(options, directory, &error);
  if (error) fail(error);
  return database;
}

typedef struct {
  void* database;
  const char* directory;
  uint64_t keys;
  uint8_t* generations;  // of each key; 0 before its first
  uint64_t live_bytes;
  uint64_t pace;  // operations a second; 0: as many as there can be
  uint64_t put_bytes, written_bytes;
  double stored, moments;  // sum of what is stored per live byte, and how many moments it is of
} Load;

static double stored_per_byte(const Load* load) {
  return (double)directory_bytes(load->directory) / load->live_bytes;
}

// Sleeps until the operation is due.
static void keep_pace(const Load* load, double begin, uint64_t done) {
  if (!load->pace || done % 16) return;
  double early = (double)done / load->pace - (seconds() - begin);
  if (early > 0.0001) usleep(early * 1e6);
}

static void run(Load* load, const char* name, uint64_t operations, unsigned reads_of_100) {
  USES(void, put, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(void*, get_pinned, void*, void*, const char*, size_t, char**);
  USES(const char*, pinnableslice_value, void*, size_t*);
  USES(void, pinnableslice_destroy, void*);
  USES(void*, writeoptions_create, void);
  USES(void*, readoptions_create, void);
  USES(void*, wait_for_compact_options_create, void);
  USES(void, wait_for_compact_options_set_flush, void*, unsigned char);
  USES(void, wait_for_compact, void*, void*, char**);
  void *writing = writeoptions_create(), *reading = readoptions_create(), *waiting = wait_for_compact_options_create();
  wait_for_compact_options_set_flush(waiting, 1);
  static Latencies latencies;
  memset(&latencies, 0, sizeof latencies);
  double stalled = 0;
  char *error = NULL, key[KEY], value[LONGEST + 8], expected[LONGEST + 8];
  uint64_t put_bytes = 0, most_memory = 0, before = number_in("/proc/self/io", "write_bytes:");
  double stored_before = load->stored, moments_before = load->moments;
  double begin = seconds();
  for (uint64_t done = 0; done < operations; done++) {
    keep_pace(load, begin, done);
    if (done % (operations / MOMENTS + 1) == operations / MOMENTS) {
      load->stored += stored_per_byte(load);
      load->moments++;
    }
    uint64_t number = next_random() % load->keys;
    make_key(key, number);
    if (next_random() % 100 < reads_of_100) {
      void* found = get_pinned(load->database, reading, key, KEY, &error);
      if (error) fail(error);
      if (!found != !load->generations[number]) fail("a key is missing, or there without having been put");
      size_t length = 0;
      if (!found) continue;
      const char* bytes = pinnableslice_value(found, &length);
      size_t wanted = make_value(expected, number, load->generations[number]);
      if (length != wanted || memcmp(bytes, expected, length)) fail("a wrong value");
      pinnableslice_destroy(found);
      continue;
    }
    if (load->generations[number]) load->live_bytes -= KEY + make_value(value, number, load->generations[number]);
    if (!++load->generations[number]) load->generations[number] = 1;
    size_t length = make_value(value, number, load->generations[number]);
    uint64_t from = now_ns();
    put(load->database, writing, key, KEY, value, length, &error);
    uint64_t taken_ns = now_ns() - from;
    record(&latencies, taken_ns);
    if (taken_ns > 1000000) stalled += (double)taken_ns * 1e-9;
    if (error) fail(error);
    put_bytes += KEY + length;
    load->live_bytes += KEY + length;
    if (done % 65536 == 0) {
      uint64_t memory = number_in("/proc/self/status", "RssAnon:");
      if (memory > most_memory) most_memory = memory;
    }
  }
  double taken = seconds() - begin;
  wait_for_compact(load->database, waiting, &error);
  if (error) fail(error);
  struct mallinfo2 heap = mallinfo2();
  uint64_t written_bytes = number_in("/proc/self/io", "write_bytes:") - before;
  load->put_bytes += put_bytes;
  load->written_bytes += written_bytes;
  printf("%-10s %8.1f s %8.1f s %9.0f op/s  p50 %6.1f p99 %7.1f p99.9 %8.1f max %9.0f us  stalled %6.2f s  WAF %5.2f  "
         "SAF %5.3f mean %5.3f  %5llu MB, heap %4zu MB of which free %4zu\n",
         name, taken, seconds() - begin, operations / taken, percentile_us(&latencies, 0.5),
         percentile_us(&latencies, 0.99), percentile_us(&latencies, 0.999), (double)latencies.longest_ns * 1e-3, stalled,
         (double)written_bytes / put_bytes, stored_per_byte(load),
         (load->stored - stored_before) / (load->moments - moments_before), (unsigned long long)most_memory / 1024,
         heap.arena >> 20, heap.fordblks >> 20);
  fflush(stdout);
}

int main(int count, char** arguments) {
  if (count < 5) fail("usage: lsm_at_scale LIBRARY DIRECTORY leveled|universal|blobs|direct KEYS [MEGABYTES [PACE]]");
  load_library(arguments[1]);
  USES(void, close, void*);
  uint64_t keys = strtoull(arguments[4], NULL, 10), megabytes = count > 5 ? strtoull(arguments[5], NULL, 10) : 64;
  uint8_t* generations = calloc(keys, 1);
  if (!generations) fail("no memory for the generations");
  Load load = {open_database(arguments[2], arguments[3], megabytes << 20), arguments[2], keys, generations, 0,
               count > 6 ? strtoull(arguments[6], NULL, 10) : 0, 0, 0, 0, 0};
  // The program's own memory is part of what is reported: one byte a key.
  run(&load, "fillrandom", keys, 0);
  run(&load, "overwrite", keys, 0);
  run(&load, "mixed", keys / 2, 50);
  printf("all        WAF %5.2f  SAF mean %5.3f\n", (double)load.written_bytes / load.put_bytes,
         load.stored / load.moments);
  close(load.database);
  return 0;
}
