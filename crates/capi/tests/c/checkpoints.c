/* Checkpoints, files that are kept, and lists of what a copy is made of. */
#include "check.h"
#include <stdint.h>
#include <sys/stat.h>

static char text[4096];

static const char* in(const char* directory, const char* name) {
  snprintf(text, sizeof text, "%s/%s", directory, name);
  return text;
}

static int exists(const char* path) {
  struct stat found;
  return stat(path, &found) == 0;
}

/* How many files a copy has of a kind, by RocksDB's number of the kind. */
static size_t count(const rocksdb_livefiles_storage_info_t* info, int kind) {
  size_t found = 0;
  for (size_t i = 0; i < rocksdb_livefiles_storage_info_count(info); i++) {
    found += rocksdb_livefiles_storage_info_file_type(info, i) == kind;
  }
  return found;
}

static void test_storage_info(rocksdb_t* db) {
  rocksdb_livefiles_storage_info_options_t* options = rocksdb_livefiles_storage_info_options_create();
  CHECK(rocksdb_livefiles_storage_info_options_get_wal_size_for_flush(options) == 0);
  CHECK(rocksdb_livefiles_storage_info_options_get_include_checksum_info(options) == 0);
  CHECK(rocksdb_livefiles_storage_info_options_get_atomic_flush(options) == 0);
  rocksdb_livefiles_storage_info_options_set_wal_size_for_flush(options, UINT64_MAX);
  rocksdb_livefiles_storage_info_options_set_include_checksum_info(options, 1);
  rocksdb_livefiles_storage_info_options_set_atomic_flush(options, 1);
  CHECK(rocksdb_livefiles_storage_info_options_get_wal_size_for_flush(options) == UINT64_MAX);
  CHECK(rocksdb_livefiles_storage_info_options_get_include_checksum_info(options) == 1);
  CHECK(rocksdb_livefiles_storage_info_options_get_atomic_flush(options) == 1);
  rocksdb_disable_file_deletions(db, &err);
  OK();
  rocksdb_livefiles_storage_info_t* info = rocksdb_get_livefiles_storage_info(db, options, &err);
  OK();
  CHECK(count(info, 0) == 1 && count(info, 2) == 1 && count(info, 3) == 1 && count(info, 4) == 1 && count(info, 9) == 1);
  for (size_t i = 0; i < rocksdb_livefiles_storage_info_count(info); i++) {
    const char* name = rocksdb_livefiles_storage_info_relative_filename(info, i);
    const char* directory = rocksdb_livefiles_storage_info_directory(info, i);
    int kind = rocksdb_livefiles_storage_info_file_type(info, i);
    struct stat file;
    CHECK(name && directory && stat(in(directory, name), &file) == 0);
    size_t size = 99;
    const char* contents = rocksdb_livefiles_storage_info_replacement_contents(info, i, &size);
    if (kind == 4) {
      CHECK(strcmp(name, "CURRENT") == 0 && contents && size > 9 && memcmp(contents, "MANIFEST-", 9) == 0);
      CHECK(rocksdb_livefiles_storage_info_size(info, i) == size);
    } else {
      CHECK(size == 0 && rocksdb_livefiles_storage_info_file_number(info, i) > 0);
      CHECK(rocksdb_livefiles_storage_info_size(info, i) <= (uint64_t)file.st_size);
    }
    CHECK(rocksdb_livefiles_storage_info_temperature(info, i) == 0);
    /* A log and the MANIFEST may grow. */
    CHECK(rocksdb_livefiles_storage_info_trim_to_size(info, i) == (kind == 0 || kind == 3));
    CHECK(strlen(rocksdb_livefiles_storage_info_file_checksum(info, i)) == 0);
    CHECK(strcmp(rocksdb_livefiles_storage_info_file_checksum_func_name(info, i), "Unknown") == 0);
  }
#if HERE
  CHECK(rocksdb_livefiles_storage_info_relative_filename(info, 99) == NULL);
  CHECK(rocksdb_livefiles_storage_info_directory(info, 99) == NULL);
  CHECK(rocksdb_livefiles_storage_info_file_checksum(info, 99) == NULL);
  CHECK(rocksdb_livefiles_storage_info_file_checksum_func_name(info, 99) == NULL);
  size_t size = 99;
  CHECK(rocksdb_livefiles_storage_info_replacement_contents(info, 99, &size) == NULL && size == 0);
  CHECK(rocksdb_livefiles_storage_info_size(info, 99) == 0 && rocksdb_livefiles_storage_info_count(NULL) == 0);
  rocksdb_livefiles_storage_info_destroy(NULL);
  rocksdb_livefiles_storage_info_options_destroy(NULL);
#endif
  rocksdb_livefiles_storage_info_destroy(info);
  rocksdb_livefiles_storage_info_options_destroy(options);
  rocksdb_enable_file_deletions(db, &err);
  OK();
}

