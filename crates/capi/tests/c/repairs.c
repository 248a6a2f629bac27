/* Repairs of a database whose MANIFEST is gone. */
#include "check.h"
#include <stdio.h>
#include <sys/stat.h>

/* Removes the files CURRENT and MANIFEST-*. */
static void lose_manifest(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/CURRENT", directory);
  CHECK(remove(path) == 0);
  int removed = 0;
  for (int number = 0; number < 100; number++) {
    snprintf(path, sizeof path, "%s/MANIFEST-%06d", directory, number);
    removed += remove(path) == 0;
  }
  CHECK(removed > 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[2048], nothing[2048], lost[4096];
  snprintf(path, sizeof path, "%s/repaired", argv[1]);
  snprintf(nothing, sizeof nothing, "%s/nothing", argv[1]);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_put(db, wo, "in a table", 10, "1", 1, &err);
  OK();
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_put(db, wo, "in the log", 10, "2", 1, &err);
  OK();
#if HERE
  rocksdb_repair_db(options, path, &err);
  FAILED("IO error", "");
#endif
  rocksdb_close(db);
  lose_manifest(path);
  rocksdb_repair_db(options, path, &err);
  OK();
  snprintf(lost, sizeof lost, "%s/lost", path);
  struct stat found;
  CHECK(stat(lost, &found) == 0);
  rocksdb_options_set_create_if_missing(options, 0);
  db = rocksdb_open(options, path, &err);
  OK();
  GET(db, ro, "in a table", "1");
  GET(db, ro, "in the log", "2");
  rocksdb_close(db);
#if HERE
  rocksdb_repair_db(options, nothing, &err);
  CHECK(err != NULL);
  rocksdb_free(err);
  err = NULL;
  rocksdb_repair_db(NULL, path, &err);
  FAILED("Invalid argument", "options");
  rocksdb_repair_db(options, NULL, &err);
  FAILED("Invalid argument", "");
#endif
  rocksdb_flushoptions_destroy(fo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
