/* Compactions in other processes: a service of callbacks, and workers in this process and in another one. */
#include "check.h"
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN_THIS_PROCESS, IN_ANOTHER_PROCESS, LOCAL_BY_SCHEDULE, NO_RESPONSE, WAIT_ENDS_WITH_STATUS, CANCELED, SPOILED };

/* What the service does, and what it saw. */
struct service {
  int conduct;
  int status;
  const char* program;
  const char* db_path;
  const char* directory;
  char id[32], output[4096];
  char* input;
  size_t input_length;
  int scheduled, waited, installed, not_installed;
  atomic_int destroyed;
  rocksdb_options_t* options;
};

static void destroy(void* state) {
  ((struct service*)state)->destroyed++;
}

/* A thread of the database that is ending may be the last that holds the service. */
static void wait_for_destruction(struct service* service) {
  for (int i = 0; i < 10000 && !service->destroyed; i++) {
    usleep(1000);
  }
  CHECK(service->destroyed == 1);
}

static void write_file(const char* path, const char* bytes, size_t length) {
  FILE* file = fopen(path, "wb");
  CHECK(file && fwrite(bytes, 1, length, file) == length && !fclose(file));
}

/* The bytes of a file, from malloc. */
static char* read_file(const char* path, size_t* length) {
  FILE* file = fopen(path, "rb");
  CHECK(file && !fseek(file, 0, SEEK_END));
  long size = ftell(file);
  CHECK(size >= 0 && !fseek(file, 0, SEEK_SET));
  char* bytes = malloc((size_t)size + 1);
  CHECK(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size && !fclose(file));
  *length = (size_t)size;
  return bytes;
}

/* Values of the same key, with a plus between. */
static char* full_merge(void* state, const char* key, size_t key_length, const char* existing, size_t existing_length,
                        const char* const* operands, const size_t* lengths, int count, unsigned char* success,
                        size_t* length) {
  (void)state, (void)key, (void)key_length;
  size_t total = existing ? existing_length : 0;
  for (int i = 0; i < count; i++) {
    total += lengths[i] + 1;
  }
  char* result = malloc(total + 1);
  char* end = result;
  if (existing) {
    end = (char*)memcpy(end, existing, existing_length) + existing_length;
  }
  for (int i = 0; i < count; i++) {
    *end++ = '+';
    end = (char*)memcpy(end, operands[i], lengths[i]) + lengths[i];
  }
  *success = 1;
  *length = (size_t)(end - result);
  return result;
}

static char* partial_merge(void* state, const char* key, size_t key_length, const char* const* operands,
                           const size_t* lengths, int count, unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_length, (void)operands, (void)lengths, (void)count;
  *success = 0;
  *length = 0;
  return NULL;
}

static const char* merge_name(void* state) {
  (void)state;
  return "check.Plus";
}

static void nothing(void* state) {
  (void)state;
}

static rocksdb_mergeoperator_t* new_operator(void) {
  return rocksdb_mergeoperator_create(NULL, nothing, full_merge, partial_merge, NULL, merge_name);
}

/* Options of the database, and of what its workers have. */
static rocksdb_options_t* database_options(int has_blobs) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_merge_operator(options, new_operator());
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_enable_blob_files(options, (unsigned char)has_blobs);
  rocksdb_options_set_min_blob_size(options, 3);
  rocksdb_options_set_enable_blob_gc(options, 1);
  rocksdb_options_set_blob_gc_age_cutoff(options, 1.0);
  return options;
}