/* What a compaction replaces stays until deletions are enabled as often as they were disabled. */
static void test_deletions(rocksdb_t* db, const char* path) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  char table[4096];
  snprintf(table, sizeof table, "%s%s", path, rocksdb_livefiles_name(files, 0));
  rocksdb_livefiles_destroy(files);
  rocksdb_disable_file_deletions(db, &err);
  rocksdb_disable_file_deletions(db, &err);
  OK();
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(exists(table));
  rocksdb_enable_file_deletions(db, &err);
  OK();
  CHECK(exists(table));
  rocksdb_enable_file_deletions(db, &err);
  OK();
  CHECK(!exists(table));
  rocksdb_enable_file_deletions(db, &err);
  OK();
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[2048], copy[2048], flushed[2048];
  snprintf(path, sizeof path, "%s/origin", argv[1]);
  snprintf(copy, sizeof copy, "%s/copy", argv[1]);
  snprintf(flushed, sizeof flushed, "%s/flushed", argv[1]);
  rocksdb_options_t* options = new_options();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  put(db, wo, "in a table", "1");
  rocksdb_flush(db, fo, &err);
  OK();
  put(db, wo, "in the log", "2");
  test_storage_info(db);
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &err);
  OK();
  rocksdb_checkpoint_create(checkpoint, copy, UINT64_MAX, &err);
  OK();
  /* The two tables overlap, so a compaction does not move them. */
  put(db, wo, "in a table", "1");
  put(db, wo, "in the log", "3");
  rocksdb_checkpoint_create(checkpoint, flushed, 0, &err);
  OK();
  rocksdb_checkpoint_create(checkpoint, flushed, 0, &err);
  FAILED("Invalid argument", "exists");
  test_deletions(db, path);
#if HERE
  rocksdb_checkpoint_create(NULL, copy, 0, &err);
  FAILED("Invalid argument", "checkpoint");
  rocksdb_checkpoint_create(checkpoint, NULL, 0, &err);
  FAILED("Invalid argument", "");
  CHECK(rocksdb_checkpoint_object_create(NULL, &err) == NULL);
  FAILED("Invalid argument", "database");
  rocksdb_checkpoint_object_destroy(NULL);
  /* It does not keep the database open. */
  rocksdb_close(db);
  rocksdb_checkpoint_create(checkpoint, path, 0, &err);
  CHECK(err != NULL);
  rocksdb_free(err);
  err = NULL;
  rocksdb_checkpoint_object_destroy(checkpoint);
#else
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_close(db);
#endif
  db = rocksdb_open(options, copy, &err);
  OK();
  GET(db, ro, "in a table", "1");
  GET(db, ro, "in the log", "2");
  rocksdb_close(db);
  db = rocksdb_open(options, flushed, &err);
  OK();
  GET(db, ro, "in a table", "1");
  GET(db, ro, "in the log", "3");
  rocksdb_close(db);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
