/* Tables from outside: writing them, taking them in, and what listeners are told. */
#include "check.h"
#include <stdint.h>
#include <unistd.h>

static char outside[4096];

static const char* file(const char* name) {
  static char path[5000];
  snprintf(path, sizeof(path), "%s/%s", outside, name);
  return path;
}

struct heard {
  int files, destroyed;
  uint64_t number;
};

static void on_ingested(void* state, rocksdb_t* db, const rocksdb_externalfileingestioninfo_t* info) {
  struct heard* heard = state;
  size_t size = 99;
  CHECK(db);
  const char* name = rocksdb_externalfileingestioninfo_cf_name(info, &size);
  CHECK(is_bytes(name, size, "default") || is_bytes(name, size, "other"));
  const char* external = rocksdb_externalfileingestioninfo_external_file_path(info, &size);
  CHECK(size > strlen(outside) && !memcmp(external, outside, strlen(outside)) && external[size] == 0);
  const char* internal = rocksdb_externalfileingestioninfo_internal_file_path(info, &size);
  CHECK(size > 4 && !memcmp(internal + size - 4, ".sst", 4));
  CHECK(rocksdb_table_properties_num_entries(rocksdb_externalfileingestioninfo_table_properties(info)) > 0);
  heard->number = rocksdb_externalfileingestioninfo_global_seqno(info);
  heard->files++;
}

/* RocksDB calls callbacks that are null. */
#if HERE
#define IGNORED(name, ...)
#define CALLBACK(name) NULL
#else
#define IGNORED(name, ...) static void name(void* state, __VA_ARGS__) { (void)state; }
#define CALLBACK(name) name
#endif
IGNORED(flush_begin, rocksdb_t* db __attribute__((unused)), const rocksdb_flushjobinfo_t* info __attribute__((unused)))
IGNORED(compaction, rocksdb_t* db __attribute__((unused)),
        const rocksdb_compactionjobinfo_t* info __attribute__((unused)))
IGNORED(part, const rocksdb_subcompactionjobinfo_t* info __attribute__((unused)))
IGNORED(error, uint32_t reason __attribute__((unused)), rocksdb_status_ptr_t* status __attribute__((unused)))
IGNORED(stall, const rocksdb_writestallinfo_t* info __attribute__((unused)))
IGNORED(sealed, const rocksdb_memtableinfo_t* info __attribute__((unused)))

static void ended(void* state) { ((struct heard*)state)->destroyed++; }

/* "zyx", as a comparator: the other way round. */
static int compare_reverse(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  (void)state;
  int order = memcmp(b, a, alen < blen ? alen : blen);
  return order ? order : (int)blen - (int)alen;
}
static const char* reverse_name(void* state) {
  (void)state;
  return "test.reverse";
}
static void nothing(void* state) { (void)state; }

static void write_file(rocksdb_sstfilewriter_t* writer, const char* name, const char* first, const char* value) {
  char key[3] = {first[0], '1', 0};
  uint64_t size = 99;
  rocksdb_sstfilewriter_open(writer, file(name), &err);
  OK();
  rocksdb_sstfilewriter_put(writer, key, 2, value, strlen(value), &err);
  OK();
  key[1] = '2';
  rocksdb_sstfilewriter_add(writer, key, 2, value, strlen(value), &err);
  OK();
  rocksdb_sstfilewriter_put(writer, key, 2, value, strlen(value), &err);
  FAILED("Invalid argument: ", "strict ascending order");
  key[1] = '3';
  rocksdb_sstfilewriter_delete(writer, key, 2, &err);
  OK();
  key[1] = '4';
  rocksdb_sstfilewriter_merge(writer, key, 2, "7", 1, &err);
  OK();
  rocksdb_sstfilewriter_delete_range(writer, "x", 1, "y", 1, &err);
  OK();
  rocksdb_sstfilewriter_finish(writer, &err);
  OK();
  rocksdb_sstfilewriter_file_size(writer, &size);
  CHECK(size > 500 && size < 100000);
}