static void check_info(const struct service* service, const rocksdb_compactionservice_jobinfo_t* info) {
  size_t length = 0;
  const char* text = rocksdb_compactionservice_jobinfo_t_get_db_name(info, &length);
  CHECK(is_bytes(text, length, service->db_path));
  text = rocksdb_compactionservice_jobinfo_t_get_cf_name(info, &length);
  CHECK(is_bytes(text, length, "default"));
  rocksdb_compactionservice_jobinfo_t_get_db_id(info, &length);
  CHECK(length > 0);
  rocksdb_compactionservice_jobinfo_t_get_db_session_id(info, &length);
  CHECK(length > 0);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_cf_id(info) == 0);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_job_id(info) > 0);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_priority(info) >= 0);
  /* kManualCompaction */
  CHECK(rocksdb_compactionservice_jobinfo_t_get_compaction_reason(info) == 9);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_base_input_level(info) >= 0);
  CHECK(rocksdb_compactionservice_jobinfo_t_get_output_level(info) > 0);
  CHECK(rocksdb_compactionservice_jobinfo_t_is_manual_compaction(info) == 1);
  CHECK(rocksdb_compactionservice_jobinfo_t_is_full_compaction(info) <= 1);
  CHECK(rocksdb_compactionservice_jobinfo_t_is_bottommost_level(info) == 1);
}

static rocksdb_compactionservice_scheduleresponse_t* schedule(
    void* state, const rocksdb_compactionservice_jobinfo_t* info, const char* input, size_t length) {
  struct service* service = state;
  char* error = NULL;
  service->scheduled++;
  check_info(service, info);
  if (service->conduct == LOCAL_BY_SCHEDULE) {
    return rocksdb_compactionservice_scheduleresponse_create_with_status(
        rocksdb_compactionservice_jobstatus_use_local, &error);
  }
  if (service->conduct == NO_RESPONSE) {
    return NULL;
  }
  /* A job at a time, each with a directory of its own. */
  static int number = 0;
  snprintf(service->id, sizeof service->id, "job%d", ++number);
  snprintf(service->output, sizeof service->output, "%s/%s", service->directory, service->id);
  free(service->input);
  service->input = malloc(length);
  memcpy(service->input, input, length);
  service->input_length = length;
  return rocksdb_compactionservice_scheduleresponse_create(
      service->id, rocksdb_compactionservice_jobstatus_success, &error);
}

/* A worker that has the database's options. */
static char* compact_here(struct service* service, size_t* length, char** error) {
  rocksdb_compaction_service_options_override_t* overrides =
      rocksdb_compaction_service_options_override_create_from_options(service->options);
  rocksdb_open_and_compact_options_t* options = rocksdb_open_and_compact_options_create();
  unsigned char* canceled = rocksdb_open_and_compact_canceled_create();
  rocksdb_open_and_compact_options_set_canceled(options, canceled);
  rocksdb_open_and_compact_canceled_set(canceled, service->conduct == CANCELED);
  char* result = rocksdb_open_and_compact_with_options(options, service->db_path, service->output, service->input,
                                                       service->input_length, length, overrides, error);
  rocksdb_open_and_compact_options_destroy(options);
  rocksdb_open_and_compact_canceled_destroy(canceled);
  rocksdb_compaction_service_options_override_destroy(overrides);
  return result;
}

/* What the program does when it is a worker: database, output directory, file of the job. */
static int worker(char** argv) {
  size_t input_length = 0, length = 0;
  char* input = read_file(argv[4], &input_length);
#if HERE
  rocksdb_compaction_service_options_override_t* overrides = rocksdb_compaction_service_options_override_create();
#else
  /* RocksDB's worker knows the kind of tables from its overrides alone. */
  rocksdb_options_t* options = new_options();
  rocksdb_compaction_service_options_override_t* overrides =
      rocksdb_compaction_service_options_override_create_from_options(options);
  rocksdb_options_destroy(options);
#endif
  rocksdb_compaction_service_options_override_set_merge_operator(overrides, new_operator());
  char* result =
      rocksdb_open_and_compact(argv[2], argv[3], input, input_length, &length, overrides, &err);
  OK();
  char path[4096];
  snprintf(path, sizeof path, "%s.result", argv[4]);
  write_file(path, result, length);
  rocksdb_free(result);
  free(input);
  rocksdb_compaction_service_options_override_destroy(overrides);
  return 0;
}

