// What listeners are told on one fixed history, over the C interface of any library that has it: run with RocksDB and
// with libferrock_capi.so, the lines must be the same.
//
//   cc dev/interop/event_sequence.c -o event_sequence -ldl -lpthread
//   ./event_sequence LIBRARY DIRECTORY
//
// The directory must not exist before. Numbers of files, jobs and threads, sizes and times are not printed; what is, is
// printed when the call returns that brought it about, so that no thread comes in between. No compaction is automatic.
#include <pthread.h>
#include <unistd.h>

#include "c_library.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[1 << 16];
static size_t used;

static void line(const char* format, ...) __attribute__((format(printf, 1, 2)));

#include <stdarg.h>

static void line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&lock);
  used += (size_t)vsnprintf(lines + used, sizeof lines - used, format, arguments);
  pthread_mutex_unlock(&lock);
  va_end(arguments);
}

static void print(const char* title) {
  pthread_mutex_lock(&lock);
  printf("%s\n%s", title, lines);
  lines[0] = 0;
  used = 0;
  pthread_mutex_unlock(&lock);
}

typedef uint64_t (*number64)(const void*);
typedef uint32_t (*number32)(const void*);
typedef int (*number)(const void*);
typedef size_t (*count)(const void*);
typedef const void* (*part)(const void*);
typedef const char* (*text)(const void*, size_t*);

static const char* name_of(const void* info, const char* function_name) {
  size_t size = 0;
  return ((text)function(function_name))(info, &size);
}

static uint64_t of64(const void* info, const char* name) { return ((number64)function(name))(info); }
static uint32_t of32(const void* info, const char* name) { return ((number32)function(name))(info); }
static int of(const void* info, const char* name) { return ((number)function(name))(info); }
static size_t count_of(const void* info, const char* name) { return ((count)function(name))(info); }

static void on_flush(const char* what, const void* info, int is_over) {
  line("  %s %s reason %u slowdown %d stop %d", what, name_of(info, "flushjobinfo_cf_name"),
       of32(info, "flushjobinfo_flush_reason"), of(info, "flushjobinfo_triggered_writes_slowdown") & 255,
       of(info, "flushjobinfo_triggered_writes_stop") & 255);
  if (is_over) {
    const void* properties = ((part)function("flushjobinfo_table_properties"))(info);
    line(" numbers %llu to %llu entries %llu deletions %llu blobs %zu",
         (unsigned long long)of64(info, "flushjobinfo_smallest_seqno"),
         (unsigned long long)of64(info, "flushjobinfo_largest_seqno"),
         (unsigned long long)of64(properties, "table_properties_num_entries"),
         (unsigned long long)of64(properties, "table_properties_num_deletions"),
         count_of(info, "flushjobinfo_blob_file_addition_infos_count"));
  }
  line("\n");
}

static void on_flush_begin(void* state, void* db, const void* info) {
  (void)state, (void)db;
  on_flush("flush begins", info, 0);
}

static void on_flush_completed(void* state, void* db, const void* info) {
  (void)state, (void)db;
  on_flush("flush completed", info, 1);
}

static void on_compaction(const char* what, const void* info, int is_over) {
  line("  %s %s reason %u from L%d to L%d level 0 has %d in %zu out %zu", what,
       name_of(info, "compactionjobinfo_cf_name"), of32(info, "compactionjobinfo_compaction_reason"),
       of(info, "compactionjobinfo_base_input_level"), of(info, "compactionjobinfo_output_level"),
       of(info, "compactionjobinfo_num_l0_files"), count_of(info, "compactionjobinfo_input_files_count"),
       count_of(info, "compactionjobinfo_output_files_count"));
  if (is_over) {
    const void* stats = ((part)function("compactionjobinfo_stats"))(info);
    line(" moved %zu records %llu to %llu replaced %llu deletions %llu properties %zu blobs %zu garbage %zu",
         count_of(stats, "compaction_job_stats_num_input_files_trivially_moved"),
         (unsigned long long)of64(stats, "compaction_job_stats_num_input_records"),
         (unsigned long long)of64(stats, "compaction_job_stats_num_output_records"),
         (unsigned long long)of64(stats, "compaction_job_stats_num_records_replaced"),
         (unsigned long long)of64(stats, "compaction_job_stats_num_input_deletion_records"),
         count_of(info, "compactionjobinfo_table_properties_count"),
         count_of(info, "compactionjobinfo_blob_file_addition_infos_count"),
         count_of(info, "compactionjobinfo_blob_file_garbage_infos_count"));
  }
  line("\n");
}

static void on_compaction_begin(void* state, void* db, const void* info) {
  (void)state, (void)db;
  on_compaction("compaction begins", info, 0);
}

static void on_compaction_completed(void* state, void* db, const void* info) {
  (void)state, (void)db;
  on_compaction("compaction completed", info, 1);
}

static void on_part_begin(void* state, const void* info) {
  (void)state;
  line("  part %d begins\n", of(info, "subcompactionjobinfo_subcompaction_job_id"));
}

