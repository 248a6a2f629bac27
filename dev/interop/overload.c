// overload: writers outrun compaction, in any library with the C interface of RocksDB.
//
//   cc -O2 dev/interop/overload.c -o overload -ldl -lpthread
//   ./overload LIBRARY DIRECTORY [name=value ...]
//
// Threads put random keys as fast as they may while flush and compaction are held back by a rate limiter, and with
// manager_mb=N all memtables together by a write buffer manager that stops writers. Prints what
// was written in each second, the latencies of puts, the longest time without any put that ended, and the counts of
// stalls that the library tells by property. The directory is removed first.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "c_library.h"

typedef uint64_t u64;
enum { SECONDS_MAX = 3600 };

static long duration = 120, threads = 2, value_bytes = 1000, rate_mb = 16, buffer_mb = 8, buffers = 2, base_mb = 32;
static long soft_mb = 256, hard_mb = 512, slowdown = 20, stop = 36, jobs = 2, keys = 4000000, delayed_mb = 16, quiet = 0, manager_mb = 0;
static struct { const char *name; long *value; } flags[] = {
    {"seconds", &duration}, {"threads", &threads}, {"value", &value_bytes}, {"rate_mb", &rate_mb},
    {"buffer_mb", &buffer_mb}, {"buffers", &buffers}, {"base_mb", &base_mb}, {"soft_mb", &soft_mb},
    {"hard_mb", &hard_mb}, {"slowdown", &slowdown}, {"stop", &stop}, {"jobs", &jobs}, {"keys", &keys},
    {"delayed_mb", &delayed_mb}, {"quiet", &quiet}, {"manager_mb", &manager_mb}};

#define CALL(type, name, ...) ((type)function(name))(__VA_ARGS__)

static u64 now_us(void) { return now_ns() / 1000; }

static void *db, *write_options;
static void (*put)(void *, void *, const char *, size_t, const char *, size_t, char **);
static _Atomic u64 per_second[SECONDS_MAX + 1], last_end, longest_gap, gap_end;
static u64 begin;
static _Atomic int over;

struct writer { pthread_t thread; u64 seed, puts; Latencies latencies; };

static void *write_all(void *argument) {
  struct writer *w = argument;
  char *value = malloc((size_t)value_bytes + 8), key[24];
  while (!over) {
    for (long i = 0; i < value_bytes; i += 8) { u64 r = splitmix(&w->seed); memcpy(value + i, &r, 8); }
    snprintf(key, sizeof key, "%016llu", (unsigned long long)(splitmix(&w->seed) % (u64)keys));
    char *error = NULL;
    u64 before = now_us();
    put(db, write_options, key, 16, value, (size_t)value_bytes, &error);
    u64 after = now_us();
    if (error) { fprintf(stderr, "put: %s\n", error); exit(1); }
    u64 second = (after - begin) / 1000000;
    if (second <= SECONDS_MAX) per_second[second]++;
    u64 gap = after - atomic_exchange(&last_end, after);
    if ((int64_t)gap > 0 && gap > longest_gap) { longest_gap = gap; gap_end = after - begin; }
    w->puts++;
    record(&w->latencies, (after - before) * 1000);
  }
  free(value);
  return NULL;
}

static int compare(const void *a, const void *b) {
  u64 x = *(const u64 *)a, y = *(const u64 *)b;
  return x < y ? -1 : x > y;
}