static char* compact_elsewhere(struct service* service, size_t* length) {
  char job[4200], result[4300];
  snprintf(job, sizeof job, "%s.job", service->output);
  snprintf(result, sizeof result, "%s.result", job);
  write_file(job, service->input, service->input_length);
  pid_t child = fork();
  if (child == 0) {
    execl(service->program, service->program, "worker", service->db_path, service->output, job, (char*)NULL);
    _exit(127);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return read_file(result, length);
}

static int wait_for(void* state, const char* id, char** result, size_t* length) {
  struct service* service = state;
  service->waited++;
  CHECK(!strcmp(id, service->id));
  if (service->conduct == WAIT_ENDS_WITH_STATUS) {
    return service->status;
  }
  if (service->conduct == IN_ANOTHER_PROCESS) {
    *result = compact_elsewhere(service, length);
    return rocksdb_compactionservice_jobstatus_success;
  }
  char* error = NULL;
  *result = compact_here(service, length, &error);
  if (service->conduct == CANCELED) {
    CHECK(!*result && error && !strncmp(error, "Result incomplete: ", 19));
    rocksdb_free(error);
    return rocksdb_compactionservice_jobstatus_use_local;
  }
  if (error) {
    fprintf(stderr, "%s\n", error);
  }
  CHECK(*result && !error);
  if (service->conduct == SPOILED) {
    *length /= 2;
  }
  return rocksdb_compactionservice_jobstatus_success;
}

static void cancel(void* state) {
  (void)state;
}

static void on_installation(void* state, const char* id, int status) {
  struct service* service = state;
  CHECK(!strcmp(id, service->id));
  *(status == rocksdb_compactionservice_jobstatus_success ? &service->installed : &service->not_installed) += 1;
}

static void compact(rocksdb_t* db) {
  rocksdb_compactoptions_t* options = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_bottommost_level_compaction(options, 2);
  rocksdb_compact_range_opt(db, options, NULL, 0, NULL, 0);
  rocksdb_compactoptions_destroy(options);
}

static int files_of_level_0(rocksdb_t* db) {
  char* count = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
  int files = atoi(count);
  rocksdb_free(count);
  return files;
}

/* One database whose compaction the service gets; what becomes of it is told by what the service counts. */
static void run(const char* directory, const char* program, struct service service, int has_blobs, int is_compacted) {
  static int number = 0;
  char db_path[4096];
  snprintf(db_path, sizeof db_path, "%s/db%d", directory, ++number);
  service.db_path = db_path;
  service.directory = directory;
  service.program = program;
  service.options = database_options(has_blobs);
  rocksdb_options_t* options = rocksdb_options_create_copy(service.options);
  rocksdb_options_set_compaction_service(
      options, rocksdb_compactionservice_create(&service, destroy, schedule, "check.Service", wait_for, cancel,
                                                on_installation));
  rocksdb_options_set_compaction_service(options, NULL);
  rocksdb_t* db = rocksdb_open(options, db_path, &err);
  OK();
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* ro = rocksdb_readoptions_create();
  for (int round = 0; round < 3; round++) {
    put(db, wo, "a", "old value");
    put(db, wo, "b", round == 2 ? "the last value" : "another value");
    rocksdb_merge(db, wo, "m", 1, "12345", 5, &err);
    OK();
    flush(db);
  }
  rocksdb_delete(db, wo, "a", 1, &err);
  OK();
  flush(db);
  CHECK(files_of_level_0(db) == 4);
  compact(db);
  CHECK((files_of_level_0(db) == 0) == is_compacted);
  for (int again = 0; again < 2; again++) {
    GET(db, ro, "a", NULL);
    GET(db, ro, "b", "the last value");
    GET(db, ro, "m", "+12345+12345+12345");
    if (!again) {
      rocksdb_close(db);
      wait_for_destruction(&service);
      db = rocksdb_open(service.options, db_path, &err);
      OK();
    }
  }
  int is_taken = service.conduct != LOCAL_BY_SCHEDULE && service.conduct != NO_RESPONSE;
  int is_remote = service.conduct == IN_THIS_PROCESS || service.conduct == IN_ANOTHER_PROCESS;
  CHECK(service.scheduled > 0 && service.waited == is_taken * service.scheduled);
  CHECK(service.installed == is_remote * service.scheduled);
#if HERE
  CHECK(service.not_installed == service.waited - service.installed);
  char* statistics = rocksdb_property_value(db, "rocksdb.num-blob-files");
  CHECK((atoi(statistics) > 0) == has_blobs);
  rocksdb_free(statistics);
#endif
  rocksdb_close(db);
  rocksdb_options_destroy(service.options);
  rocksdb_writeoptions_destroy(wo);
  rocksdb_readoptions_destroy(ro);
  free(service.input);
}

static void test_responses(void) {
  size_t length = 9;
  rocksdb_compactionservice_scheduleresponse_t* response =
      rocksdb_compactionservice_scheduleresponse_create("some job", rocksdb_compactionservice_jobstatus_aborted, &err);
  OK();
  CHECK(rocksdb_compactionservice_scheduleresponse_getstatus(response) == rocksdb_compactionservice_jobstatus_aborted);
  const char* id = rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(response, &length);
  CHECK(is_bytes(id, length, "some job"));
  rocksdb_compactionservice_scheduleresponse_t_destroy(response);
  response = rocksdb_compactionservice_scheduleresponse_create(NULL, rocksdb_compactionservice_jobstatus_success, &err);
  OK();
  rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(response, &length);
  CHECK(length == 0);
  rocksdb_compactionservice_scheduleresponse_t_destroy(response);
  CHECK(!rocksdb_compactionservice_scheduleresponse_create("job", 4, &err));
  FAILED("Invalid argument: ", "0-3");
  CHECK(!rocksdb_compactionservice_scheduleresponse_create_with_status(-1, &err));
  FAILED("Invalid argument: ", "0-3");
  CHECK(rocksdb_compactionservice_scheduleresponse_getstatus(NULL) == rocksdb_compactionservice_jobstatus_failure);
  length = 9;
  id = rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(NULL, &length);
  CHECK(length == 0 && !*id);
}

static int is_ascending(void* state, const char* a, size_t a_length, const char* b, size_t b_length) {
  (void)state;
  size_t shorter = a_length < b_length ? a_length : b_length;
  int order = memcmp(a, b, shorter);
  return order ? order : (a_length > b_length) - (a_length < b_length);
}

static const char* order_name(void* state) {
  (void)state;
  return "check.Order";
}

static unsigned char keep(void* state, int level, const char* key, size_t key_length, const char* value,
                          size_t value_length, char** new_value, size_t* new_length, unsigned char* is_changed) {
  (void)state, (void)level, (void)key, (void)key_length, (void)value, (void)value_length, (void)new_value;
  (void)new_length, (void)is_changed;
  return 0;
}

static const char* filter_name(void* state) {
  (void)state;
  return "check.Keep";
}

static rocksdb_compactionfilter_t* new_filter(void* state, rocksdb_compactionfiltercontext_t* context) {
  (void)state, (void)context;
  return rocksdb_compactionfilter_create(NULL, nothing, keep, filter_name);
}

/* Every part of the overrides, with and without which a worker takes a job. */
static void test_overrides(const char* directory) {
  char db_path[4096], output[4096];
  snprintf(db_path, sizeof db_path, "%s/overrides", directory);
  struct service service = {.conduct = WAIT_ENDS_WITH_STATUS,
                            .status = rocksdb_compactionservice_jobstatus_use_local,
                            .db_path = db_path,
                            .directory = directory};
  rocksdb_options_t* options = new_options();
  rocksdb_comparator_t* order = rocksdb_comparator_create(NULL, nothing, is_ascending, order_name);
  rocksdb_options_set_comparator(options, order);
  rocksdb_options_set_merge_operator(options, new_operator());
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(NULL, nothing, new_filter, filter_name));
  rocksdb_options_set_compaction_service(
      options,
      rocksdb_compactionservice_create(&service, destroy, schedule, NULL, wait_for, NULL, NULL));
  rocksdb_t* db = rocksdb_open(options, db_path, &err);
  OK();
  rocksdb_writeoptions_t* wo = rocksdb_writeoptions_create();
  for (int round = 0; round < 2; round++) {
    put(db, wo, "a", "1");
    put(db, wo, "z", "2");
    flush(db);
  }
  rocksdb_options_destroy(options);
  /* The tables of level 0 stay: the job is only offered. */
  service.conduct = WAIT_ENDS_WITH_STATUS;
  service.status = rocksdb_compactionservice_jobstatus_aborted;
  compact(db);
  CHECK(service.scheduled == 1 && files_of_level_0(db) == 2);

  rocksdb_compaction_service_options_override_t* overrides = rocksdb_compaction_service_options_override_create();
  size_t length = 0;
  snprintf(output, sizeof output, "%s/overrides-out", directory);
#if HERE
  /* Nothing is known of the code that the database has. */
  CHECK(!rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, overrides, &err));
  FAILED("Not implemented: ", "check.Order");
  rocksdb_compaction_service_options_override_set_comparator(overrides, order);
  CHECK(!rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, overrides, &err));
  FAILED("Not implemented: ", "check.Plus");
