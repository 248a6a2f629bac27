/* Traces of operations: written, read frame by frame, and asked of a database again. */
#include "check.h"

static rocksdb_env_t* env;
static rocksdb_envoptions_t* file_options;
static rocksdb_readoptions_t* reads;
static rocksdb_writeoptions_t* writes;

static void check_options(void) {
  rocksdb_trace_options_t* options = rocksdb_trace_options_create();
  CHECK(rocksdb_trace_options_get_max_trace_file_size(options) == 68719476736);
  CHECK(rocksdb_trace_options_get_sampling_frequency(options) == 1);
  CHECK(rocksdb_trace_options_get_filter(options) == 0);
  CHECK(rocksdb_trace_options_get_preserve_write_order(options) == 0);
  rocksdb_trace_options_set_max_trace_file_size(options, 1000);
  rocksdb_trace_options_set_sampling_frequency(options, 3);
  rocksdb_trace_options_set_filter(options, 2);
  rocksdb_trace_options_set_preserve_write_order(options, 1);
  CHECK(rocksdb_trace_options_get_max_trace_file_size(options) == 1000);
  CHECK(rocksdb_trace_options_get_sampling_frequency(options) == 3);
  CHECK(rocksdb_trace_options_get_filter(options) == 2);
  CHECK(rocksdb_trace_options_get_preserve_write_order(options) == 1);
  rocksdb_trace_options_destroy(options);

  rocksdb_replay_options_t* replay = rocksdb_replay_options_create();
  CHECK(rocksdb_replay_options_get_num_threads(replay) == 1);
  CHECK(rocksdb_replay_options_get_fast_forward(replay) == 1.0);
  rocksdb_replay_options_set_num_threads(replay, 5);
  rocksdb_replay_options_set_fast_forward(replay, 2.5);
  CHECK(rocksdb_replay_options_get_num_threads(replay) == 5);
  CHECK(rocksdb_replay_options_get_fast_forward(replay) == 2.5);
  rocksdb_replay_options_destroy(replay);
}

static void write_trace(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* path) {
  rocksdb_trace_options_t* options = rocksdb_trace_options_create();
  rocksdb_start_trace(db, env, file_options, options, path, &err);
  OK();
  rocksdb_put(db, writes, "k", 1, "v", 1, &err);
  rocksdb_put_cf(db, writes, family, "kk", 2, "vv", 2, &err);
  OK();
  size_t length;
  rocksdb_free(rocksdb_get(db, reads, "k", 1, &length, &err));
  OK();
  rocksdb_iterator_t* iter = rocksdb_create_iterator_cf(db, reads, family);
  rocksdb_iter_seek(iter, "a", 1);
  rocksdb_iter_seek_for_prev(iter, "z", 1);
  rocksdb_iter_destroy(iter);
  const char* keys[] = {"k", "missing"};
  size_t lengths[] = {1, 7}, value_lengths[2];
  char *values[2], *errors[2];
  rocksdb_multi_get(db, reads, 2, keys, lengths, values, value_lengths, errors);
  CHECK(!errors[0] && !errors[1] && values[0] && !values[1]);
  rocksdb_free(values[0]);
  rocksdb_end_trace(db, &err);
  OK();
  rocksdb_end_trace(db, &err);
  FAILED("IO error: ", "No trace file to close");
  rocksdb_start_trace(db, env, file_options, options, "/no/such/directory/trace", &err);
  FAILED("IO error: ", "/no/such/directory/trace");
  rocksdb_trace_options_destroy(options);
}

static void read_trace(const char* path) {
  static const char kinds[] = {1, 3, 3, 4, 5, 6, 13, 2};
  rocksdb_trace_reader_t* reader = rocksdb_trace_reader_create(env, file_options, path, &err);
  OK();
  for (int round = 0; round < 2; round++) {
    size_t length = 99;
    for (size_t i = 0; i < sizeof kinds; i++) {
      char* frame = rocksdb_trace_reader_read(reader, &length, &err);
      OK();
      CHECK(frame && length >= 13 && frame[8] == kinds[i]);
      rocksdb_free(frame);
    }
    CHECK(!rocksdb_trace_reader_read(reader, &length, &err) && length == 0);
    OK();
    rocksdb_trace_reader_reset(reader, &err);
    OK();
  }
  rocksdb_trace_reader_close(reader, &err);
  OK();
  if (HERE) {
    size_t length = 99;
    CHECK(!rocksdb_trace_reader_read(reader, &length, &err) && length == 0);
    FAILED("Invalid argument: ", "closed");
  }
  rocksdb_trace_reader_destroy(reader);
  CHECK(!rocksdb_trace_reader_create(env, file_options, "/no/such/trace", &err));
  FAILED("IO error: ", "/no/such/trace");
}

static void replay(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* path) {
  /* RocksDB has no default family of its own accord. */
  rocksdb_column_family_handle_t* families[] = {rocksdb_get_default_column_family_handle(db), family};
  rocksdb_replayer_t* replayer = rocksdb_new_default_replayer(db, families, 2, env, file_options, path, &err);
  OK();
  rocksdb_replay_options_t* options = rocksdb_replay_options_create();
  rocksdb_replayer_replay(replayer, options, &err);
  FAILED("Result incomplete: ", "Not prepared!");
  CHECK(rocksdb_replayer_get_header_timestamp(replayer) == 0);
  rocksdb_replayer_prepare(replayer, &err);
  OK();
  CHECK(rocksdb_replayer_get_header_timestamp(replayer) > 1600000000000000);
  rocksdb_replay_options_set_fast_forward(options, -1);
  rocksdb_replayer_replay(replayer, options, &err);
  FAILED("Invalid argument: ", "Wrong fast forward speed!");
  rocksdb_replay_options_set_fast_forward(options, 1000);
  rocksdb_replayer_replay(replayer, options, &err);
  OK();
  rocksdb_replay_options_destroy(options);
  rocksdb_replayer_destroy(replayer);
  for (int i = 0; i < 2; i++) {
    size_t length;
    char* value = rocksdb_get_cf(db, reads, families[i], i ? "kk" : "k", i + 1, &length, &err);
    OK();
    CHECK(is_bytes(value, length, i ? "vv" : "v"));
    rocksdb_free(value);
  }
  rocksdb_column_family_handle_destroy(families[0]);
  CHECK(!rocksdb_new_default_replayer(db, NULL, 0, env, file_options, "/no/such/trace", &err));
  FAILED("IO error: ", "/no/such/trace");
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[3][1000];
  static const char* names[] = {"traced", "replayed", "trace"};
  for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%s", argv[1], names[i]);
  check_options();
  env = rocksdb_create_default_env();
  file_options = rocksdb_envoptions_create();
  reads = rocksdb_readoptions_create();
  writes = rocksdb_writeoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db[2];
  rocksdb_column_family_handle_t* family[2];
  for (int i = 0; i < 2; i++) {
    db[i] = rocksdb_open(options, path[i], &err);
    OK();
    family[i] = rocksdb_create_column_family(db[i], options, "one", &err);
    OK();
  }
  write_trace(db[0], family[0], path[2]);
  read_trace(path[2]);
  replay(db[1], family[1], path[2]);
  for (int i = 0; i < 2; i++) {
    rocksdb_column_family_handle_destroy(family[i]);
    rocksdb_close(db[i]);
  }
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(writes);
  rocksdb_readoptions_destroy(reads);
  rocksdb_envoptions_destroy(file_options);
  rocksdb_env_destroy(env);
  return 0;
}