int main(int count, char **arguments) {
  if (count < 3) { fprintf(stderr, "overload LIBRARY DIRECTORY [name=value ...]\n"); return 2; }
  for (int i = 3; i < count; i++) {
    char *equals = strchr(arguments[i], '=');
    int known = 0;
    for (size_t k = 0; equals && k < sizeof flags / sizeof *flags; k++)
      if (!strncmp(arguments[i], flags[k].name, (size_t)(equals - arguments[i])) && !flags[k].name[equals - arguments[i]])
        *flags[k].value = atol(equals + 1), known = 1;
    if (!known) { fprintf(stderr, "no such setting: %s\n", arguments[i]); return 2; }
  }
  load_library(arguments[1]);
  char command[4096], *error = NULL;
  snprintf(command, sizeof command, "rm -rf '%s'", arguments[2]);
  if (system(command)) return 2;
  void *options = CALL(void *(*)(void), "options_create");
#define SET(name, type, value) CALL(void (*)(void *, type), "options_set_" name, options, (type)(value))
  SET("create_if_missing", unsigned char, 1);
  SET("write_buffer_size", size_t, buffer_mb << 20);
  SET("max_write_buffer_number", int, buffers);
  SET("max_bytes_for_level_base", u64, base_mb << 20);
  SET("target_file_size_base", u64, buffer_mb << 20);
  SET("level0_slowdown_writes_trigger", int, slowdown);
  SET("level0_stop_writes_trigger", int, stop);
  SET("soft_pending_compaction_bytes_limit", size_t, soft_mb << 20);
  SET("hard_pending_compaction_bytes_limit", size_t, hard_mb << 20);
  SET("max_background_jobs", int, jobs);
  SET("compression", int, 0);

  if (rate_mb) {
    void *limiter = CALL(void *(*)(int64_t, int64_t, int32_t), "ratelimiter_create", rate_mb << 20, 100000, 10);
    CALL(void (*)(void *, void *), "options_set_ratelimiter", options, limiter);
  }
  if (manager_mb) {
    void *manager = CALL(void *(*)(size_t, bool), "write_buffer_manager_create", (size_t)manager_mb << 20, true);
    CALL(void (*)(void *, void *), "options_set_write_buffer_manager", options, manager);
  }
  void *text = options;
  if (delayed_mb) {
    char line[64];
    snprintf(line, sizeof line, "delayed_write_rate=%ld", delayed_mb << 20);
    text = CALL(void *(*)(void), "options_create");
    CALL(void (*)(void *, const char *, void *, char **), "get_options_from_string", options, line, text, &error);
    if (error) { fprintf(stderr, "options: %s\n", error); return 1; }
  }
  db = CALL(void *(*)(void *, const char *, char **), "open", text, arguments[2], &error);
  if (error) { fprintf(stderr, "open: %s\n", error); return 1; }
  write_options = CALL(void *(*)(void), "writeoptions_create");
  put = function("put");
  struct writer *writers = calloc((size_t)threads, sizeof *writers);
  begin = now_us();
  last_end = begin;
  for (long i = 0; i < threads; i++) {
    writers[i].seed = (u64)i + 1;
    pthread_create(&writers[i].thread, NULL, write_all, &writers[i]);
  }
  while (now_us() - begin < (u64)duration * 1000000) usleep(10000);
  over = 1;
  u64 puts = 0;
  static Latencies all;
  for (long i = 0; i < threads; i++) {
    pthread_join(writers[i].thread, NULL);
    puts += writers[i].puts;
    add_latencies(&all, &writers[i].latencies);
  }
  u64 sorted[SECONDS_MAX], zero = 0;
  for (long s = 0; s < duration; s++) {
    sorted[s] = per_second[s];
    zero += !per_second[s];
    if (!quiet) printf("%llu%s", (unsigned long long)per_second[s], s % 20 == 19 || s + 1 == duration ? "\n" : " ");
  }
  qsort(sorted, (size_t)duration, sizeof *sorted, compare);
  printf("puts/s %llu; seconds: least %llu, p10 %llu, median %llu, most %llu, at zero %llu; longest without a put %.3f s (at %.1f s)\n",
         (unsigned long long)(puts / (u64)duration), (unsigned long long)sorted[0], (unsigned long long)sorted[duration / 10],
         (unsigned long long)sorted[duration / 2], (unsigned long long)sorted[duration - 1], (unsigned long long)zero,
         (double)longest_gap / 1e6, (double)gap_end / 1e6);
  double shares[] = {0.5, 0.99, 0.999, 0.9999};
  printf("us: ");
  for (int i = 0; i < 4; i++) printf("p%g %.0f, ", shares[i] * 100, percentile_us(&all, shares[i]));
  printf("max %.0f\n", (double)all.longest_ns * 1e-3);
  const char *properties[] = {"rocksdb.cf-write-stall-stats", "rocksdb.estimate-pending-compaction-bytes",
                              "rocksdb.actual-delayed-write-rate", "rocksdb.num-files-at-level0"};
  for (int i = 0; i < 4; i++) {
    char *told = CALL(char *(*)(void *, const char *), "property_value", db, properties[i]);
    if (told) printf("%s: %s%s", properties[i], told, told[strlen(told) - 1] == '\n' ? "" : "\n");
  }
  fflush(stdout);
  _exit(0);
}
