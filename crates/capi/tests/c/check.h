/* What the test programs share: checks that say where they failed, and short forms for the calls they make most. */
#ifndef CHECK_H
#define CHECK_H
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compiled with -DROCKSDB and linked with RocksDB itself, the programs leave out what it does otherwise (or crashes of):
 * then what is left shows that they expect the right things. */
#ifdef ROCKSDB
#define HERE 0
#else
#define HERE 1
#endif

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

static char* err = NULL;

/* The last call worked. */
#define OK() \
  do { \
    if (err) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, err); \
      exit(1); \
    } \
  } while (0)

/* The last call failed with a text that begins like this and has that in it. */
#define FAILED(prefix, part) failed(__FILE__, __LINE__, prefix, part)
static inline void failed(const char* file, int line, const char* prefix, const char* part) {
  if (!err || strncmp(err, prefix, strlen(prefix)) || !strstr(err, part)) {
    fprintf(stderr, "%s:%d: expected \"%s...%s\", got \"%s\"\n", file, line, prefix, part, err ? err : "(no error)");
    exit(1);
  }
  rocksdb_free(err);
  err = NULL;
}

static inline int is_bytes(const char* data, size_t length, const char* text) {
  return data && length == strlen(text) && !memcmp(data, text, length);
}

static inline int slice_is(const rocksdb_pinnableslice_t* slice, const char* text) {
  size_t length = 99;
  const char* value = rocksdb_pinnableslice_value(slice, &length);
  return is_bytes(value, length, text);
}

static inline int key_is(const rocksdb_iterator_t* it, const char* text) {
  size_t length = 99;
  const char* key = rocksdb_iter_key(it, &length);
  return rocksdb_iter_valid(it) && is_bytes(key, length, text);
}

static inline int value_is(const rocksdb_iterator_t* it, const char* text) {
  size_t length = 99;
  const char* value = rocksdb_iter_value(it, &length);
  return rocksdb_iter_valid(it) && is_bytes(value, length, text);
}

/* The value of a key is this text; NULL: there is none. */
#define GET(db, options, key, expected) get_is(__FILE__, __LINE__, db, options, NULL, key, expected)
#define GET_CF(db, options, family, key, expected) get_is(__FILE__, __LINE__, db, options, family, key, expected)
static inline void get_is(const char* file, int line, rocksdb_t* db, rocksdb_readoptions_t* options,
                          rocksdb_column_family_handle_t* family, const char* key, const char* expected) {
  size_t length = 99;
  char* value = family ? rocksdb_get_cf(db, options, family, key, strlen(key), &length, &err)
                       : rocksdb_get(db, options, key, strlen(key), &length, &err);
  int good = !err && (expected ? is_bytes(value, length, expected) : !value && length == 0);
  if (!good) {
    fprintf(stderr, "%s:%d: %s is \"%.*s\" (%s), expected \"%s\"\n", file, line, key, (int)(value ? length : 0),
            value ? value : "", err ? err : "no error", expected ? expected : "(none)");
    exit(1);
  }
  rocksdb_free(value);
}

static inline void put(rocksdb_t* db, rocksdb_writeoptions_t* options, const char* key, const char* value) {
  rocksdb_put(db, options, key, strlen(key), value, strlen(value), &err);
  OK();
}

static inline void flush(rocksdb_t* db) {
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  rocksdb_flush(db, options, &err);
  OK();
  rocksdb_flushoptions_destroy(options);
}

static inline const char* path_in(const char* directory, const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static inline rocksdb_options_t* new_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  return options;
}
#endif
