/* Batches that can be read before they are written. */
#include "check.h"
#include <stdint.h>

static rocksdb_options_t* options;
static rocksdb_writeoptions_t* wo;
static rocksdb_readoptions_t* ro;

static const uint64_t one = 1, two = 2, three = 3, ten = 10;
#define NUMBER(n) (const char*)&n, 8

/* The value of a malloc'ed answer. */
static int answers(char* value, size_t length, const char* expected) {
  int same = expected ? is_bytes(value, length, expected) : value == NULL;
  rocksdb_free(value);
  return same;
}

static int is_number(char* value, size_t length, uint64_t expected) {
  int same = value && length == 8 && !memcmp(value, &expected, 8);
  rocksdb_free(value);
  return same;
}

/* What a call that sets `length` answers. */
#define ANSWERS(call, expected) \
  do { \
    char* answer = (call); \
    OK(); \
    CHECK(answers(answer, length, expected)); \
  } while (0)
#define NUMBERS(call, expected) \
  do { \
    char* answer = (call); \
    OK(); \
    CHECK(is_number(answer, length, expected)); \
  } while (0)

static int at(const rocksdb_iterator_t* it, const char* key, const char* expected) {
  size_t length = 99;
  const char* value = rocksdb_iter_value(it, &length);
  return key_is(it, key) && is_bytes(value, length, expected);
}

static void test_adding(rocksdb_column_family_handle_t* family) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  const char* parts[] = {"ke", "y"};
  const size_t lengths[] = {2, 1};
  rocksdb_writebatch_wi_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_wi_put_cf(batch, family, "a", 1, "2", 1);
  rocksdb_writebatch_wi_putv(batch, 2, parts, lengths, 2, parts, lengths);
  rocksdb_writebatch_wi_putv_cf(batch, family, 2, parts, lengths, 2, parts, lengths);
  rocksdb_writebatch_wi_delete(batch, "b", 1);
  rocksdb_writebatch_wi_delete_cf(batch, family, "b", 1);
  rocksdb_writebatch_wi_deletev(batch, 2, parts, lengths);
  rocksdb_writebatch_wi_deletev_cf(batch, family, 2, parts, lengths);
  rocksdb_writebatch_wi_singledelete(batch, "c", 1);
  rocksdb_writebatch_wi_singledelete_cf(batch, family, "c", 1);
  rocksdb_writebatch_wi_merge(batch, "m", 1, NUMBER(one));
  rocksdb_writebatch_wi_merge_cf(batch, family, "m", 1, NUMBER(one));
  rocksdb_writebatch_wi_mergev(batch, 2, parts, lengths, 2, parts, lengths);
  rocksdb_writebatch_wi_mergev_cf(batch, family, 2, parts, lengths, 2, parts, lengths);
  rocksdb_writebatch_wi_put_log_data(batch, "log", 3);
  CHECK(rocksdb_writebatch_wi_count(batch) == 14);
  size_t length = 0;
  const char* data = rocksdb_writebatch_wi_data(batch, &length);
  rocksdb_writebatch_t* copy = rocksdb_writebatch_create_from(data, length);
  CHECK(rocksdb_writebatch_count(copy) == 14);
  rocksdb_writebatch_destroy(copy);
  rocksdb_writebatch_wi_clear(batch);
  CHECK(rocksdb_writebatch_wi_count(batch) == 0);
  rocksdb_writebatch_wi_destroy(batch);
}

static int puts_told, deletes_told;
static void on_put(void* state, const char* key, size_t key_length, const char* value, size_t value_length) {
  CHECK(state == &puts_told && key_length == 1 && value_length == 1 && *value == *key - 'a' + '1');
  puts_told++;
}
static void on_delete(void* state, const char* key, size_t key_length) {
  CHECK(state == &puts_told && is_bytes(key, key_length, "d"));
  deletes_told++;
}

static void test_telling(void) {
#if HERE
  /* Null is the order of bytes; RocksDB takes it as it is. */
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create_with_params(NULL, 100, 0, 0, 0);
#else
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(100, 0);
#endif
  rocksdb_writebatch_wi_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_wi_delete(batch, "d", 1);
  rocksdb_writebatch_wi_put(batch, "b", 1, "2", 1);
  rocksdb_writebatch_wi_iterate(batch, &puts_told, on_put, on_delete);
  CHECK(puts_told == 2 && deletes_told == 1);
  rocksdb_writebatch_wi_destroy(batch);
}