#endif
  rocksdb_compaction_service_options_override_set_comparator(overrides, order);
  rocksdb_compaction_service_options_override_set_merge_operator(overrides, new_operator());
  rocksdb_compaction_service_options_override_set_compaction_filter_factory(
      overrides, rocksdb_compactionfilterfactory_create(NULL, nothing, new_filter, filter_name));
  rocksdb_compaction_service_options_override_set_prefix_extractor(
      overrides, rocksdb_slicetransform_create_fixed_prefix(1));
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_compaction_service_options_override_set_env(overrides, env);
  rocksdb_sst_partitioner_factory_t* partitioner = rocksdb_sst_partitioner_fixed_prefix_factory_create(1);
  rocksdb_compaction_service_options_override_set_sst_partitioner_factory(overrides, partitioner);
  rocksdb_sst_partitioner_factory_destroy(partitioner);
  rocksdb_file_checksum_gen_factory_t* checksums = rocksdb_file_checksum_gen_crc32c_factory_create();
  rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(overrides, checksums);
  rocksdb_file_checksum_gen_factory_destroy(checksums);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_format_version(table, 5);
  rocksdb_compaction_service_options_override_set_block_based_table_factory(overrides, table);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_t* statistics = rocksdb_options_create();
  rocksdb_options_enable_statistics(statistics);
  rocksdb_compaction_service_options_override_set_statistics(overrides, statistics);
  rocksdb_options_destroy(statistics);
  rocksdb_compaction_service_options_override_set_option(overrides, "max_subcompactions", "2");
  rocksdb_compaction_service_options_override_set_option(overrides, "compression_opts", "level=3;strategy=1");

  /* Null changes nothing. */
  rocksdb_compaction_service_options_override_set_comparator(overrides, NULL);
  rocksdb_compaction_service_options_override_set_merge_operator(overrides, NULL);
  rocksdb_compaction_service_options_override_set_compaction_filter(overrides, NULL);
  rocksdb_compaction_service_options_override_set_compaction_filter_factory(overrides, NULL);
  rocksdb_compaction_service_options_override_set_prefix_extractor(overrides, NULL);
  rocksdb_compaction_service_options_override_set_env(overrides, NULL);
  rocksdb_compaction_service_options_override_set_sst_partitioner_factory(overrides, NULL);
  rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(overrides, NULL);
  rocksdb_compaction_service_options_override_set_block_based_table_factory(overrides, NULL);
  rocksdb_compaction_service_options_override_set_option(overrides, NULL, "1");
  CHECK(!rocksdb_compaction_service_options_override_create_from_options(NULL));

  char* result =
      rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, overrides, &err);
  OK();
  CHECK(result && length > 4);
  rocksdb_free(result);

