/* Reading and writing one column family: puts, gets of every kind, batches, iterators, snapshots. */
#include "check.h"

static rocksdb_t* db;
static rocksdb_readoptions_t* ro;
static rocksdb_writeoptions_t* wo;

static void test_single_writes(void) {
  put(db, wo, "a", "1");
  put(db, wo, "b", "2");
  put(db, wo, "empty", "");
  GET(db, ro, "a", "1");
  GET(db, ro, "empty", "");
  GET(db, ro, "nothing", NULL);
  rocksdb_delete(db, wo, "a", 1, &err);
  OK();
  GET(db, ro, "a", NULL);
  rocksdb_singledelete(db, wo, "b", 1, &err);
  OK();
  GET(db, ro, "b", NULL);
  uint64_t one = 1, forty = 40, sum = 0;
  rocksdb_merge(db, wo, "sum", 3, (char*)&one, 8, &err);
  OK();
  rocksdb_merge(db, wo, "sum", 3, (char*)&forty, 8, &err);
  OK();
  size_t length = 0;
  char* value = rocksdb_get(db, ro, "sum", 3, &length, &err);
  OK();
  CHECK(length == 8);
  memcpy(&sum, value, 8);
  CHECK(sum == 41);
  rocksdb_free(value);
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(options, 1);
  put(db, options, "synced", "yes");
  rocksdb_writeoptions_set_sync(options, 0);
  rocksdb_writeoptions_disable_WAL(options, 1);
  put(db, options, "unlogged", "yes");
  rocksdb_writeoptions_set_sync(options, 1);
  rocksdb_put(db, options, "k", 1, "v", 1, &err);
  FAILED("Invalid argument: ", "WAL");
  rocksdb_writeoptions_destroy(options);
  rocksdb_flush_wal(db, 1, &err);
  OK();
}

static void test_batches(void) {
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  uint64_t two = 2;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  CHECK(rocksdb_writebatch_count(batch) == 0);
  rocksdb_writebatch_put(batch, "x", 1, "1", 1);
  rocksdb_writebatch_put_cf(batch, family, "y", 1, "2", 1);
  rocksdb_writebatch_put(batch, "z", 1, "3", 1);
  rocksdb_writebatch_delete(batch, "x", 1);
  rocksdb_writebatch_delete_cf(batch, family, "nothing", 7);
  rocksdb_writebatch_merge(batch, "batchsum", 8, (char*)&two, 8);
  rocksdb_writebatch_merge_cf(batch, family, "batchsum", 8, (char*)&two, 8);
  rocksdb_writebatch_put_log_data(batch, "note", 4);
  rocksdb_writebatch_delete_range_cf(batch, family, "z", 1, "zz", 2);
  CHECK(rocksdb_writebatch_count(batch) == 8);
  uint64_t before = rocksdb_get_latest_sequence_number(db);
  rocksdb_write(db, wo, batch, &err);
  OK();
  CHECK(rocksdb_get_latest_sequence_number(db) == before + 8);
  GET(db, ro, "x", NULL);
  GET(db, ro, "y", "2");
  GET(db, ro, "z", NULL);
  /* A batch survives its write, and its bytes make another. */
  rocksdb_delete(db, wo, "y", 1, &err);
  OK();
  size_t length = 0;
  const char* data = rocksdb_writebatch_data(batch, &length);
  CHECK(length > 12);
  rocksdb_writebatch_t* twin = rocksdb_writebatch_create_from(data, length);
  CHECK(rocksdb_writebatch_count(twin) == 8);
  rocksdb_write(db, wo, twin, &err);
  OK();
  // A batch that was written begins with the number of its first entry.
  uint64_t first = 0;
  memcpy(&first, rocksdb_writebatch_data(twin, &length), 8);
  CHECK(first + 7 == rocksdb_get_latest_sequence_number(db));
  GET(db, ro, "y", "2");
  size_t sum_length = 0;
  char* sum = rocksdb_get(db, ro, "batchsum", 8, &sum_length, &err);
  OK();
  CHECK(sum_length == 8 && sum[0] == 8);
  rocksdb_free(sum);
  rocksdb_writebatch_destroy(twin);
  rocksdb_writebatch_clear(batch);
  CHECK(rocksdb_writebatch_count(batch) == 0);
  rocksdb_write(db, wo, batch, &err);
  OK();
  rocksdb_writebatch_destroy(batch);
  /* What is no batch is refused when it is written. RocksDB stops accepting writes then. */
  if (HERE) {
    batch = rocksdb_writebatch_create_from("0123456789abcdef", 16);
    rocksdb_write(db, wo, batch, &err);
    FAILED("Corruption: ", "");
    rocksdb_writebatch_destroy(batch);
  }
  rocksdb_column_family_handle_destroy(family);
}

