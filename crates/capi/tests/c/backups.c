/* Backups: making, listing, verifying, removing and restoring them, and what their options say. */
#include "check.h"

static void count_calls(void* state) {
  ++*(int*)state;
}

static unsigned char leaves_out_tables(void* state, const char* name, size_t length) {
  ++*(int*)state;
  return length > 4 && !memcmp(name + length - 4, ".sst", 4);
}

#define VALUE(type, options, field, first, second) \
  do { \
    CHECK(rocksdb_##type##_get_##field(options) == (first)); \
    rocksdb_##type##_set_##field(options, second); \
    CHECK(rocksdb_##type##_get_##field(options) == (second)); \
    rocksdb_##type##_set_##field(options, first); \
  } while (0)

static void test_values(const char* path) {
  rocksdb_backup_engine_options_t* options = rocksdb_backup_engine_options_create(path);
  VALUE(backup_engine_options, options, share_table_files, 1, 0);
  VALUE(backup_engine_options, options, sync, 1, 0);
  VALUE(backup_engine_options, options, destroy_old_data, 0, 1);
  VALUE(backup_engine_options, options, backup_log_files, 1, 0);
  VALUE(backup_engine_options, options, backup_rate_limit, 0, 1 << 20);
  VALUE(backup_engine_options, options, restore_rate_limit, 0, 1 << 20);
  VALUE(backup_engine_options, options, max_background_operations, 1, 4);
  VALUE(backup_engine_options, options, callback_trigger_interval_size, 4 << 20, 1);
  VALUE(backup_engine_options, options, max_valid_backups_to_open, 2147483647, 2);
  VALUE(backup_engine_options, options, share_files_with_checksum, 1, 0);
  VALUE(backup_engine_options, options, share_files_with_checksum_naming, -2147483646, 1);
  VALUE(backup_engine_options, options, schema_version, 1, 2);
  VALUE(backup_engine_options, options, current_temperatures_override_manifest, 0, 1);
  VALUE(backup_engine_options, options, io_buffer_size, 0, 4096);
  size_t length = 99;
  const char* directory = rocksdb_backup_engine_options_get_backup_dir(options, &length);
  CHECK(is_bytes(directory, length, path));
  rocksdb_backup_engine_options_set_backup_dir(options, "elsewhere");
  directory = rocksdb_backup_engine_options_get_backup_dir(options, &length);
  CHECK(is_bytes(directory, length, "elsewhere"));
  rocksdb_backup_engine_options_destroy(options);

  rocksdb_create_backup_options_t* create = rocksdb_create_backup_options_create();
  VALUE(create_backup_options, create, flush_before_backup, 0, 1);
  VALUE(create_backup_options, create, atomic_flush, 0, 1);
  VALUE(create_backup_options, create, decrease_background_thread_cpu_priority, 0, 1);
  VALUE(create_backup_options, create, background_thread_cpu_priority, 2, 1);
  rocksdb_create_backup_options_destroy(create);

  rocksdb_restore_options_t* restore = rocksdb_restore_options_create();
  VALUE(restore_options, restore, keep_log_files, 0, 1);
  VALUE(restore_options, restore, mode, 65535, 2);
  rocksdb_restore_options_destroy(restore);
}

static void check_restored(rocksdb_options_t* options, const char* path, const char* expected) {
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  GET(db, ro, "key", expected);
  GET(db, ro, "table", "value");
  rocksdb_close(db);
  rocksdb_readoptions_destroy(ro);
}

static void test_life(const char* directory) {
  char path[4096], backups[4096], target[4096];
  snprintf(path, sizeof path, "%s/db", directory);
  snprintf(backups, sizeof backups, "%s/backups", directory);
  snprintf(target, sizeof target, "%s/target", directory);
  rocksdb_options_t* options = new_options();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "table", "value");
  flush(db);

  rocksdb_backup_engine_t* be = rocksdb_backup_engine_open(options, backups, &err);
  OK();
  const rocksdb_backup_engine_info_t* info = rocksdb_backup_engine_get_backup_info(be);
  CHECK(rocksdb_backup_engine_info_count(info) == 0);
  rocksdb_backup_engine_info_destroy(info);
  put(db, wo, "key", "one");
  rocksdb_backup_engine_create_new_backup(be, db, &err);
  OK();
  put(db, wo, "key", "two");
  rocksdb_backup_engine_create_new_backup_flush(be, db, 1, &err);
  OK();
  put(db, wo, "key", "three");
  int calls = 0;
  rocksdb_create_backup_options_t* create = rocksdb_create_backup_options_create();
  rocksdb_create_backup_options_set_progress_callback(create, &calls, count_calls);
  rocksdb_create_backup_options_set_flush_before_backup(create, 1);
  unsigned int id = 0;
  rocksdb_backup_engine_create_new_backup_with_options(be, db, create, &id, &err);
  OK();
  CHECK(id == 3 && (!HERE || calls > 0));
  rocksdb_create_backup_options_set_progress_callback(create, NULL, NULL);
  put(db, wo, "key", "four");
  rocksdb_backup_engine_create_new_backup_with_metadata(be, db, create, "a\0b", 3, &id, &err);
  OK();
  CHECK(id == 4);
  rocksdb_backup_engine_create_new_backup_with_metadata(be, db, NULL, NULL, 7, NULL, &err);
  OK();
  for (id = 1; id <= 5; id++) {
    rocksdb_backup_engine_verify_backup(be, id, &err);
    OK();
  }
  rocksdb_backup_engine_verify_backup(be, 6, &err);
  FAILED("NotFound", "");

  rocksdb_backup_engine_purge_old_backups(be, 4, &err);
  OK();
  info = rocksdb_backup_engine_get_backup_info(be);
  CHECK(rocksdb_backup_engine_info_count(info) == 4);
  for (int i = 0; i < 4; i++) {
    size_t length = 99;
    const char* metadata = rocksdb_backup_engine_info_app_metadata(info, i, &length);
    CHECK(i == 2 ? length == 3 && !memcmp(metadata, "a\0b", 3) : length == 0);
    CHECK(rocksdb_backup_engine_info_backup_id(info, i) == (unsigned)i + 2);
    CHECK(rocksdb_backup_engine_info_timestamp(info, i) > 1700000000);
    CHECK(rocksdb_backup_engine_info_size(info, i) > 1000);
    CHECK(rocksdb_backup_engine_info_number_files(info, i) >= 5);
  }
  if (HERE) {
    CHECK(rocksdb_backup_engine_info_backup_id(info, 4) == 0 && rocksdb_backup_engine_info_size(info, -1) == 0);
  }
  rocksdb_backup_engine_info_destroy(info);

  rocksdb_restore_options_t* restore = rocksdb_restore_options_create();
  rocksdb_backup_engine_restore_db_from_backup(be, target, target, restore, 2, &err);
  OK();
  check_restored(options, target, "two");
  rocksdb_restore_options_set_mode(restore, 1);
  rocksdb_backup_engine_restore_db_from_backup(be, target, target, restore, 3, &err);
  OK();
  check_restored(options, target, "three");
  rocksdb_restore_options_set_mode(restore, 2);
  rocksdb_backup_engine_restore_db_from_latest_backup(be, target, target, restore, &err);
  OK();
  check_restored(options, target, "four");
  rocksdb_backup_engine_restore_db_from_backup(be, target, target, restore, 9, &err);
  FAILED("NotFound", "");
  if (HERE) {
    rocksdb_restore_options_set_mode(restore, 7);
    rocksdb_backup_engine_restore_db_from_latest_backup(be, target, target, restore, &err);
    FAILED("Invalid argument", "restore mode 7");
    rocksdb_restore_options_set_mode(restore, 65535);
    /* An open database is not restored over. */
    rocksdb_backup_engine_restore_db_from_latest_backup(be, path, path, restore, &err);
    FAILED("Resource busy", "lock");
  }
  rocksdb_restore_options_destroy(restore);

  rocksdb_backup_engine_stop_backup(be);
  rocksdb_backup_engine_create_new_backup(be, db, &err);
  FAILED("Result incomplete", "Backup stopped");
  rocksdb_backup_engine_close(be);
  rocksdb_create_backup_options_destroy(create);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
}

/* An engine with options, in memory. */
static void test_options(void) {
  rocksdb_env_t* env = rocksdb_create_mem_env();
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_env(options, env);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_t* db = rocksdb_open(options, "/db", &err);
  OK();
  put(db, wo, "table", "value");
  flush(db);
  put(db, wo, "key", "value");
  rocksdb_backup_engine_options_t* engine = rocksdb_backup_engine_options_create("/backups");
  rocksdb_backup_engine_options_set_env(engine, env);
  rocksdb_ratelimiter_t* limiter = rocksdb_ratelimiter_create(1 << 30, 100000, 10);
  rocksdb_backup_engine_options_set_backup_rate_limiter(engine, limiter);
  rocksdb_backup_engine_options_set_restore_rate_limiter(engine, limiter);
  rocksdb_ratelimiter_destroy(limiter);
  rocksdb_backup_engine_options_set_max_background_operations(engine, 3);
  rocksdb_create_backup_options_t* create = rocksdb_create_backup_options_create();
  int calls = 0;
  rocksdb_create_backup_options_set_exclude_files_callback(create, &calls, leaves_out_tables);
  rocksdb_backup_engine_t* be = rocksdb_backup_engine_open_opts(engine, env, &err);
  OK();
  rocksdb_backup_engine_create_new_backup_with_options(be, db, create, NULL, &err);
  FAILED("Invalid argument", "schema_version >= 2");
  rocksdb_backup_engine_close(be);
  rocksdb_backup_engine_options_set_schema_version(engine, 2);
  be = rocksdb_backup_engine_open_opts(engine, env, &err);
  OK();
  rocksdb_backup_engine_create_new_backup_with_options(be, db, create, NULL, &err);
  OK();
  CHECK(calls == 1);
  rocksdb_restore_options_t* restore = rocksdb_restore_options_create();
  rocksdb_backup_engine_restore_db_from_latest_backup(be, "/target", "/target", restore, &err);
  FAILED("Invalid argument", "");
  rocksdb_create_backup_options_set_exclude_files_callback(create, NULL, NULL);
  rocksdb_backup_engine_create_new_backup_with_options(be, db, create, NULL, &err);
  OK();
  rocksdb_backup_engine_restore_db_from_latest_backup(be, "/target", "/target", restore, &err);
  OK();
  check_restored(options, "/target", "value");
  rocksdb_backup_engine_close(be);
  if (HERE) {
    rocksdb_backup_engine_options_set_share_files_with_checksum_naming(engine, 7);
    be = rocksdb_backup_engine_open_opts(engine, env, &err);
    FAILED("Invalid argument", "share_files_with_checksum_naming");
    CHECK(be == NULL);
  }
  rocksdb_restore_options_destroy(restore);
  rocksdb_create_backup_options_destroy(create);
  rocksdb_backup_engine_options_destroy(engine);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  rocksdb_env_destroy(env);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  test_values(path_in(argv[1], "values"));
  test_life(argv[1]);
  test_options();
  return 0;
}
