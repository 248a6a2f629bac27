/* The logs of a database, archived and in use, and the batches that they hold. */
#include "check.h"

static uint64_t numbers[16];
static int seen;

/* Walks to the end and keeps the sequence numbers. */
static void walk(rocksdb_wal_iterator_t* iter) {
  for (seen = 0; rocksdb_wal_iter_valid(iter); rocksdb_wal_iter_next(iter)) {
    uint64_t sequence = 99;
    rocksdb_writebatch_t* batch = rocksdb_wal_iter_get_batch(iter, &sequence);
    /* What is logged before the first batch of a log, for recoveries of Ferrock, has no entry. */
    if (rocksdb_writebatch_count(batch) > 0) numbers[seen++] = sequence;
    rocksdb_writebatch_destroy(batch);
  }
}

static rocksdb_wal_iterator_t* since(rocksdb_t* db, uint64_t sequence) {
  rocksdb_wal_readoptions_t* options = rocksdb_wal_readoptions_create();
  CHECK(rocksdb_wal_readoptions_get_verify_checksums(options) == 1);
  rocksdb_wal_readoptions_set_verify_checksums(options, 0);
  CHECK(rocksdb_wal_readoptions_get_verify_checksums(options) == 0);
  rocksdb_wal_readoptions_set_verify_checksums(options, 1);
  rocksdb_wal_iterator_t* iter = rocksdb_get_updates_since(db, sequence, options, &err);
  rocksdb_wal_readoptions_destroy(options);
  return iter;
}

static void check_files(rocksdb_t* db) {
  rocksdb_wal_files_t* files = rocksdb_get_sorted_wal_files(db, &err);
  OK();
  CHECK(rocksdb_wal_files_count(files) == 2);
  const rocksdb_wal_file_t* archived = rocksdb_wal_files_get_wal_file(files, 0);
  const rocksdb_wal_file_t* alive = rocksdb_wal_files_get_wal_file(files, 1);
  CHECK(rocksdb_wal_file_type(archived) == rocksdb_wal_file_type_archived_log);
  CHECK(rocksdb_wal_file_type(alive) == rocksdb_wal_file_type_alive_log);
  char path[100];
  snprintf(path, sizeof path, "/archive/%06d.log", (int)rocksdb_wal_file_log_number(archived));
  CHECK(!strcmp(rocksdb_wal_file_path_name(archived), path));
  snprintf(path, sizeof path, "/%06d.log", (int)rocksdb_wal_file_log_number(alive));
  CHECK(!strcmp(rocksdb_wal_file_path_name(alive), path));
  CHECK(rocksdb_wal_file_start_sequence(archived) == 1);
  CHECK(rocksdb_wal_file_start_sequence(alive) == 4);
  CHECK(rocksdb_wal_file_size_file_bytes(archived) > 0 && rocksdb_wal_file_size_file_bytes(alive) > 0);
  rocksdb_wal_file_t* current = rocksdb_get_current_wal_file(db, &err);
  OK();
  CHECK(rocksdb_wal_file_log_number(current) == rocksdb_wal_file_log_number(alive));
  CHECK(rocksdb_wal_file_type(current) == rocksdb_wal_file_type_alive_log);
  rocksdb_wal_file_destroy(current);
  if (HERE) CHECK(rocksdb_wal_files_get_wal_file(files, 2) == NULL);
  rocksdb_wal_files_destroy(files);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[1000];
  snprintf(path, sizeof path, "%s/db", argv[1]);
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_WAL_ttl_seconds(options, 3600);
  rocksdb_options_set_WAL_size_limit_MB(options, 100);
  CHECK(rocksdb_options_get_WAL_ttl_seconds(options) == 3600);
  CHECK(rocksdb_options_get_WAL_size_limit_MB(options) == 100);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_t* db = rocksdb_open(options, path, &err);
  OK();
  put(db, wo, "a", "1");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "b", 1, "2", 1);
  rocksdb_writebatch_delete(batch, "a", 1);
  rocksdb_write(db, wo, batch, &err);
  OK();
  flush(db);
  put(db, wo, "c", "3");
  check_files(db);

  rocksdb_wal_iterator_t* iter = since(db, 1);
  OK();
  walk(iter);
  CHECK(seen == 3 && numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 4);
  rocksdb_wal_iter_status(iter, &err);
  OK();
  /* It goes on with what is written behind its end. */
  put(db, wo, "d", "4");
  rocksdb_wal_iter_next(iter);
  walk(iter);
  CHECK(seen == 1 && numbers[0] == 5);
  rocksdb_wal_iter_destroy(iter);

  /* Number 3 is the second entry of a batch. */
  iter = since(db, 3);
  OK();
  CHECK(rocksdb_wal_iter_valid(iter));
  uint64_t sequence = 99;
  rocksdb_writebatch_t* read = rocksdb_wal_iter_get_batch(iter, &sequence);
  size_t size = 0, read_size = 0;
  const char* data = rocksdb_writebatch_data(batch, &size);
  const char* read_data = rocksdb_writebatch_data(read, &read_size);
  CHECK(sequence == 2 && size == read_size && !memcmp(data + 8, read_data + 8, size - 8));
  rocksdb_writebatch_destroy(read);
  rocksdb_wal_iter_destroy(iter);
  rocksdb_writebatch_destroy(batch);

  iter = since(db, 0);
  OK();
  walk(iter);
  CHECK(seen == 4);
  rocksdb_wal_iter_destroy(iter);
  CHECK(since(db, 6) == NULL);
  FAILED("NotFound: ", "Requested sequence not yet written in the db");

  /* Without a log: a number is missing behind what an iterator has read. */
  iter = since(db, 5);
  OK();
  CHECK(rocksdb_wal_iter_valid(iter));
  rocksdb_writeoptions_disable_WAL(wo, 1);
  put(db, wo, "e", "5");
  rocksdb_writeoptions_disable_WAL(wo, 0);
  put(db, wo, "f", "6");
  rocksdb_wal_iter_next(iter);
  walk(iter);
  CHECK(seen == 0);
  rocksdb_wal_iter_status(iter, &err);
  FAILED("NotFound: ", "Gap in sequence numbers");
  rocksdb_wal_iter_destroy(iter);
  /* Another one begins behind it. */
  iter = since(db, 6);
  OK();
  walk(iter);
  CHECK(seen == 1 && numbers[0] == 7);
  rocksdb_wal_iter_destroy(iter);

  rocksdb_close(db);
  rocksdb_destroy_db(options, path, &err);
  OK();
  rocksdb_writeoptions_destroy(wo);
  rocksdb_options_destroy(options);
  return 0;
}