static void test_pinned(void) {
  put(db, wo, "in memory", "copied");
  rocksdb_pinnableslice_t* copied = rocksdb_get_pinned(db, ro, "in memory", 9, &err);
  OK();
  flush(db);
  rocksdb_pinnableslice_t* pinned = rocksdb_get_pinned(db, ro, "in memory", 9, &err);
  OK();
  put(db, wo, "in memory", "changed");
  CHECK(slice_is(copied, "copied") && slice_is(pinned, "copied"));
  rocksdb_pinnableslice_destroy(copied);
  rocksdb_pinnableslice_destroy(pinned);
  CHECK(!rocksdb_get_pinned(db, ro, "nothing", 7, &err));
  OK();
  size_t length = 7;
  CHECK(!rocksdb_pinnableslice_value(NULL, &length) && length == 0);
  rocksdb_pinnableslice_destroy(NULL);
}

static void test_multi_get(void) {
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  put(db, wo, "m1", "one");
  put(db, wo, "m3", "three");
  flush(db);
  put(db, wo, "m2", "two");
  const char* keys[] = {"m3", "m1", "none", "m2", "m1"};
  const size_t lengths[] = {2, 2, 4, 2, 2};
  const char* expected[] = {"three", "one", NULL, "two", "one"};
  char* values[5];
  size_t value_lengths[5];
  char* errors[5];
  rocksdb_multi_get(db, ro, 5, keys, lengths, values, value_lengths, errors);
  for (int i = 0; i < 5; i++) {
    CHECK(!errors[i]);
    CHECK(expected[i] ? is_bytes(values[i], value_lengths[i], expected[i]) : !values[i]);
    rocksdb_free(values[i]);
  }
  rocksdb_pinnableslice_t* slices[5];
  rocksdb_batched_multi_get_cf(db, ro, family, 5, keys, lengths, slices, errors, false);
  for (int i = 0; i < 5; i++) {
    CHECK(!errors[i]);
    if (expected[i]) {
      CHECK(slice_is(slices[i], expected[i]));
      rocksdb_pinnableslice_destroy(slices[i]);
    } else {
      CHECK(!slices[i]);
    }
  }
  rocksdb_multi_get(db, ro, 0, NULL, NULL, NULL, NULL, NULL);
  rocksdb_column_family_handle_destroy(family);
}

static void check_at(rocksdb_iterator_t* it, const char* key, const char* value) {
  CHECK(key_is(it, key) && value_is(it, value));
}

