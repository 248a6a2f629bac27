/* Components made of callbacks: what they do, and that each destructor runs exactly once. */
#include <pthread.h>
#include "check.h"

/* A state that counts its ends. */
struct state {
  const char* name;
  int destroyed;
};
static void destroy(void* state) { ((struct state*)state)->destroyed++; }
static const char* name(void* state) { return ((struct state*)state)->name; }

/* Shorter keys first, then backwards. */
static int compare(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  (void)state;
  if (a_length != b_length) return a_length < b_length ? -1 : 1;
  return memcmp(b, a, a_length);
}

/* Joins with a plus; an operand "!" cannot be joined. */
static char* join(const char* existing, size_t existing_length, const char* const* operands, const size_t* lengths,
                  int count, unsigned char* success, size_t* result_length) {
  size_t size = existing_length + 1;
  for (int i = 0; i < count; i++) size += lengths[i] + 1;
  char* result = malloc(size);
  size_t at = 0;
  if (existing) {
    memcpy(result, existing, existing_length);
    at = existing_length;
  }
  *success = 1;
  for (int i = 0; i < count; i++) {
    if (lengths[i] == 1 && operands[i][0] == '!') *success = 0;
    if (at) result[at++] = '+';
    memcpy(result + at, operands[i], lengths[i]);
    at += lengths[i];
  }
  *result_length = at;
  return result;
}
static char* full_merge(void* state, const char* key, size_t key_length, const char* existing, size_t existing_length,
                        const char* const* operands, const size_t* lengths, int count, unsigned char* success,
                        size_t* result_length) {
  (void)state, (void)key, (void)key_length;
  return join(existing, existing_length, operands, lengths, count, success, result_length);
}
static char* partial_merge(void* state, const char* key, size_t key_length, const char* const* operands,
                           const size_t* lengths, int count, unsigned char* success, size_t* result_length) {
  (void)state, (void)key, (void)key_length;
  return join(NULL, 0, operands, lengths, count, success, result_length);
}
static int deleted = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void delete_value(void* state, const char* value, size_t length) {
  (void)state, (void)length;
  pthread_mutex_lock(&lock);
  deleted++;
  pthread_mutex_unlock(&lock);
  free((char*)value);
}

/* Removes values "old", changes "raw" to "done". */
static unsigned char filter(void* state, int level, const char* key, size_t key_length, const char* existing,
                            size_t existing_length, char** new_value, size_t* new_length,
                            unsigned char* value_changed) {
  (void)state, (void)level, (void)key, (void)key_length;
  if (is_bytes(existing, existing_length, "old")) return 1;
  if (is_bytes(existing, existing_length, "raw")) {
    *new_value = "done";
    *new_length = 4;
    *value_changed = 1;
  }
  return 0;
}

static void test_comparator(const char* path, rocksdb_readoptions_t* ro, rocksdb_writeoptions_t* wo) {
  struct state state = {"check.ShortFirst", 0};
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(&state, destroy, compare, name);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_comparator(options, comparator);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "bb", "1");
  put(db, wo, "a", "2");
  put(db, wo, "aa", "3");
  flush(db);
  put(db, wo, "b", "4");
  const char* order[] = {"b", "a", "bb", "aa"};
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
  rocksdb_iter_seek_to_first(it);
  for (int i = 0; i < 4; i++) {
    CHECK(key_is(it, order[i]));
    rocksdb_iter_next(it);
  }
  CHECK(!rocksdb_iter_valid(it));
  rocksdb_iter_destroy(it);
  rocksdb_close(db);
  /* The directory remembers the name. */
  rocksdb_options_t* bytewise = new_options();
  CHECK(!rocksdb_open(bytewise, path, &err));
  FAILED("Invalid argument: ", "check.ShortFirst");
  rocksdb_options_destroy(bytewise);
  CHECK(state.destroyed == 0);
  rocksdb_options_destroy(options);
  CHECK(state.destroyed == 0);
  rocksdb_comparator_destroy(comparator);
  CHECK(state.destroyed == 1);
}

