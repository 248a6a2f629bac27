/* Families exported from a database, and imported into others. */
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

static void stored_is(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key, const char* expected) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  size_t length = 0;
  char* value = rocksdb_get_cf(db, options, family, key, strlen(key), &length, &err);
  OK();
  CHECK(expected ? is_bytes(value, length, expected) : !value);
  rocksdb_free(value);
  rocksdb_readoptions_destroy(options);
}

/* A family with two levels, a deletion in the upper one, and a range deletion. */
static void fill(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  const char* keys[] = {"a", "b", "c", "d", "e", "f"};
  for (size_t i = 0; i < 6; i++) {
    rocksdb_put_cf(db, options, family, keys[i], 1, "old", 3, &err);
    OK();
  }
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush_cf(db, flush, family, &err);
  OK();
  rocksdb_compact_range_cf(db, family, NULL, 0, NULL, 0);
  rocksdb_put_cf(db, options, family, "a", 1, "new", 3, &err);
  rocksdb_delete_cf(db, options, family, "b", 1, &err);
  rocksdb_delete_range_cf(db, options, family, "c", 1, "e", 1, &err);
  OK();
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(options);
}

static void check_contents(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  stored_is(db, family, "a", "new");
  stored_is(db, family, "b", NULL);
  stored_is(db, family, "c", NULL);
  stored_is(db, family, "d", NULL);
  stored_is(db, family, "e", "old");
  stored_is(db, family, "f", "old");
}

/* Metadata made anew of what was told, as a program does that carries them elsewhere. */
static rocksdb_export_import_files_metadata_t* carried(rocksdb_export_import_files_metadata_t* from) {
  rocksdb_export_import_files_metadata_t* to = rocksdb_export_import_files_metadata_create();
  char* name = rocksdb_export_import_files_metadata_get_db_comparator_name(from);
  CHECK(strcmp(name, "leveldb.BytewiseComparator") == 0);
  rocksdb_export_import_files_metadata_set_db_comparator_name(to, name);
  rocksdb_free(name);
  rocksdb_livefiles_t* files = rocksdb_export_import_files_metadata_get_files(from);
  rocksdb_livefiles_t* list = rocksdb_livefiles_create();
  for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
    rocksdb_livefile_t* file = rocksdb_livefile_create();
    rocksdb_livefile_set_column_family_name(file, "any");
    rocksdb_livefile_set_name(file, rocksdb_livefiles_name(files, i));
    rocksdb_livefile_set_directory(file, rocksdb_livefiles_directory(files, i));
    rocksdb_livefile_set_level(file, rocksdb_livefiles_level(files, i));
    rocksdb_livefile_set_size(file, rocksdb_livefiles_size(files, i));
    rocksdb_livefile_set_smallest_seqno(file, rocksdb_livefiles_smallest_seqno(files, i));
    rocksdb_livefile_set_largest_seqno(file, rocksdb_livefiles_largest_seqno(files, i));
    rocksdb_livefiles_add(list, file);
  }
  /* The list is handed over. */
  rocksdb_export_import_files_metadata_set_files(to, list);
  rocksdb_livefiles_destroy(files);
  return to;
}

