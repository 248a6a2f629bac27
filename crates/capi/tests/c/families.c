/* Column families: opening, creating, dropping, listing; reading and writing them; opening for reading alone. */
#include "check.h"

/* A name is of any bytes but zero. */
static void test_names(const char* path) {
  rocksdb_options_t* options = new_options();
  const char* names[] = {"default", "\xff\xfe", "a\xc3\xa9:#\" ]\xe2\x82", "\xf4\x8f\xbf\xbf"};
  const rocksdb_options_t* each[] = {options, options, options, options};
  rocksdb_column_family_handle_t* handles[4];
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open_column_families(options, path, 3, names, each, handles, &err);
  OK();
  handles[3] = rocksdb_create_column_family(db, options, names[3], &err);
  OK();
  CHECK(!rocksdb_create_column_family(db, options, names[1], &err));
  FAILED("Invalid argument: Column family already exists", "");
  for (int i = 0; i < 4; i++) {
    size_t length = 77;
    char* name = rocksdb_column_family_handle_get_name(handles[i], &length);
    CHECK(length == strlen(names[i]) && !memcmp(name, names[i], length));
    rocksdb_free(name);
    rocksdb_put_cf(db, wo, handles[i], "k", 1, names[i], strlen(names[i]), &err);
    OK();
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_close(db);
  size_t count = 0;
  char** listed = rocksdb_list_column_families(options, path, &count, &err);
  OK();
  CHECK(count == 4);
  for (int i = 0; i < 4; i++) CHECK(!strcmp(listed[i], names[i]));
  rocksdb_list_column_families_destroy(listed, count);
#if HERE
  rocksdb_options_t *loaded, **families;
  rocksdb_load_latest_options(path, NULL, false, NULL, &loaded, &count, &listed, &families, &err);
  OK();
  CHECK(count == 4);
  for (int i = 0; i < 4; i++) CHECK(!strcmp(listed[i], names[i]));
  rocksdb_load_latest_options_destroy(loaded, listed, families, count);
#endif
  db = rocksdb_open_column_families(options, path, 4, names, each, handles, &err);
  OK();
  for (int i = 0; i < 4; i++) {
    GET_CF(db, ro, handles[i], "k", names[i]);
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_close(db);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char strange[4096];
  snprintf(strange, sizeof strange, "%s", path_in(argv[1], "names"));
  test_names(strange);
  char path[4096];
  snprintf(path, sizeof path, "%s", path_in(argv[1], "families"));
  rocksdb_options_t* options = new_options();
  rocksdb_options_t* counting = new_options();
  rocksdb_options_set_uint64add_merge_operator(counting);
  const char* names[] = {"default", "counts", "third"};
  const rocksdb_options_t* each[] = {options, counting, options};
  rocksdb_column_family_handle_t* handles[3];
  rocksdb_t* db = rocksdb_open_column_families(options, path, 2, names, each, handles, &err);
  OK();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();

  handles[2] = rocksdb_create_column_family(db, options, "third", &err);
  OK();
  CHECK(!rocksdb_create_column_family(db, options, "third", &err));
  FAILED("Invalid argument: ", "");

  rocksdb_put_cf(db, wo, handles[2], "k1", 2, "v1", 2, &err);
  OK();
  rocksdb_put_cf(db, wo, handles[2], "k2", 2, "v2", 2, &err);
  OK();
  rocksdb_put_cf(db, wo, handles[2], "k3", 2, "v3", 2, &err);
  OK();
  rocksdb_put_cf(db, wo, handles[2], "k4", 2, "v4", 2, &err);
  OK();
  uint64_t five = 5;
  rocksdb_merge_cf(db, wo, handles[1], "n", 1, (char*)&five, 8, &err);
  OK();
  rocksdb_merge_cf(db, wo, handles[0], "n", 1, "x", 1, &err);
  CHECK(err);
  FAILED("", "merge_operator");
  GET_CF(db, ro, handles[2], "k1", "v1");
  GET(db, ro, "k1", NULL);
  rocksdb_delete_cf(db, wo, handles[2], "k1", 2, &err);
  OK();
  rocksdb_singledelete_cf(db, wo, handles[2], "k4", 2, &err);
  OK();
  GET_CF(db, ro, handles[2], "k1", NULL);
  GET_CF(db, ro, handles[2], "k4", NULL);
  rocksdb_delete_range_cf(db, wo, handles[2], "k2", 2, "k3", 2, &err);
  OK();
  GET_CF(db, ro, handles[2], "k2", NULL);
  GET_CF(db, ro, handles[2], "k3", "v3");
  if (HERE) { /* RocksDB stops accepting writes after this. */
    rocksdb_delete_range_cf(db, wo, handles[2], "k9", 2, "k1", 2, &err);
    FAILED("Invalid argument: ", "");
  }

  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned_cf(db, ro, handles[2], "k3", 2, &err);
  OK();
  CHECK(slice_is(pinned, "v3"));
  rocksdb_pinnableslice_destroy(pinned);

  /* Keys of several families as of one moment. */
  put(db, wo, "k3", "of default");
  const rocksdb_column_family_handle_t* of[] = {handles[2], handles[0], handles[1], handles[2]};
  const char* keys[] = {"k3", "k3", "n", "none"};
  const size_t lengths[] = {2, 2, 1, 4};
  char* values[4];
  size_t value_lengths[4];
  char* errors[4];
  rocksdb_multi_get_cf(db, ro, of, 4, keys, lengths, values, value_lengths, errors);
  CHECK(is_bytes(values[0], value_lengths[0], "v3") && is_bytes(values[1], value_lengths[1], "of default"));
  CHECK(value_lengths[2] == 8 && values[2][0] == 5 && !values[3] && value_lengths[3] == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(!errors[i]);
    rocksdb_free(values[i]);
  }

  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, ro, handles[2]);
  rocksdb_iter_seek_to_first(it);
  CHECK(key_is(it, "k3"));
  rocksdb_iter_next(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_destroy(it);

  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_flushoptions_set_wait(fo, 1);
  rocksdb_flush_cf(db, fo, handles[2], &err);
  OK();
  rocksdb_compact_range_cf(db, handles[2], NULL, 0, NULL, 0);
  rocksdb_suggest_compact_range_cf(db, handles[2], "a", 1, NULL, 0, &err);
  OK();
  rocksdb_delete_file_in_range_cf(db, handles[2], "a", 1, "b", 1, &err);
  OK();
  char* property = rocksdb_property_value_cf(db, handles[2], "rocksdb.num-entries-active-mem-table");
  CHECK(property && !strcmp(property, "0"));
  rocksdb_free(property);
  CHECK(!rocksdb_property_value_cf(db, handles[2], "rocksdb.no-such-property"));

  rocksdb_column_family_handle_t* fourth = rocksdb_create_column_family(db, options, "fourth", &err);
  OK();
  rocksdb_drop_column_family(db, fourth, &err);
  OK();
  rocksdb_put_cf(db, wo, fourth, "k", 1, "v", 1, &err);
  CHECK(err);
  rocksdb_free(err);
  err = NULL;
  rocksdb_column_family_handle_destroy(fourth);
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);

  size_t count = 0;
  char** listed = rocksdb_list_column_families(options, path, &count, &err);
  OK();
  CHECK(count == 3);
  for (int i = 0; i < 3; i++) CHECK(!strcmp(listed[i], names[i]));
  rocksdb_list_column_families_destroy(listed, count);
  listed = rocksdb_list_column_families(options, path_in(argv[1], "nothing here"), &count, &err);
  CHECK(count == 0);
  rocksdb_list_column_families_destroy(listed, count);
  FAILED("", "nothing here");

  /* All families of a database have to be named to write it, some to read it. */
  CHECK(!rocksdb_open(options, path, &err));
  FAILED("Invalid argument: ", "counts");
  db = rocksdb_open_for_read_only(options, path, 0, &err);
  OK();
  GET(db, ro, "k3", "of default");
  rocksdb_put(db, wo, "k", 1, "v", 1, &err);
  FAILED("Not implemented: ", "");
  rocksdb_close(db);
  db = rocksdb_open_for_read_only_column_families(options, path, 3, names, each, handles, 0, &err);
  OK();
  GET_CF(db, ro, handles[2], "k3", "v3");
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  if (HERE) { /* RocksDB does not look at the flag here, only below. */
    CHECK(!rocksdb_open_for_read_only(options, path, 1, &err));
    FAILED("Corruption: ", "");
  }
  CHECK(!rocksdb_open_for_read_only_column_families(options, path, 3, names, each, handles, 1, &err));
  FAILED("Corruption: ", "");

  rocksdb_destroy_db(options, path, &err);
  OK();
  rocksdb_options_set_create_if_missing(options, 0);
  CHECK(!rocksdb_open(options, path, &err));
  FAILED("Invalid argument: ", "create_if_missing");
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(counting);
  return 0;
}