#if HERE
  /* The directory has outputs, which a second run removes if it may. */
  CHECK(!rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, overrides, &err));
  FAILED("Invalid argument: ", "directory of its own");
#endif
  rocksdb_open_and_compact_options_t* again = rocksdb_open_and_compact_options_create();
  CHECK(rocksdb_open_and_compact_options_get_allow_resumption(again) == 0);
  rocksdb_open_and_compact_options_set_allow_resumption(again, 1);
  CHECK(rocksdb_open_and_compact_options_get_allow_resumption(again) == 1);
  rocksdb_open_and_compact_options_set_canceled(again, NULL);
  result = rocksdb_open_and_compact_with_options(again, db_path, output, service.input, service.input_length, &length,
                                                 overrides, &err);
  OK();
  rocksdb_free(result);
  rocksdb_open_and_compact_options_destroy(again);

#if HERE
  /* Another filter than the database's, and an option that is none. */
  rocksdb_compactionfilter_t* filter = rocksdb_compactionfilter_create(NULL, nothing, keep, filter_name);
  rocksdb_compaction_service_options_override_set_compaction_filter(overrides, filter);
  CHECK(!rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, overrides, &err));
  rocksdb_free(err);
  err = NULL;
  rocksdb_compactionfilter_destroy(filter);
  rocksdb_compaction_service_options_override_set_option(overrides, "no_such_option", "2");
  CHECK(!rocksdb_open_and_compact(db_path, path_in(directory, "none"), service.input, service.input_length, &length,
                                  overrides, &err));
  FAILED("Invalid argument: ", "no_such_option");
