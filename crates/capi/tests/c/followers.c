/* A secondary beside its primary: what it sees, and when. */
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096], own[4096], other[4096];
  snprintf(path, sizeof path, "%s/primary", argv[1]);
  snprintf(own, sizeof own, "%s/secondary", argv[1]);
  snprintf(other, sizeof other, "%s/secondary of families", argv[1]);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_max_open_files(options, -1);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  const char* names[2] = {"default", "second"};
  const rocksdb_options_t* each[2] = {options, options};
  rocksdb_column_family_handle_t *handles[2], *seen[2];

  CHECK(!rocksdb_open_as_secondary(options, path, own, &err));
  FAILED("", "");
  rocksdb_t* db = rocksdb_open_column_families(options, path, 2, names, each, handles, &err);
  OK();
  rocksdb_put(db, wo, "k", 1, "1", 1, &err);
  OK();
  rocksdb_try_catch_up_with_primary(db, &err);
  FAILED("Not implemented: ", "");

  rocksdb_t* secondary = rocksdb_open_as_secondary(options, path, own, &err);
  OK();
  rocksdb_t* all = rocksdb_open_as_secondary_column_families(options, path, other, 2, names, each, seen, &err);
  OK();
  GET(secondary, ro, "k", "1");
  GET_CF(all, ro, seen[0], "k", "1");
  GET_CF(all, ro, seen[1], "k", NULL);
  rocksdb_put(secondary, wo, "k", 1, "v", 1, &err);
  FAILED("Not implemented: ", "");

  /* Out of the log. */
  rocksdb_put(db, wo, "k", 1, "2", 1, &err);
  OK();
  rocksdb_put_cf(db, wo, handles[1], "k", 1, "of second", 9, &err);
  OK();
  GET(secondary, ro, "k", "1");
  rocksdb_try_catch_up_with_primary(secondary, &err);
  OK();
  rocksdb_try_catch_up_with_primary(all, &err);
  OK();
  GET(secondary, ro, "k", "2");
  GET_CF(all, ro, seen[1], "k", "of second");

  /* Out of tables. */
  rocksdb_put(db, wo, "k", 1, "3", 1, &err);
  OK();
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_try_catch_up_with_primary(secondary, &err);
  OK();
  rocksdb_try_catch_up_with_primary(all, &err);
  OK();
  /* RocksDB's goes on reading its copy of the log where a flush has ended that. */
  if (HERE) GET(secondary, ro, "k", "3");
  rocksdb_iterator_t* iterators[2];
  rocksdb_create_iterators(all, ro, seen, iterators, 2, &err);
  OK();
  rocksdb_iter_seek_to_first(iterators[0]);
  CHECK(key_is(iterators[0], "k") && (!HERE || value_is(iterators[0], "3")));
  rocksdb_iter_seek_to_first(iterators[1]);
  CHECK(key_is(iterators[1], "k") && value_is(iterators[1], "of second"));
  rocksdb_iter_destroy(iterators[0]);
  rocksdb_iter_destroy(iterators[1]);

  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(seen[i]);
  rocksdb_close(all);
  rocksdb_close(secondary);
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  rocksdb_flushoptions_destroy(fo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
