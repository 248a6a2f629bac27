/* Logs and tables in directories of their own. */
#include "check.h"

static char wal_dir[1000], fast[1000], slow[1000], own[1000];

static rocksdb_options_t* with_paths(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_wal_dir(options, wal_dir);
  size_t size = 99;
  const char* text = rocksdb_options_get_wal_dir(options, &size);
  CHECK(is_bytes(text, size, wal_dir));
  rocksdb_dbpath_t* a = rocksdb_dbpath_create(fast, 1 << 20);
  rocksdb_dbpath_t* b = rocksdb_dbpath_create(slow, 0);
  const rocksdb_dbpath_t* paths[] = {a, b};
  rocksdb_options_set_db_paths(options, paths, 2);
  rocksdb_options_set_cf_paths(options, paths, 2);
  rocksdb_options_set_cf_paths(options, NULL, 0);
  rocksdb_dbpath_destroy(a);
  rocksdb_dbpath_destroy(b);
  return options;
}

static int is_only_in(rocksdb_t* db, const char* directory) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  int count = rocksdb_livefiles_count(files);
  CHECK(count > 0);
  for (int i = 0; i < count; i++) {
    if (strcmp(rocksdb_livefiles_directory(files, i), directory)) return 0;
  }
  rocksdb_livefiles_destroy(files);
  return 1;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  snprintf(own, sizeof own, "%s/db", argv[1]);
  snprintf(wal_dir, sizeof wal_dir, "%s/logs", argv[1]);
  snprintf(fast, sizeof fast, "%s/fast", argv[1]);
  snprintf(slow, sizeof slow, "%s/slow", argv[1]);
  rocksdb_options_t* options = with_paths();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open(options, own, &err);
  OK();
  put(db, wo, "flushed", "1");
  flush(db);
  CHECK(is_only_in(db, fast));
  rocksdb_compactoptions_t* compact = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_target_path_id(compact, 1);
  CHECK(rocksdb_compactoptions_get_target_path_id(compact) == 1);
  rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2);
  rocksdb_compact_range_opt(db, compact, NULL, 0, NULL, 0);
  rocksdb_compactoptions_destroy(compact);
  CHECK(is_only_in(db, slow));
  put(db, wo, "logged", "2");
  rocksdb_close(db);
  if (HERE) {
    /* RocksDB opens it without its log. */
    rocksdb_options_t* plain = new_options();
    CHECK(rocksdb_open(plain, own, &err) == NULL);
    FAILED("Invalid argument: ", "wal_dir");
    rocksdb_options_set_wal_dir(plain, wal_dir);
    CHECK(rocksdb_open(plain, own, &err) == NULL);
    FAILED("Invalid argument: ", "db_paths");
    CHECK(rocksdb_open_for_read_only(options, own, 1, &err) == NULL);
    FAILED("Corruption: ", "WAL");
    rocksdb_options_destroy(plain);
  }
  db = rocksdb_open(options, own, &err);
  OK();
  GET(db, ro, "flushed", "1");
  GET(db, ro, "logged", "2");
  rocksdb_close(db);
  rocksdb_destroy_db(options, own, &err);
  OK();
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  return 0;
}