#endif
  CHECK(!rocksdb_open_and_compact(db_path, output, "nothing", 7, &length, overrides, &err));
  FAILED("", "");
  CHECK(!rocksdb_open_and_compact(NULL, output, service.input, service.input_length, &length, overrides, &err));
  FAILED("Invalid argument: ", "");
  CHECK(!rocksdb_open_and_compact(db_path, output, NULL, 0, &length, overrides, &err));
  FAILED("Invalid argument: ", "");
  CHECK(!rocksdb_open_and_compact(db_path, output, service.input, service.input_length, &length, NULL, &err));
  FAILED("Invalid argument: ", "");
  CHECK(!rocksdb_open_and_compact_with_options(NULL, db_path, output, service.input, service.input_length, &length,
                                               overrides, &err));
  FAILED("Invalid argument: ", "");
  rocksdb_compaction_service_options_override_destroy(overrides);
  rocksdb_env_destroy(env);
  rocksdb_close(db);
  rocksdb_comparator_destroy(order);
  rocksdb_writeoptions_destroy(wo);
  wait_for_destruction(&service);
  free(service.input);
}

int main(int argc, char** argv) {
  if (argc == 5 && !strcmp(argv[1], "worker")) {
    return worker(argv);
  }
  CHECK(argc == 2);
  test_responses();
  for (int has_blobs = 0; has_blobs <= HERE; has_blobs++) {
    run(argv[1], argv[0], (struct service){.conduct = IN_THIS_PROCESS}, has_blobs, 1);
    run(argv[1], argv[0], (struct service){.conduct = IN_ANOTHER_PROCESS}, has_blobs, 1);
    run(argv[1], argv[0], (struct service){.conduct = LOCAL_BY_SCHEDULE}, has_blobs, 1);
#if HERE
    /* In RocksDB a failure, other than a wish for a local compaction, is an error of the compaction. */
    run(argv[1], argv[0], (struct service){.conduct = NO_RESPONSE}, has_blobs, 1);
    run(argv[1], argv[0], (struct service){.conduct = SPOILED}, has_blobs, 1);
    for (int status = -1; status <= 4; status++) {
      int is_compacted = status != rocksdb_compactionservice_jobstatus_aborted;
      run(argv[1], argv[0], (struct service){.conduct = WAIT_ENDS_WITH_STATUS, .status = status}, has_blobs,
          is_compacted);
    }
#endif
    run(argv[1], argv[0], (struct service){.conduct = CANCELED}, has_blobs, 1);
  }
  test_overrides(argv[1]);
  return 0;
}