static void test_merge_operator(const char* path, rocksdb_readoptions_t* ro, rocksdb_writeoptions_t* wo) {
  struct state state = {"check.Join", 0};
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(&state, destroy, full_merge, partial_merge, delete_value, name));
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "k", "a");
  rocksdb_merge(db, wo, "k", 1, "b", 1, &err);
  OK();
  rocksdb_merge(db, wo, "k", 1, "c", 1, &err);
  OK();
  rocksdb_merge(db, wo, "fresh", 5, "x", 1, &err);
  OK();
  GET(db, ro, "k", "a+b+c");
  GET(db, ro, "fresh", "x");
  CHECK(deleted > 0);
  flush(db);
  rocksdb_merge(db, wo, "k", 1, "d", 1, &err);
  OK();
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  GET(db, ro, "k", "a+b+c+d");
  rocksdb_merge(db, wo, "bad", 3, "!", 1, &err);
  OK();
  size_t length = 0;
  CHECK(!rocksdb_get(db, ro, "bad", 3, &length, &err));
  FAILED("Corruption: ", "Merge operator failed");
  rocksdb_options_destroy(options);
  CHECK(state.destroyed == 0);
  rocksdb_close(db);
  CHECK(state.destroyed == 1);
}

static void test_compaction_filter(const char* path, rocksdb_readoptions_t* ro, rocksdb_writeoptions_t* wo) {
  struct state state = {"check.Filter", 0};
  rocksdb_compactionfilter_t* compaction_filter = rocksdb_compactionfilter_create(&state, destroy, filter, name);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_compaction_filter(options, compaction_filter);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "k1", "old");
  put(db, wo, "k2", "raw");
  put(db, wo, "k3", "kept");
  flush(db);
  /* As in RocksDB, a flush does not ask. */
  GET(db, ro, "k1", "old");
  GET(db, ro, "k2", "raw");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  GET(db, ro, "k1", NULL);
  GET(db, ro, "k2", "done");
  GET(db, ro, "k3", "kept");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(compaction_filter);
  CHECK(state.destroyed == 1);
}

/* A factory: its state, what it was told last, and the states of the filters that it made. */
struct factory {
  struct state own;
  int is_full, is_manual, made;
  struct state filters[8];
};
static const char* factory_name(void* state) { return ((struct factory*)state)->own.name; }
static rocksdb_compactionfilter_t* make_filter(void* state, rocksdb_compactionfiltercontext_t* context) {
  struct factory* factory = state;
  factory->is_full = rocksdb_compactionfiltercontext_is_full_compaction(context);
  factory->is_manual = rocksdb_compactionfiltercontext_is_manual_compaction(context);
  if (factory->made == 8) return NULL;
  struct state* filter_state = &factory->filters[factory->made++];
  filter_state->name = "check.Made";
  return rocksdb_compactionfilter_create(filter_state, destroy, filter, name);
}

static void test_filter_factory(const char* path, rocksdb_readoptions_t* ro, rocksdb_writeoptions_t* wo) {
  struct factory state = {.own = {"check.Factory", 0}};
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(&state, destroy, make_filter, factory_name));
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_options_destroy(options);
  put(db, wo, "k1", "old");
  put(db, wo, "k2", "raw");
  flush(db);
  CHECK(state.made == 0);
  GET(db, ro, "k1", "old");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(state.made == 1 && state.is_full == 1 && state.is_manual == 1);
  CHECK(state.filters[0].destroyed == 1);
  GET(db, ro, "k1", NULL);
  GET(db, ro, "k2", "done");
  state.made = 8;
  put(db, wo, "k3", "old");
  rocksdb_compact_range(db, "k3", 2, "k4", 2);
  GET(db, ro, "k3", "old");
  rocksdb_close(db);
  CHECK(state.own.destroyed == 1);
  /* Never given to options, without a function, and null. */
  rocksdb_compactionfilterfactory_destroy(
      rocksdb_compactionfilterfactory_create(&state, destroy, make_filter, factory_name));
  CHECK(state.own.destroyed == 2);
  options = new_options();
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(&state, destroy, NULL, factory_name));
  CHECK(state.own.destroyed == 3);
  CHECK(!rocksdb_open(options, path, &err));
  FAILED("Invalid argument: ", "create_compaction_filter");
  rocksdb_options_set_compaction_filter_factory(options, NULL);
  db = rocksdb_open(options, path, &err);
  OK();
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* The handle may go before the database is opened. */
static void test_partitioner(const char* path, rocksdb_readoptions_t* ro, rocksdb_writeoptions_t* wo) {
  rocksdb_options_t* options = new_options();
  rocksdb_sst_partitioner_factory_t* factory = rocksdb_sst_partitioner_fixed_prefix_factory_create(2);
  rocksdb_options_set_sst_partitioner_factory(options, factory);
  rocksdb_options_set_sst_partitioner_factory(options, NULL);
  rocksdb_sst_partitioner_factory_destroy(factory);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "aa1", "1");
  put(db, wo, "ab1", "2");
  flush(db);
  put(db, wo, "aa2", "3");
  put(db, wo, "b", "4");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  CHECK(rocksdb_livefiles_count(files) == 3);
  rocksdb_livefiles_destroy(files);
  GET(db, ro, "aa2", "3");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* Whatever fails, what was made is ended once. */