static void test_refusals(rocksdb_t* db, rocksdb_options_t* options, rocksdb_export_import_files_metadata_t* exported) {
  rocksdb_import_column_family_options_t* import = rocksdb_import_column_family_options_create();
  rocksdb_export_import_files_metadata_t* empty = rocksdb_export_import_files_metadata_create();
  CHECK(!rocksdb_create_column_family_with_import(db, options, "x", import, empty, &err));
  FAILED("Invalid argument: ", "omparator");
  rocksdb_export_import_files_metadata_set_db_comparator_name(empty, "leveldb.BytewiseComparator");
  CHECK(!rocksdb_create_column_family_with_import(db, options, "x", import, empty, &err));
  FAILED("Invalid argument: ", "list of files is empty");
  CHECK(!rocksdb_create_column_family_with_import(db, options, "default", import, exported, &err));
  FAILED("Invalid argument: ", "already exists");
#if HERE
  CHECK(!rocksdb_create_column_family_with_import(db, options, "x", NULL, exported, &err));
  FAILED("Invalid argument: ", "import options");
  CHECK(!rocksdb_create_column_family_with_import(db, options, "x", import, NULL, &err));
  FAILED("Invalid argument: ", "metadata");
  CHECK(!rocksdb_export_import_files_metadata_get_files(NULL));
  CHECK(!rocksdb_export_import_files_metadata_get_db_comparator_name(NULL));
  rocksdb_export_import_files_metadata_destroy(NULL);
  rocksdb_import_column_family_options_destroy(NULL);
#endif
  rocksdb_export_import_files_metadata_destroy(empty);
  rocksdb_import_column_family_options_destroy(import);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char from_path[4096], to_path[4096], export_path[4096];
  snprintf(from_path, sizeof from_path, "%s/from", argv[1]);
  snprintf(to_path, sizeof to_path, "%s/to", argv[1]);
  snprintf(export_path, sizeof export_path, "%s/exported", argv[1]);
  CHECK(mkdir(argv[1], 0755) == 0 || exists(argv[1]));
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* from = rocksdb_open(options, from_path, &err);
  OK();
  rocksdb_t* to = rocksdb_open(options, to_path, &err);
  OK();
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(from, options, "people", &err);
  OK();
  fill(from, family);

  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(from, &err);
  OK();
  rocksdb_export_import_files_metadata_t* exported =
      rocksdb_checkpoint_export_column_family(checkpoint, family, export_path, &err);
  OK();
  CHECK(exported && exists(export_path));
  CHECK(!rocksdb_checkpoint_export_column_family(checkpoint, family, export_path, &err));
  FAILED("Invalid argument: ", "exists");
  rocksdb_livefiles_t* files = rocksdb_export_import_files_metadata_get_files(exported);
  CHECK(rocksdb_livefiles_count(files) == 2);
  char first[4096];
  snprintf(first, sizeof first, "%s", in(rocksdb_livefiles_directory(files, 0), rocksdb_livefiles_name(files, 0)));
  CHECK(exists(first) && strncmp(first, export_path, strlen(export_path)) == 0);
  CHECK(rocksdb_livefiles_level(files, 0) == 0 && rocksdb_livefiles_level(files, 1) > 0);
  size_t length = 0;
  CHECK(is_bytes(rocksdb_livefiles_smallestkey(files, 1, &length), 1, "a") && length == 1);
  CHECK(is_bytes(rocksdb_livefiles_largestkey(files, 1, &length), 1, "f") && length == 1);
  CHECK(rocksdb_livefiles_largest_seqno(files, 0) > rocksdb_livefiles_smallest_seqno(files, 0));
  rocksdb_livefiles_destroy(files);
  test_refusals(to, options, exported);

  rocksdb_import_column_family_options_t* import = rocksdb_import_column_family_options_create();
  CHECK(rocksdb_import_column_family_options_get_move_files(import) == 0);
  rocksdb_column_family_handle_t* copied = rocksdb_create_column_family_with_import(to, options, "copied", import, exported, &err);
  OK();
  check_contents(to, copied);
  CHECK(exists(first));

  rocksdb_export_import_files_metadata_t* again = carried(exported);
  rocksdb_column_family_handle_t* second = rocksdb_create_column_family_with_import(to, options, "carried", import, again, &err);
  OK();
  check_contents(to, second);

  rocksdb_import_column_family_options_set_move_files(import, 1);
  CHECK(rocksdb_import_column_family_options_get_move_files(import) == 1);
  rocksdb_column_family_handle_t* moved = rocksdb_create_column_family_with_import(to, options, "moved", import, exported, &err);
  OK();
  check_contents(to, moved);
  CHECK(!exists(first));
  /* The database goes on behind the numbers of the tables. */
  CHECK(rocksdb_get_latest_sequence_number(to) >= 9);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_put_cf(to, write, moved, "e", 1, "newest", 6, &err);
  OK();
  stored_is(to, moved, "e", "newest");
  stored_is(to, copied, "e", "old");
  stored_is(from, family, "e", "old");

  rocksdb_writeoptions_destroy(write);
  rocksdb_column_family_handle_destroy(moved);
  rocksdb_column_family_handle_destroy(second);
  rocksdb_column_family_handle_destroy(copied);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_import_column_family_options_destroy(import);
  rocksdb_export_import_files_metadata_destroy(again);
  rocksdb_export_import_files_metadata_destroy(exported);
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_close(to);
  rocksdb_close(from);
  rocksdb_options_destroy(options);
  return 0;
}