static void test_reading(rocksdb_t* db, rocksdb_column_family_handle_t* family, unsigned char overwrites) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, overwrites);
  size_t length = 99;
  rocksdb_put(db, wo, "a", 1, "below", 5, &err);
  rocksdb_put(db, wo, "b", 1, "below", 5, &err);
  rocksdb_put_cf(db, wo, family, "a", 1, "family", 6, &err);
  OK();
  rocksdb_writebatch_wi_put(batch, "a", 1, "old", 3);
  rocksdb_writebatch_wi_put(batch, "a", 1, "new", 3);
  rocksdb_writebatch_wi_delete(batch, "b", 1);
  rocksdb_writebatch_wi_put_cf(batch, family, "b", 1, "other", 5);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "a", 1, &length, &err), "new");
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "b", 1, &length, &err), NULL);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "c", 1, &length, &err), NULL);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, "b", 1, &length, &err), "other");
  ANSWERS(rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, "a", 1, &length, &err), NULL);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch_and_db(batch, db, ro, "a", 1, &length, &err), "new");
  ANSWERS(rocksdb_writebatch_wi_get_from_batch_and_db(batch, db, ro, "b", 1, &length, &err), NULL);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, ro, family, "a", 1, &length, &err), "family");
  OK();
  rocksdb_pinnableslice_t* pinned = rocksdb_writebatch_wi_get_pinned_from_batch_and_db(batch, db, ro, "a", 1, &err);
  CHECK(slice_is(pinned, "new"));
  rocksdb_pinnableslice_destroy(pinned);
  pinned = rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(batch, db, ro, family, "b", 1, &err);
  CHECK(slice_is(pinned, "other"));
  rocksdb_pinnableslice_destroy(pinned);
  CHECK(!rocksdb_writebatch_wi_get_pinned_from_batch_and_db(batch, db, ro, "b", 1, &err));
  OK();
  /* Save points. */
  rocksdb_writebatch_wi_set_save_point(batch);
  rocksdb_writebatch_wi_put(batch, "a", 1, "newest", 6);
  rocksdb_writebatch_wi_put(batch, "b", 1, "back", 4);
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "b", 1, &length, &err), "back");
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &err);
  OK();
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "a", 1, &length, &err), "new");
  ANSWERS(rocksdb_writebatch_wi_get_from_batch(batch, options, "b", 1, &length, &err), NULL);
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &err);
  FAILED("NotFound: ", "");
  rocksdb_write_writebatch_wi(db, wo, batch, &err);
  OK();
  ANSWERS(rocksdb_get(db, ro, "a", 1, &length, &err), "new");
  ANSWERS(rocksdb_get(db, ro, "b", 1, &length, &err), NULL);
  ANSWERS(rocksdb_get_cf(db, ro, family, "b", 1, &length, &err), "other");
  rocksdb_writebatch_wi_destroy(batch);
}

static void test_operands(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  size_t length = 99;
  rocksdb_put_cf(db, wo, family, "n", 1, NUMBER(ten), &err);
  OK();
  rocksdb_writebatch_wi_merge_cf(batch, family, "n", 1, NUMBER(one));
  rocksdb_writebatch_wi_merge_cf(batch, family, "n", 1, NUMBER(two));
  CHECK(!rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, "n", 1, &length, &err));
  FAILED("Merge in progress: ", "");
  NUMBERS(rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, ro, family, "n", 1, &length, &err), 13);
  OK();
  rocksdb_writebatch_wi_put_cf(batch, family, "n", 1, NUMBER(three));
  rocksdb_writebatch_wi_merge_cf(batch, family, "n", 1, NUMBER(two));
  NUMBERS(rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, "n", 1, &length, &err), 5);
  OK();
  rocksdb_writebatch_wi_delete_cf(batch, family, "n", 1);
  rocksdb_writebatch_wi_merge_cf(batch, family, "n", 1, NUMBER(two));
  NUMBERS(rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, ro, family, "n", 1, &length, &err), 2);
  OK();
  rocksdb_iterator_t* base = rocksdb_create_iterator_cf(db, ro, family);
  rocksdb_iterator_t* it = rocksdb_writebatch_wi_create_iterator_with_base_cf(batch, base, family);
  rocksdb_iter_seek(it, "n", 1);
  const char* value = rocksdb_iter_value(it, &length);
  CHECK(key_is(it, "n") && length == 8 && !memcmp(value, &two, 8));
  rocksdb_iter_destroy(it);
  rocksdb_writebatch_wi_destroy(batch);
}