static void test_failed_opens(const char* path) {
  struct state order = {"check.ShortFirst", 0}, merge = {"check.Join", 0}, filtering = {"check.Filter", 0};
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(&order, destroy, compare, name);
  rocksdb_compactionfilter_t* compaction_filter = rocksdb_compactionfilter_create(&filtering, destroy, filter, name);
  rocksdb_options_set_comparator(options, comparator);
  rocksdb_options_set_compaction_filter(options, compaction_filter);
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(&merge, destroy, full_merge, partial_merge, NULL, name));
  for (int i = 0; i < 2; i++) {
    CHECK(!rocksdb_open(options, path, &err));
    FAILED("Invalid argument: ", "");
  }
  CHECK(order.destroyed + merge.destroyed + filtering.destroyed == 0);
  rocksdb_options_destroy(options);
  CHECK(merge.destroyed == 1);
  rocksdb_comparator_destroy(comparator);
  rocksdb_compactionfilter_destroy(compaction_filter);
  CHECK(order.destroyed == 1 && filtering.destroyed == 1);
  /* Never given to options. */
  rocksdb_mergeoperator_destroy(
      rocksdb_mergeoperator_create(&merge, destroy, full_merge, partial_merge, delete_value, name));
  CHECK(merge.destroyed == 2);
  /* Given, and replaced. */
  options = rocksdb_options_create();
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(&merge, destroy, full_merge, partial_merge, delete_value, name));
  rocksdb_options_set_uint64add_merge_operator(options);
  CHECK(merge.destroyed == 3);
  rocksdb_options_destroy(options);
}

static void test_slice_transforms(const char* path, rocksdb_writeoptions_t* wo) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_noop());
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(2));
  rocksdb_slicetransform_destroy(rocksdb_slicetransform_create_noop());
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "aa1", "1");
  put(db, wo, "aa2", "2");
  put(db, wo, "ab1", "3");
  rocksdb_readoptions_t* same = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(same, 1);
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, same);
  int count = 0;
  for (rocksdb_iter_seek(it, "aa", 2); rocksdb_iter_valid(it); rocksdb_iter_next(it)) count++;
  CHECK(count == 2);
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(same);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static int never(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  (void)state, (void)a, (void)a_length, (void)b, (void)b_length;
  fprintf(stderr, "a key was compared although there is no other\n");
  exit(1);
}

static void nothing(void* state) { (void)state; }

static const char* never_name(void* state) {
  (void)state;
  return "never";
}

/* One key by itself is written, flushed and found again without a comparison. */
static void test_one_key_is_compared_with_nothing(const char* path, rocksdb_writeoptions_t* wo) {
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(NULL, nothing, never, never_name);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_comparator(options, comparator);
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "key", "value");
  flush(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(comparator);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  test_comparator(path_in(argv[1], "comparator"), ro, wo);
  test_merge_operator(path_in(argv[1], "merge"), ro, wo);
  test_compaction_filter(path_in(argv[1], "filter"), ro, wo);
  test_filter_factory(path_in(argv[1], "factory"), ro, wo);
  test_partitioner(path_in(argv[1], "partitioner"), ro, wo);
  test_failed_opens(path_in(argv[1], "nothing"));
  test_slice_transforms(path_in(argv[1], "prefix"), wo);
  test_one_key_is_compared_with_nothing(path_in(argv[1], "one-key"), wo);
  rocksdb_readoptions_destroy(ro);
  rocksdb_writeoptions_destroy(wo);
  return 0;
}
