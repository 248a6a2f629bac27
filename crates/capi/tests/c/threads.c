/* One database, used by many threads at once. */
#include <pthread.h>
#include "check.h"

enum { THREADS = 4, KEYS = 2000 };
static rocksdb_t* db;
static rocksdb_column_family_handle_t* family;

static void* work(void* argument) {
  long self = (long)argument;
  char* error = NULL;
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  char key[32];
  for (int i = 0; i < KEYS; i++) {
    int length = snprintf(key, sizeof key, "%ld-%06d", self, i);
    rocksdb_put_cf(db, wo, family, key, (size_t)length, key, (size_t)length, &error);
    CHECK(!error);
    rocksdb_pinnableslice_t* value = rocksdb_get_pinned_cf(db, ro, family, key, (size_t)length, &error);
    CHECK(!error && value && slice_is(value, key));
    rocksdb_pinnableslice_destroy(value);
    if (i % 500 == 0) {
      rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, ro, family);
      int count = 0;
      for (rocksdb_iter_seek(it, key, 2); rocksdb_iter_valid(it) && count < 10; rocksdb_iter_next(it)) count++;
      CHECK(count > 0);
      rocksdb_iter_destroy(it);
    }
  }
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_write_buffer_size(options, 64 << 10);
  db = rocksdb_open(options, path_in(argv[1], "threads"), &err);
  OK();
  family = rocksdb_get_default_column_family_handle(db);
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void*)i));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = rocksdb_create_iterator(db, ro);
  int count = 0;
  for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) count++;
  CHECK(count == THREADS * KEYS);
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(ro);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return 0;
}