/* What was written before hides rows that come behind it. */
static void test_behind(const char* path) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compaction_style(options, rocksdb_universal_compaction);
  rocksdb_options_set_cf_allow_ingest_behind(options, 1);
  rocksdb_envoptions_t* env = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(env, options);
  rocksdb_sstfilewriter_open(writer, file("behind"), &err);
  OK();
  rocksdb_sstfilewriter_put(writer, "a", 1, "old", 3, &err);
  OK();
  rocksdb_sstfilewriter_put(writer, "b", 1, "old", 3, &err);
  OK();
  rocksdb_sstfilewriter_finish(writer, &err);
  OK();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  put(db, wo, "a", "new");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_ingestexternalfileoptions_t* io = rocksdb_ingestexternalfileoptions_create();
  rocksdb_ingestexternalfileoptions_set_ingest_behind(io, 1);
  const char* files[] = {file("behind")};
  rocksdb_ingest_external_file(db, files, 1, io, &err);
  OK();
  size_t length = 99;
  char* value = rocksdb_get(db, ro, "a", 1, &length, &err);
  OK();
  CHECK(is_bytes(value, length, "new"));
  rocksdb_free(value);
  value = rocksdb_get(db, ro, "b", 1, &length, &err);
  OK();
  CHECK(is_bytes(value, length, "old"));
  rocksdb_free(value);
  rocksdb_ingestexternalfileoptions_destroy(io);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_close(db);
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  snprintf(outside, sizeof(outside), "%s", argv[1]);
  char path[5000];
  snprintf(path, sizeof(path), "%s/db", argv[1]);
  struct heard heard = {0};
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_eventlistener_t* listener = rocksdb_eventlistener_create(
      &heard, ended, CALLBACK(flush_begin), CALLBACK(flush_begin), CALLBACK(compaction), CALLBACK(compaction),
      CALLBACK(part), CALLBACK(part), on_ingested, CALLBACK(error), CALLBACK(stall), CALLBACK(sealed));
  rocksdb_options_add_eventlistener(options, listener);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();

  rocksdb_envoptions_t* env = rocksdb_envoptions_create();
  rocksdb_envoptions_set_bytes_per_sync(env, 1 << 16);
  rocksdb_ratelimiter_t* limiter = rocksdb_ratelimiter_create(1 << 30, 100000, 10);
  rocksdb_envoptions_set_rate_limiter(env, limiter);
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(env, options);
  rocksdb_sstfilewriter_put(writer, "a", 1, "b", 1, &err);
  FAILED("Invalid argument: ", "not opened");
  rocksdb_sstfilewriter_open(writer, file("empty"), &err);
  OK();
  rocksdb_sstfilewriter_finish(writer, &err);
  FAILED("Invalid argument: ", "no entries");
  write_file(writer, "one", "a", "first");
  write_file(writer, "two", "a", "second");
  write_file(writer, "three", "b", "third");

  rocksdb_ingestexternalfileoptions_t* io = rocksdb_ingestexternalfileoptions_create();
  char one[5000], two[5000], three[5000];
  strcpy(one, file("one"));
  strcpy(two, file("two"));
  strcpy(three, file("three"));
  const char* both[] = {one, two};
  rocksdb_put(db, wo, "x1", 2, "deleted", 7, &err);
  OK();
  rocksdb_put(db, wo, "a3", 2, "deleted", 7, &err);
  OK();
  rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(io, 0);
  rocksdb_ingest_external_file(db, both, 2, io, &err);
  FAILED("Invalid argument: ", "External file requires flush");
  rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(io, 1);
  rocksdb_ingest_external_file(db, both, 2, io, &err);
  OK();
  CHECK(heard.files == 2 && heard.number == 4);
  GET(db, ro, "a1", "second");
  GET(db, ro, "a2", "second");
  GET(db, ro, "a3", NULL);
  GET(db, ro, "x1", NULL);

  rocksdb_ingestexternalfileoptions_set_move_files(io, 1);
  rocksdb_column_family_handle_t* other = rocksdb_create_column_family(db, options, "other", &err);
  OK();
  const char* third[] = {three};
  rocksdb_ingest_external_file_cf(db, other, third, 1, io, &err);
  OK();
  CHECK(access(three, F_OK) != 0 && access(one, F_OK) == 0);
  CHECK(heard.files == 3 && heard.number == 0);
  GET_CF(db, ro, other, "b1", "third");
  rocksdb_ingest_external_file_cf(db, other, third, 1, io, &err);
  FAILED("IO error: ", "three");
  rocksdb_ingest_external_file(db, third, 0, io, &err);
  FAILED("Invalid argument: ", "empty");

  /* Another order. */
  rocksdb_comparator_t* reverse = rocksdb_comparator_create(NULL, nothing, compare_reverse, reverse_name);
#if HERE
  rocksdb_sstfilewriter_t* backward = rocksdb_sstfilewriter_create_with_comparator(env, options, reverse);
  rocksdb_sstfilewriter_open(backward, file("backward"), &err);
  OK();
  rocksdb_sstfilewriter_put(backward, "b", 1, "1", 1, &err);
  OK();
  rocksdb_sstfilewriter_put(backward, "a", 1, "2", 1, &err);
  OK();
  rocksdb_sstfilewriter_finish(backward, &err);
  OK();
  char last[5000];
  strcpy(last, file("backward"));
  const char* fourth[] = {last};
  rocksdb_ingest_external_file(db, fourth, 1, io, &err);
  FAILED("Invalid argument: ", "test.reverse");
  rocksdb_sstfilewriter_destroy(backward);
  rocksdb_ingestexternalfileoptions_set_move_files(io, 0);
  rocksdb_ingestexternalfileoptions_set_ingest_behind(io, 1);
  rocksdb_ingest_external_file(db, both, 1, io, &err);
  FAILED("Invalid argument: ", "cf_allow_ingest_behind=false");
#endif
  rocksdb_comparator_destroy(reverse);
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env);
  rocksdb_ratelimiter_destroy(limiter);
  rocksdb_ingestexternalfileoptions_destroy(io);
  rocksdb_column_family_handle_destroy(other);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  CHECK(heard.destroyed == 1);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  snprintf(path, sizeof(path), "%s/behind_db", argv[1]);
  test_behind(path);
  return 0;
}
