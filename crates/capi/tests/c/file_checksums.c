/* Checksums of whole files: which files have them, and what is compared with them. */
#include "check.h"
#include <stdint.h>

/* The functions of the tables that the database has. */
static int tables_with(rocksdb_t* db, const char* function) {
  rocksdb_livefiles_storage_info_options_t* options = rocksdb_livefiles_storage_info_options_create();
  rocksdb_livefiles_storage_info_options_set_include_checksum_info(options, 1);
  rocksdb_livefiles_storage_info_t* info = rocksdb_get_livefiles_storage_info(db, options, &err);
  OK();
  int found = 0;
  for (size_t i = 0; i < rocksdb_livefiles_storage_info_count(info); i++) {
    if (rocksdb_livefiles_storage_info_file_type(info, i) == 2) {
      found += strcmp(rocksdb_livefiles_storage_info_file_checksum_func_name(info, i), function) == 0;
    }
  }
  rocksdb_livefiles_storage_info_destroy(info);
  rocksdb_livefiles_storage_info_options_destroy(options);
  return found;
}

/* The first byte of the only table changes, which no open looks at. */
static void change(rocksdb_t* db, const char* path) {
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  char table[4096];
  snprintf(table, sizeof table, "%s%s", path, rocksdb_livefiles_name(files, 0));
  rocksdb_livefiles_destroy(files);
  FILE* file = fopen(table, "r+b");
  CHECK(file);
  int byte = fgetc(file);
  CHECK(byte != EOF && fseek(file, 0, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[2048];
  snprintf(path, sizeof path, "%s/db", argv[1]);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();

  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "key", "without");
  rocksdb_flush(db, fo, &err);
  OK();
  CHECK(tables_with(db, "Unknown") == 1);
  rocksdb_verify_file_checksums(db, &err);
  FAILED("Invalid argument", "file_checksum_gen_factory");
  rocksdb_close(db);

  rocksdb_file_checksum_gen_factory_t* factory = rocksdb_file_checksum_gen_crc32c_factory_create();
  rocksdb_options_set_file_checksum_gen_factory(options, factory);
  rocksdb_file_checksum_gen_factory_destroy(factory);
  db = rocksdb_open(options, path, &err);
  OK();
  /* A table without a checksum is passed over. */
  rocksdb_verify_file_checksums(db, &err);
  OK();
  put(db, wo, "key", "with");
  rocksdb_flush(db, fo, &err);
  OK();
  CHECK(tables_with(db, "FileChecksumCrc32c") == 1 && tables_with(db, "Unknown") == 1);
  rocksdb_compactoptions_t* co = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(co, 2);
  rocksdb_compact_range_opt(db, co, NULL, 0, NULL, 0);
  rocksdb_compactoptions_destroy(co);
  CHECK(tables_with(db, "FileChecksumCrc32c") == 1 && tables_with(db, "Unknown") == 0);
  rocksdb_verify_file_checksums_with_options(db, ro, &err);
  OK();
  change(db, path);
  rocksdb_verify_file_checksums(db, &err);
  FAILED("Corruption", "file checksum mismatch");
#if HERE
  rocksdb_verify_file_checksums_with_options(db, NULL, &err);
  FAILED("Corruption", ".sst");
  rocksdb_verify_file_checksums(NULL, &err);
  FAILED("Invalid argument", "");
  rocksdb_file_checksum_gen_factory_destroy(NULL);
  rocksdb_options_set_file_checksum_gen_factory(NULL, NULL);
#endif
  rocksdb_close(db);

  /* Null changes nothing. */
  rocksdb_options_set_file_checksum_gen_factory(options, NULL);
  db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_verify_file_checksums(db, &err);
  FAILED("Corruption", "file checksum mismatch");
  rocksdb_close(db);

  rocksdb_readoptions_destroy(ro);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
