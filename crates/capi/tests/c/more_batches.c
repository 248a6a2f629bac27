/* Batches: parts, save points, telling what they hold. */
#include "check.h"

static char told[4096];

static void say(const char* kind, uint32_t family, const char* a, size_t a_length, const char* b, size_t b_length) {
  size_t at = strlen(told);
  snprintf(told + at, sizeof told - at, "%s%u(%.*s,%.*s) ", kind, family, (int)a_length, a, (int)b_length, b ? b : "");
}
static void on_put(void* state, const char* k, size_t kl, const char* v, size_t vl) {
  (void)state;
  say("put", 0, k, kl, v, vl);
}
static void on_delete(void* state, const char* k, size_t kl) {
  (void)state;
  say("delete", 0, k, kl, "", 0);
}
static void on_log(void* state, const char* k, size_t kl) {
  (void)state;
  say("log", 0, k, kl, "", 0);
}
static void on_put_cf(void* state, uint32_t family, const char* k, size_t kl, const char* v, size_t vl) {
  (void)state;
  say("put", family, k, kl, v, vl);
}
static void on_merge_cf(void* state, uint32_t family, const char* k, size_t kl, const char* v, size_t vl) {
  (void)state;
  say("merge", family, k, kl, v, vl);
}
static void on_delete_cf(void* state, uint32_t family, const char* k, size_t kl) {
  (void)state;
  say("delete", family, k, kl, "", 0);
}

#define TOLD(text) \
  do { \
    if (strcmp(told, text)) { \
      fprintf(stderr, "%s:%d: told \"%s\"\n", __FILE__, __LINE__, told); \
      exit(1); \
    } \
    told[0] = 0; \
  } while (0)

static void test_save_points(void) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_with_params(100, 0, 0, 0);
  rocksdb_writebatch_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_put(batch, "b", 1, "2", 1);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_singledelete(batch, "c", 1);
  CHECK(rocksdb_writebatch_count(batch) == 3);
  rocksdb_writebatch_pop_save_point(batch, &err);
  OK();
  CHECK(rocksdb_writebatch_count(batch) == 3);
  rocksdb_writebatch_rollback_to_save_point(batch, &err);
  OK();
  CHECK(rocksdb_writebatch_count(batch) == 1);
  rocksdb_writebatch_rollback_to_save_point(batch, &err);
  FAILED("NotFound: ", "");
  rocksdb_writebatch_pop_save_point(batch, &err);
  FAILED("NotFound: ", "");
  rocksdb_writebatch_verify_checksum(batch, &err);
  OK();
  rocksdb_writebatch_iterate(batch, NULL, on_put, on_delete);
  TOLD("put0(a,1) ");
  rocksdb_writebatch_destroy(batch);
}

static void test_parts(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  const char* key[] = {"k", "ey"};
  const size_t key_lengths[] = {1, 2};
  const char* value[] = {"va", "lue"};
  const size_t value_lengths[] = {2, 3};
  const char* to[] = {"k", "f"};
  const size_t to_lengths[] = {1, 1};
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_putv(batch, 2, key, key_lengths, 2, value, value_lengths);
  rocksdb_writebatch_putv_cf(batch, family, 2, key, key_lengths, 1, value, value_lengths);
  rocksdb_writebatch_mergev_cf(batch, family, 2, key, key_lengths, 2, value, value_lengths);
  rocksdb_writebatch_put_log_data(batch, "note", 4);
  rocksdb_writebatch_iterate_cf(batch, NULL, on_put_cf, on_delete_cf, on_merge_cf);
  TOLD("put0(key,value) put1(key,va) merge1(key,value) ");
  rocksdb_writebatch_iterate_cf_ld(batch, NULL, on_put_cf, on_delete_cf, on_merge_cf, on_log);
  TOLD("put0(key,value) put1(key,va) merge1(key,value) log0(note,) ");
  rocksdb_writebatch_iterate(batch, NULL, on_put, on_delete);
  TOLD("put0(key,value) ");
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_mergev(batch, 2, key, key_lengths, 2, value, value_lengths);
  rocksdb_writebatch_deletev(batch, 2, key, key_lengths);
  rocksdb_writebatch_put_log_data(batch, "note", 4);
  rocksdb_writebatch_iterate_ld(batch, NULL, on_put, on_delete, on_log);
  TOLD("delete0(key,) log0(note,) ");
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_putv(batch, 2, key, key_lengths, 2, value, value_lengths);
  rocksdb_writebatch_putv_cf(batch, family, 2, key, key_lengths, 1, value, value_lengths);
  rocksdb_write(db, wo, batch, &err);
  OK();
  GET(db, ro, "key", "value");
  GET_CF(db, ro, family, "key", "va");
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_deletev(batch, 2, key, key_lengths);
  rocksdb_writebatch_deletev_cf(batch, family, 2, key, key_lengths);
  rocksdb_writebatch_singledelete_cf(batch, family, "other", 5);
  rocksdb_write(db, wo, batch, &err);
  OK();
  GET(db, ro, "key", NULL);
  GET_CF(db, ro, family, "key", NULL);
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_put(batch, "key", 3, "1", 1);
  rocksdb_writebatch_put(batch, "kz", 2, "2", 1);
  rocksdb_writebatch_delete_range(batch, "ka", 2, "kf", 2);
  rocksdb_writebatch_delete_rangev(batch, 2, key, key_lengths, to, to_lengths);
  rocksdb_writebatch_delete_rangev_cf(batch, family, 2, key, key_lengths, to, to_lengths);
  rocksdb_write(db, wo, batch, &err);
  OK();
  GET(db, ro, "key", NULL);
  GET(db, ro, "kz", "2");
  rocksdb_writebatch_destroy(batch);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  test_save_points();
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_t* db = rocksdb_open(options, path_in(argv[1], "batches"), &err);
  OK();
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, options, "other", &err);
  OK();
  test_parts(db, family);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