static void test_iterators(void) {
  const char* keys[] = {"i1", "i2", "i3", "i4"};
  for (int i = 0; i < 4; i++) put(db, wo, keys[i], keys[i]);
  rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
  char lower[] = "i1", upper[] = "i4";
  rocksdb_readoptions_set_iterate_lower_bound(bounded, lower, 2);
  rocksdb_readoptions_set_iterate_upper_bound(bounded, upper, 2);
  rocksdb_readoptions_set_fill_cache(bounded, 0);
  rocksdb_readoptions_set_verify_checksums(bounded, 1);
  rocksdb_readoptions_set_total_order_seek(bounded, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, bounded);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_seek_to_first(it);
  check_at(it, "i1", "i1");
  rocksdb_iter_next(it);
  check_at(it, "i2", "i2");
  rocksdb_iter_prev(it);
  check_at(it, "i1", "i1");
  rocksdb_iter_prev(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_seek_to_last(it);
  check_at(it, "i3", "i3");
  rocksdb_iter_next(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_seek(it, "i15", 3);
  check_at(it, "i2", "i2");
  rocksdb_iter_seek_for_prev(it, "i15", 3);
  check_at(it, "i1", "i1");
  rocksdb_iter_get_error(it, &err);
  OK();
  /* An iterator shows its moment until it is refreshed. */
  put(db, wo, "i25", "new");
  rocksdb_iter_seek(it, "i2", 2);
  rocksdb_iter_next(it);
  check_at(it, "i3", "i3");
  rocksdb_iter_refresh(it, &err);
  OK();
  rocksdb_iter_seek(it, "i2", 2);
  rocksdb_iter_next(it);
  check_at(it, "i25", "new");
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_set_iterate_lower_bound(bounded, NULL, 0);
  rocksdb_readoptions_set_iterate_upper_bound(bounded, NULL, 0);
  it = rocksdb_create_iterator(db, bounded);
  rocksdb_iter_seek(it, "i4", 2);
  check_at(it, "i4", "i4");
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(bounded);
}

/* Read options that are told, and a deadline that has passed: what is in no memory is not read any more. */
static void test_read_times(void) {
  put(db, wo, "timed", "in a file");
  rocksdb_flushoptions_t* fo = rocksdb_flushoptions_create();
  rocksdb_flush(db, fo, &err);
  OK();
  rocksdb_flushoptions_destroy(fo);
  put(db, wo, "untimed", "in memory");
  rocksdb_readoptions_t* timed = rocksdb_readoptions_create();
  CHECK(rocksdb_readoptions_get_deadline(timed) == 0 && rocksdb_readoptions_get_io_timeout(timed) == 0);
  CHECK(rocksdb_readoptions_get_readahead_size(timed) == 0 && !rocksdb_readoptions_get_async_io(timed));
  CHECK(!rocksdb_readoptions_get_adaptive_readahead(timed) && rocksdb_readoptions_get_auto_readahead_size(timed));
  rocksdb_readoptions_set_deadline(timed, 1000000);
  rocksdb_readoptions_set_io_timeout(timed, 60000000);
  rocksdb_readoptions_set_readahead_size(timed, 8192);
  rocksdb_readoptions_set_async_io(timed, 1);
  rocksdb_readoptions_set_adaptive_readahead(timed, 1);
  rocksdb_readoptions_set_auto_readahead_size(timed, 0);
  CHECK(rocksdb_readoptions_get_deadline(timed) == 1000000 && rocksdb_readoptions_get_io_timeout(timed) == 60000000);
  CHECK(rocksdb_readoptions_get_readahead_size(timed) == 8192 && rocksdb_readoptions_get_async_io(timed));
  CHECK(rocksdb_readoptions_get_adaptive_readahead(timed) && !rocksdb_readoptions_get_auto_readahead_size(timed));
  size_t length;
  CHECK(!rocksdb_get(db, timed, "timed", 5, &length, &err));
  FAILED("Operation timed out: ", "");
  GET(db, timed, "untimed", "in memory");
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, timed);
  rocksdb_iter_seek(it, "timed", 5);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_get_error(it, &err);
  FAILED("Operation timed out: ", "");
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_set_deadline(timed, 0);
  GET(db, timed, "timed", "in a file");
  rocksdb_readoptions_destroy(timed);
}

static void test_snapshots(void) {
  put(db, wo, "moment", "before");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  CHECK(rocksdb_snapshot_get_sequence_number(snapshot) == rocksdb_get_latest_sequence_number(db));
  put(db, wo, "moment", "after");
  rocksdb_readoptions_t* then = rocksdb_readoptions_create();
  rocksdb_readoptions_set_snapshot(then, snapshot);
  GET(db, then, "moment", "before");
  GET(db, ro, "moment", "after");
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, then);
  rocksdb_iter_seek(it, "moment", 6);
  check_at(it, "moment", "before");
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_set_snapshot(then, NULL);
  GET(db, then, "moment", "after");
  rocksdb_readoptions_destroy(then);
  rocksdb_release_snapshot(db, snapshot);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_uint64add_merge_operator(options);
  db = rocksdb_open(options, path_in(argv[1], "basic"), &err);
  OK();
  ro = rocksdb_readoptions_create();
  wo = rocksdb_writeoptions_create();
  test_single_writes();
  test_batches();
  test_pinned();
  test_multi_get();
  test_iterators();
  test_read_times();
  test_snapshots();
  rocksdb_close(db);
  /* Everything is there when it opens again, the unlogged write too. */
  db = rocksdb_open(options, path_in(argv[1], "basic"), &err);
  OK();
  GET(db, ro, "unlogged", "yes");
  GET(db, ro, "moment", "after");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  return 0;
}