static void test_iterators(rocksdb_t* db) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  const char* keys[] = {"p1", "p3", "p5", "p7"};
  for (int i = 0; i < 4; i++) {
    rocksdb_put(db, wo, keys[i], 2, "base", 4, &err);
    OK();
  }
  rocksdb_writebatch_wi_put(batch, "p2", 2, "batch", 5);
  rocksdb_writebatch_wi_put(batch, "p3", 2, "batch", 5);
  rocksdb_writebatch_wi_delete(batch, "p5", 2);
  rocksdb_writebatch_wi_delete(batch, "p6", 2);
  rocksdb_writebatch_wi_put(batch, "p8", 2, "batch", 5);
  rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
  rocksdb_readoptions_set_iterate_upper_bound(bounded, "p8", 2);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  for (int kind = 0; kind < 4; kind++) {
    rocksdb_iterator_t* base = rocksdb_create_iterator(db, kind >= 2 ? bounded : ro);
    rocksdb_iterator_t* it = kind == 0   ? rocksdb_writebatch_wi_create_iterator_with_base(batch, base)
                             : kind == 1 ? rocksdb_writebatch_wi_create_iterator_with_base_cf(batch, base, family)
                             : kind == 2 ? rocksdb_writebatch_wi_create_iterator_with_base_readopts(batch, base, bounded)
                                         : rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(batch, base, family, bounded);
    rocksdb_iter_seek(it, "p", 1);
    CHECK(at(it, "p1", "base"));
    rocksdb_iter_next(it);
    CHECK(at(it, "p2", "batch"));
    rocksdb_iter_next(it);
    CHECK(at(it, "p3", "batch"));
    rocksdb_iter_next(it);
    CHECK(at(it, "p7", "base"));
    rocksdb_iter_prev(it);
    CHECK(at(it, "p3", "batch"));
    rocksdb_iter_next(it);
    rocksdb_iter_next(it);
    CHECK(kind >= 2 ? !rocksdb_iter_valid(it) : at(it, "p8", "batch"));
    rocksdb_iter_seek_for_prev(it, "p6", 2);
    CHECK(at(it, "p3", "batch"));
    rocksdb_iter_seek_to_last(it);
    CHECK(kind >= 2 ? at(it, "p7", "base") : at(it, "p8", "batch"));
    rocksdb_iter_get_error(it, &err);
    OK();
    rocksdb_iter_destroy(it);
  }
  rocksdb_column_family_handle_destroy(family);
  rocksdb_readoptions_destroy(bounded);
  rocksdb_writebatch_wi_destroy(batch);
}

#if HERE
static void test_what_is_refused(rocksdb_t* db) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create_with_params(NULL, 0, 1, 30, 0);
  rocksdb_writebatch_wi_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_wi_put(batch, "b", 1, "this is too long to be added", 28);
  CHECK(rocksdb_writebatch_wi_count(batch) == 1);
  rocksdb_write_writebatch_wi(db, wo, batch, &err);
  FAILED("", "may have 30");
  rocksdb_writebatch_wi_clear(batch);
  rocksdb_write_writebatch_wi(db, wo, batch, &err);
  OK();
  rocksdb_writebatch_wi_delete_range(batch, "a", 1, "b", 1);
  rocksdb_write_writebatch_wi(db, wo, batch, &err);
  FAILED("Not implemented: ", "rocksdb_writebatch_wi_delete_range");
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_writebatch_t* plain = rocksdb_writebatch_create_with_params(0, 30, 0, 0);
  rocksdb_writebatch_put(plain, "a", 1, "1", 1);
  rocksdb_writebatch_put(plain, "b", 1, "this is too long to be added", 28);
  CHECK(rocksdb_writebatch_count(plain) == 1);
  rocksdb_write(db, wo, plain, &err);
  FAILED("", "may have 30");
  rocksdb_writebatch_destroy(plain);
  /* An iterator over a batch is no base of another. */
  batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_iterator_t* it = rocksdb_writebatch_wi_create_iterator_with_base(batch, rocksdb_create_iterator(db, ro));
  it = rocksdb_writebatch_wi_create_iterator_with_base(batch, it);
  rocksdb_iter_seek_to_first(it);
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_get_error(it, &err);
  FAILED("Invalid argument: ", "over a batch");
  rocksdb_iter_destroy(it);
  rocksdb_writebatch_wi_destroy(batch);
}
#endif

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/db", argv[1]);
  options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_uint64add_merge_operator(options);
  wo = rocksdb_writeoptions_create();
  ro = rocksdb_readoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, options, "family", &err);
  OK();
  test_adding(family);
  test_telling();
  test_reading(db, family, 0);
  rocksdb_delete_cf(db, wo, family, "b", 1, &err);
  OK();
  test_reading(db, family, 1);
  test_operands(db, family);
  test_iterators(db);
#if HERE
  test_what_is_refused(db);
#endif
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  return 0;
}