static void on_part_completed(void* state, const void* info) {
  (void)state;
  line("  part %d completed\n", of(info, "subcompactionjobinfo_subcompaction_job_id"));
}

static void on_ingested(void* state, void* db, const void* info) { (void)state, (void)db, (void)info; }

static void on_error(void* state, uint32_t reason, void* status) {
  (void)state, (void)status;
  line("  background error %u\n", reason);
}

static void on_stall(void* state, const void* info) { (void)state, (void)info; }

static void on_sealed(void* state, const void* info) {
  (void)state;
  line("  sealed %s first %llu earliest %llu entries %llu deletes %llu\n", name_of(info, "memtableinfo_cf_name"),
       (unsigned long long)of64(info, "memtableinfo_first_seqno"),
       (unsigned long long)of64(info, "memtableinfo_earliest_seqno"),
       (unsigned long long)of64(info, "memtableinfo_num_entries"),
       (unsigned long long)of64(info, "memtableinfo_num_deletes"));
}

static void on_end(void* state) { (void)state; }

static char* error;

static void check(void) {
  if (error) fail(error);
}

int main(int argc, char** argv) {
  if (argc != 3) fail("event_sequence LIBRARY DIRECTORY");
  load_library(argv[1]);
  USES(void*, options_create, void);
  USES(void, options_set_create_if_missing, void*, unsigned char);
  USES(void, options_set_compression, void*, int);
  USES(void, options_set_level0_file_num_compaction_trigger, void*, int);
  USES(void, options_set_enable_blob_files, void*, unsigned char);
  USES(void, options_set_min_blob_size, void*, uint64_t);
  USES(void, options_set_enable_blob_gc, void*, unsigned char);
  USES(void, options_set_blob_gc_age_cutoff, void*, double);
  USES(void, options_add_eventlistener, void*, void*);
  USES(void*, eventlistener_create, void*, void (*)(void*), void*, void*, void*, void*, void*, void*, void*, void*, void*,
       void*);
  USES(void*, open, const void*, const char*, char**);
  USES(void, close, void*);
  USES(void*, writeoptions_create, void);
  USES(void, writeoptions_disable_WAL, void*, int);
  USES(void, put, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(void, delete, void*, void*, const char*, size_t, char**);
  USES(void, put_cf, void*, void*, void*, const char*, size_t, const char*, size_t, char**);
  USES(void*, flushoptions_create, void);
  USES(void, flush, void*, void*, char**);
  USES(void, flush_cf, void*, void*, void*, char**);
  USES(void, compact_range, void*, const char*, size_t, const char*, size_t);
  USES(void*, create_column_family, void*, const void*, const char*, char**);
  USES(void, drop_column_family, void*, void*, char**);
  USES(void, column_family_handle_destroy, void*);

  void* options = options_create();
  options_set_create_if_missing(options, 1);
  options_set_compression(options, 0);
  options_set_level0_file_num_compaction_trigger(options, 100);
  options_set_enable_blob_files(options, 1);
  options_set_min_blob_size(options, 2000);
  options_set_enable_blob_gc(options, 1);
  options_set_blob_gc_age_cutoff(options, 1.0);
  options_add_eventlistener(
      options, eventlistener_create(NULL, on_end, (void*)on_flush_begin, (void*)on_flush_completed,
                                    (void*)on_compaction_begin, (void*)on_compaction_completed, (void*)on_part_begin,
                                    (void*)on_part_completed, (void*)on_ingested, (void*)on_error, (void*)on_stall,
                                    (void*)on_sealed));
  void* db = open(options, argv[2], &error);
  check();
  print("open");
  void* write = writeoptions_create();
  void* flushing = flushoptions_create();
  char key[32], value[4096];
  memset(value, 'v', sizeof value);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++) {
      int length = snprintf(key, sizeof key, "%05d", i * (round + 1));
      put(db, write, key, (size_t)length, value, i % 50 ? 100 : 3000, &error);
      check();
    }
    delete(db, write, "00007", 5, &error);
    check();
    flush(db, flushing, &error);
    check();
    print("flush");
  }
  compact_range(db, NULL, 0, NULL, 0);
  print("compact_range");
  for (int i = 0; i < 100; i++) {
    int length = snprintf(key, sizeof key, "%05d", 1000 + i);
    put(db, write, key, (size_t)length, value, 100, &error);
    check();
  }
  flush(db, flushing, &error);
  check();
  print("flush");
  compact_range(db, "00900", 5, "01999", 5);
  print("compact_range of what can be moved");
  void* family = create_column_family(db, options, "other", &error);
  check();
  put_cf(db, write, family, "key", 3, "value", 5, &error);
  check();
  flush_cf(db, flushing, family, &error);
  check();
  drop_column_family(db, family, &error);
  check();
  column_family_handle_destroy(family);
  print("a family");
  writeoptions_disable_WAL(write, 1);
  put(db, write, "unlogged", 8, "value", 5, &error);
  check();
  close(db);
  print("close");
  return 0;
}
