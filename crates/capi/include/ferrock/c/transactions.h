/* Batches that can be read, and transactions, which are not built yet. */
#ifndef FERROCK_C_TRANSACTIONS_H
#define FERROCK_C_TRANSACTIONS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create(size_t reserved_bytes, unsigned char overwrite_keys);
rocksdb_writebatch_wi_t* rocksdb_writebatch_wi_create_with_params(
    rocksdb_comparator_t* backup_index_comparator, size_t reserved_bytes, unsigned char overwrite_key,
    size_t max_bytes, size_t protection_bytes_per_key);
void rocksdb_writebatch_wi_destroy(rocksdb_writebatch_wi_t* writebatch_wi);
void rocksdb_writebatch_wi_clear(rocksdb_writebatch_wi_t* writebatch_wi);
int rocksdb_writebatch_wi_count(rocksdb_writebatch_wi_t* b);
void rocksdb_writebatch_wi_put(
    rocksdb_writebatch_wi_t* writebatch_wi, const char* key, size_t klen, const char* val, size_t vlen);
void rocksdb_writebatch_wi_put_cf(
    rocksdb_writebatch_wi_t* writebatch_wi, rocksdb_column_family_handle_t* column_family, const char* key,
    size_t klen, const char* val, size_t vlen);
void rocksdb_writebatch_wi_putv(
    rocksdb_writebatch_wi_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values, const char* const* values_list, const size_t* values_list_sizes);
void rocksdb_writebatch_wi_putv_cf(
    rocksdb_writebatch_wi_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes, int num_values, const char* const* values_list,
    const size_t* values_list_sizes);
void rocksdb_writebatch_wi_merge(
    rocksdb_writebatch_wi_t* writebatch_wi, const char* key, size_t klen, const char* val, size_t vlen);
void rocksdb_writebatch_wi_merge_cf(
    rocksdb_writebatch_wi_t* writebatch_wi, rocksdb_column_family_handle_t* column_family, const char* key,
    size_t klen, const char* val, size_t vlen);
void rocksdb_writebatch_wi_mergev(
    rocksdb_writebatch_wi_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes,
    int num_values, const char* const* values_list, const size_t* values_list_sizes);
void rocksdb_writebatch_wi_mergev_cf(
    rocksdb_writebatch_wi_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes, int num_values, const char* const* values_list,
    const size_t* values_list_sizes);
void rocksdb_writebatch_wi_delete(rocksdb_writebatch_wi_t* writebatch_wi, const char* key, size_t klen);
void rocksdb_writebatch_wi_singledelete(rocksdb_writebatch_wi_t* writebatch_wi, const char* key, size_t klen);
void rocksdb_writebatch_wi_delete_cf(
    rocksdb_writebatch_wi_t* writebatch_wi, rocksdb_column_family_handle_t* column_family, const char* key,
    size_t klen);
void rocksdb_writebatch_wi_singledelete_cf(
    rocksdb_writebatch_wi_t* writebatch_wi, rocksdb_column_family_handle_t* column_family, const char* key,
    size_t klen);
void rocksdb_writebatch_wi_deletev(
    rocksdb_writebatch_wi_t* b, int num_keys, const char* const* keys_list, const size_t* keys_list_sizes);
void rocksdb_writebatch_wi_deletev_cf(
    rocksdb_writebatch_wi_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes);
void rocksdb_writebatch_wi_delete_range(
    rocksdb_writebatch_wi_t* b, const char* start_key, size_t start_key_len, const char* end_key, size_t end_key_len);
void rocksdb_writebatch_wi_delete_range_cf(
    rocksdb_writebatch_wi_t* b, rocksdb_column_family_handle_t* column_family, const char* start_key,
    size_t start_key_len, const char* end_key, size_t end_key_len);
void rocksdb_writebatch_wi_delete_rangev(
    rocksdb_writebatch_wi_t* b, int num_keys, const char* const* start_keys_list,
    const size_t* start_keys_list_sizes, const char* const* end_keys_list, const size_t* end_keys_list_sizes);
void rocksdb_writebatch_wi_delete_rangev_cf(
    rocksdb_writebatch_wi_t* b, rocksdb_column_family_handle_t* column_family, int num_keys,
    const char* const* start_keys_list, const size_t* start_keys_list_sizes, const char* const* end_keys_list,
    const size_t* end_keys_list_sizes);
void rocksdb_writebatch_wi_put_log_data(rocksdb_writebatch_wi_t* writebatch_wi, const char* blob, size_t len);
void rocksdb_writebatch_wi_iterate(
    rocksdb_writebatch_wi_t* b, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen));
const char* rocksdb_writebatch_wi_data(rocksdb_writebatch_wi_t* b, size_t* size);
void rocksdb_writebatch_wi_set_save_point(rocksdb_writebatch_wi_t* writebatch_wi);
void rocksdb_writebatch_wi_rollback_to_save_point(rocksdb_writebatch_wi_t* writebatch_wi, char** errptr);
char* rocksdb_writebatch_wi_get_from_batch(
    rocksdb_writebatch_wi_t* wbwi, const rocksdb_options_t* options, const char* key, size_t keylen, size_t* vallen,
    char** errptr);
char* rocksdb_writebatch_wi_get_from_batch_cf(
    rocksdb_writebatch_wi_t* wbwi, const rocksdb_options_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t keylen, size_t* vallen, char** errptr);
char* rocksdb_writebatch_wi_get_from_batch_and_db(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key,
    size_t keylen, size_t* vallen, char** errptr);
rocksdb_pinnableslice_t* rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_t* db, const rocksdb_readoptions_t* options, const char* key,
    size_t keylen, char** errptr);
char* rocksdb_writebatch_wi_get_from_batch_and_db_cf(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, size_t* vallen, char** errptr);
rocksdb_pinnableslice_t* rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_t* db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, char** errptr);
void rocksdb_write_writebatch_wi(
    rocksdb_t* db, const rocksdb_writeoptions_t* options, rocksdb_writebatch_wi_t* wbwi, char** errptr);
rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_iterator_t* base_iterator);
rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_readopts(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_iterator_t* base_iterator, const rocksdb_readoptions_t* options);
rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_cf(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_iterator_t* base_iterator, rocksdb_column_family_handle_t* cf);
rocksdb_iterator_t* rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
    rocksdb_writebatch_wi_t* wbwi, rocksdb_iterator_t* base_iterator, rocksdb_column_family_handle_t* cf,
    const rocksdb_readoptions_t* options);
rocksdb_column_family_handle_t* rocksdb_transactiondb_create_column_family(
    rocksdb_transactiondb_t* txn_db, const rocksdb_options_t* column_family_options, const char* column_family_name,
    char** errptr);
rocksdb_transactiondb_t* rocksdb_transactiondb_open(
    const rocksdb_options_t* options, const rocksdb_transactiondb_options_t* txn_db_options, const char* name,
    char** errptr);
rocksdb_transactiondb_t* rocksdb_transactiondb_open_column_families(
    const rocksdb_options_t* options, const rocksdb_transactiondb_options_t* txn_db_options, const char* name,
    int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options, rocksdb_column_family_handle_t** column_family_handles,
    char** errptr);
const rocksdb_snapshot_t* rocksdb_transactiondb_create_snapshot(rocksdb_transactiondb_t* txn_db);
void rocksdb_transactiondb_release_snapshot(rocksdb_transactiondb_t* txn_db, const rocksdb_snapshot_t* snapshot);
char* rocksdb_transactiondb_property_value(rocksdb_transactiondb_t* db, const char* propname);
int rocksdb_transactiondb_property_int(rocksdb_transactiondb_t* db, const char* propname, uint64_t* out_val);
rocksdb_t* rocksdb_transactiondb_get_base_db(rocksdb_transactiondb_t* txn_db);
void rocksdb_transactiondb_close_base_db(rocksdb_t* base_db);
rocksdb_transaction_t* rocksdb_transaction_begin(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* write_options,
    const rocksdb_transaction_options_t* txn_options, rocksdb_transaction_t* old_txn);
rocksdb_transaction_t** rocksdb_transactiondb_get_prepared_transactions(rocksdb_transactiondb_t* txn_db, size_t* cnt);
void rocksdb_transaction_set_name(rocksdb_transaction_t* txn, const char* name, size_t name_len, char** errptr);
char* rocksdb_transaction_get_name(rocksdb_transaction_t* txn, size_t* name_len);
void rocksdb_transaction_prepare(rocksdb_transaction_t* txn, char** errptr);
void rocksdb_transaction_put(
    rocksdb_transaction_t* txn, const char* key, size_t klen, const char* val, size_t vlen, char** errptr);
void rocksdb_transaction_put_cf(
    rocksdb_transaction_t* txn, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    const char* val, size_t vlen, char** errptr);
void rocksdb_transaction_merge(
    rocksdb_transaction_t* txn, const char* key, size_t klen, const char* val, size_t vlen, char** errptr);
void rocksdb_transaction_merge_cf(
    rocksdb_transaction_t* txn, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    const char* val, size_t vlen, char** errptr);
void rocksdb_transaction_delete(rocksdb_transaction_t* txn, const char* key, size_t klen, char** errptr);
void rocksdb_transaction_delete_cf(
    rocksdb_transaction_t* txn, rocksdb_column_family_handle_t* column_family, const char* key, size_t klen,
    char** errptr);
void rocksdb_transaction_commit(rocksdb_transaction_t* txn, char** errptr);
void rocksdb_transaction_rollback(rocksdb_transaction_t* txn, char** errptr);
void rocksdb_transaction_put_log_data(rocksdb_transaction_t* txn, const char* blob, size_t len);
void rocksdb_transaction_set_savepoint(rocksdb_transaction_t* txn);
void rocksdb_transaction_rollback_to_savepoint(rocksdb_transaction_t* txn, char** errptr);
void rocksdb_transaction_destroy(rocksdb_transaction_t* txn);
rocksdb_writebatch_wi_t* rocksdb_transaction_get_writebatch_wi(rocksdb_transaction_t* txn);
void rocksdb_transaction_rebuild_from_writebatch(
    rocksdb_transaction_t* txn, rocksdb_writebatch_t* writebatch, char** errptr);
void rocksdb_transaction_rebuild_from_writebatch_wi(
    rocksdb_transaction_t* txn, rocksdb_writebatch_wi_t* wi, char** errptr);
void rocksdb_transaction_set_commit_timestamp(rocksdb_transaction_t* txn, uint64_t commit_timestamp);
void rocksdb_transaction_set_read_timestamp_for_validation(rocksdb_transaction_t* txn, uint64_t read_timestamp);
const rocksdb_snapshot_t* rocksdb_transaction_get_snapshot(rocksdb_transaction_t* txn);
char* rocksdb_transaction_get(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, const char* key, size_t klen, size_t* vlen,
    char** errptr);
rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, const char* key, size_t klen, char** errptr);
char* rocksdb_transaction_get_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t klen, size_t* vlen, char** errptr);
rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t klen, char** errptr);
char* rocksdb_transaction_get_for_update(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, const char* key, size_t klen, size_t* vlen,
    unsigned char exclusive, char** errptr);
rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_for_update(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, const char* key, size_t klen,
    unsigned char exclusive, char** errptr);
char* rocksdb_transaction_get_for_update_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t klen, size_t* vlen, unsigned char exclusive, char** errptr);
rocksdb_pinnableslice_t* rocksdb_transaction_get_pinned_for_update_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family,
    const char* key, size_t klen, unsigned char exclusive, char** errptr);
void rocksdb_transaction_multi_get(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
void rocksdb_transaction_multi_get_for_update(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
void rocksdb_transaction_multi_get_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
void rocksdb_transaction_multi_get_for_update_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
char* rocksdb_transactiondb_get(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options, const char* key, size_t klen,
    size_t* vlen, char** errptr);
rocksdb_pinnableslice_t* rocksdb_transactiondb_get_pinned(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options, const char* key, size_t klen,
    char** errptr);
char* rocksdb_transactiondb_get_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, size_t* vallen, char** errptr);
rocksdb_pinnableslice_t* rocksdb_transactiondb_get_pinned_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, char** errptr);
void rocksdb_transactiondb_multi_get(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options, size_t num_keys,
    const char* const* keys_list, const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes,
    char** errs);
void rocksdb_transactiondb_multi_get_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options,
    const rocksdb_column_family_handle_t* const* column_families, size_t num_keys, const char* const* keys_list,
    const size_t* keys_list_sizes, char** values_list, size_t* values_list_sizes, char** errs);
void rocksdb_transactiondb_put(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options, const char* key, size_t klen,
    const char* val, size_t vlen, char** errptr);
void rocksdb_transactiondb_put_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, const char* val, size_t vallen,
    char** errptr);
void rocksdb_transactiondb_write(
    rocksdb_transactiondb_t* db, const rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch, char** errptr);
void rocksdb_transactiondb_merge(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options, const char* key, size_t klen,
    const char* val, size_t vlen, char** errptr);
void rocksdb_transactiondb_merge_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t klen, const char* val, size_t vlen,
    char** errptr);
void rocksdb_transactiondb_delete(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options, const char* key, size_t klen,
    char** errptr);
void rocksdb_transactiondb_delete_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_writeoptions_t* options,
    rocksdb_column_family_handle_t* column_family, const char* key, size_t keylen, char** errptr);
void rocksdb_transactiondb_flush_wal(rocksdb_transactiondb_t* txn_db, unsigned char sync, char** errptr);
void rocksdb_transactiondb_flush(
    rocksdb_transactiondb_t* txn_db, const rocksdb_flushoptions_t* options, char** errptr);
void rocksdb_transactiondb_flush_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_flushoptions_t* options,
    rocksdb_column_family_handle_t* column_family, char** errptr);
rocksdb_iterator_t* rocksdb_transaction_create_iterator(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options);
rocksdb_iterator_t* rocksdb_transaction_create_iterator_cf(
    rocksdb_transaction_t* txn, const rocksdb_readoptions_t* options, rocksdb_column_family_handle_t* column_family);
rocksdb_iterator_t* rocksdb_transactiondb_create_iterator(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options);
rocksdb_iterator_t* rocksdb_transactiondb_create_iterator_cf(
    rocksdb_transactiondb_t* txn_db, const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* column_family);
void rocksdb_transactiondb_close(rocksdb_transactiondb_t* txn_db);
void rocksdb_transactiondb_flush_cfs(
    rocksdb_transactiondb_t* txn_db, const rocksdb_flushoptions_t* options,
    rocksdb_column_family_handle_t** column_families, int num_column_families, char** errptr);
void rocksdb_transactiondb_flush_wal_with_options(
    rocksdb_transactiondb_t* txn_db, const rocksdb_flushwaloptions_t* options, char** errptr);
rocksdb_checkpoint_t* rocksdb_transactiondb_checkpoint_object_create(rocksdb_transactiondb_t* txn_db, char** errptr);
rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open(
    const rocksdb_options_t* options, const char* name, char** errptr);
rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_with_otxn_db_options(
    const rocksdb_options_t* options, const rocksdb_optimistictransactiondb_options_t* otxn_db_options,
    const char* name, char** errptr);
rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_column_families(
    const rocksdb_options_t* options, const char* name, int num_column_families,
    const char* const* column_family_names, const rocksdb_options_t* const* column_family_options,
    rocksdb_column_family_handle_t** column_family_handles, char** errptr);
rocksdb_optimistictransactiondb_t* rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
    const rocksdb_options_t* options, const rocksdb_optimistictransactiondb_options_t* otxn_db_options,
    const char* name, int num_column_families, const char* const* column_family_names,
    const rocksdb_options_t* const* column_family_options, rocksdb_column_family_handle_t** column_family_handles,
    char** errptr);
rocksdb_t* rocksdb_optimistictransactiondb_get_base_db(rocksdb_optimistictransactiondb_t* otxn_db);
void rocksdb_optimistictransactiondb_close_base_db(rocksdb_t* base_db);
rocksdb_transaction_t* rocksdb_optimistictransaction_begin(
    rocksdb_optimistictransactiondb_t* otxn_db, const rocksdb_writeoptions_t* write_options,
    const rocksdb_optimistictransaction_options_t* otxn_options, rocksdb_transaction_t* old_txn);
void rocksdb_optimistictransactiondb_write(
    rocksdb_optimistictransactiondb_t* otxn_db, const rocksdb_writeoptions_t* options, rocksdb_writebatch_t* batch,
    char** errptr);
void rocksdb_optimistictransactiondb_close(rocksdb_optimistictransactiondb_t* otxn_db);
rocksdb_checkpoint_t* rocksdb_optimistictransactiondb_checkpoint_object_create(
    rocksdb_optimistictransactiondb_t* otxn_db, char** errptr);
rocksdb_transactiondb_options_t* rocksdb_transactiondb_options_create(void);
void rocksdb_transactiondb_options_destroy(rocksdb_transactiondb_options_t* opt);
rocksdb_transaction_options_t* rocksdb_transaction_options_create(void);
void rocksdb_transaction_options_destroy(rocksdb_transaction_options_t* opt);
rocksdb_optimistictransaction_options_t* rocksdb_optimistictransaction_options_create(void);
rocksdb_optimistictransactiondb_lock_buckets_t* rocksdb_optimistictransactiondb_lock_buckets_create(
    size_t bucket_count, unsigned char cache_aligned);
size_t rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(
    rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);
void rocksdb_optimistictransactiondb_lock_buckets_destroy(
    rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);
rocksdb_optimistictransactiondb_options_t* rocksdb_optimistictransactiondb_options_create(void);
void rocksdb_optimistictransactiondb_options_destroy(rocksdb_optimistictransactiondb_options_t* opt);
void rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(
    rocksdb_optimistictransactiondb_options_t* opt, rocksdb_optimistictransactiondb_lock_buckets_t* lock_buckets);
void rocksdb_optimistictransaction_options_destroy(rocksdb_optimistictransaction_options_t* opt);
char* rocksdb_optimistictransactiondb_property_value(rocksdb_optimistictransactiondb_t* db, const char* propname);
int rocksdb_optimistictransactiondb_property_int(
    rocksdb_optimistictransactiondb_t* db, const char* propname, uint64_t* out_val);
void rocksdb_transactiondb_options_set_max_num_locks(rocksdb_transactiondb_options_t* opt, int64_t v);
int64_t rocksdb_transactiondb_options_get_max_num_locks(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_max_num_deadlocks(rocksdb_transactiondb_options_t* opt, uint32_t v);
uint32_t rocksdb_transactiondb_options_get_max_num_deadlocks(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_num_stripes(rocksdb_transactiondb_options_t* opt, size_t v);
size_t rocksdb_transactiondb_options_get_num_stripes(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_transaction_lock_timeout(rocksdb_transactiondb_options_t* opt, int64_t v);
int64_t rocksdb_transactiondb_options_get_transaction_lock_timeout(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_default_lock_timeout(rocksdb_transactiondb_options_t* opt, int64_t v);
int64_t rocksdb_transactiondb_options_get_default_lock_timeout(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_write_policy(rocksdb_transactiondb_options_t* opt, int v);
int rocksdb_transactiondb_options_get_write_policy(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_rollback_merge_operands(rocksdb_transactiondb_options_t* opt, unsigned char v);
unsigned char rocksdb_transactiondb_options_get_rollback_merge_operands(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_use_per_key_point_lock_mgr(
    rocksdb_transactiondb_options_t* opt, unsigned char v);
unsigned char rocksdb_transactiondb_options_get_use_per_key_point_lock_mgr(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_skip_concurrency_control(
    rocksdb_transactiondb_options_t* opt, unsigned char v);
unsigned char rocksdb_transactiondb_options_get_skip_concurrency_control(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_default_write_batch_flush_threshold(
    rocksdb_transactiondb_options_t* opt, int64_t v);
int64_t rocksdb_transactiondb_options_get_default_write_batch_flush_threshold(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_enable_udt_validation(rocksdb_transactiondb_options_t* opt, unsigned char v);
unsigned char rocksdb_transactiondb_options_get_enable_udt_validation(rocksdb_transactiondb_options_t* opt);
void rocksdb_transactiondb_options_set_txn_commit_bypass_memtable_threshold(
    rocksdb_transactiondb_options_t* opt, uint32_t v);
uint32_t rocksdb_transactiondb_options_get_txn_commit_bypass_memtable_threshold(rocksdb_transactiondb_options_t* opt);
void rocksdb_transaction_options_set_set_snapshot(rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_set_snapshot(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_deadlock_detect(rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_deadlock_detect(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_use_only_the_last_commit_time_batch_for_recovery(
    rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_use_only_the_last_commit_time_batch_for_recovery(
    rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_lock_timeout(rocksdb_transaction_options_t* opt, int64_t v);
int64_t rocksdb_transaction_options_get_lock_timeout(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_deadlock_timeout_us(rocksdb_transaction_options_t* opt, int64_t v);
int64_t rocksdb_transaction_options_get_deadlock_timeout_us(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_expiration(rocksdb_transaction_options_t* opt, int64_t v);
int64_t rocksdb_transaction_options_get_expiration(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_deadlock_detect_depth(rocksdb_transaction_options_t* opt, int64_t v);
int64_t rocksdb_transaction_options_get_deadlock_detect_depth(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_max_write_batch_size(rocksdb_transaction_options_t* opt, size_t v);
size_t rocksdb_transaction_options_get_max_write_batch_size(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_skip_concurrency_control(rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_skip_concurrency_control(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_skip_prepare(rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_skip_prepare(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_write_batch_flush_threshold(rocksdb_transaction_options_t* opt, int64_t v);
int64_t rocksdb_transaction_options_get_write_batch_flush_threshold(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_write_batch_track_timestamp_size(
    rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_write_batch_track_timestamp_size(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_commit_bypass_memtable(rocksdb_transaction_options_t* opt, unsigned char v);
unsigned char rocksdb_transaction_options_get_commit_bypass_memtable(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_large_txn_commit_optimize_threshold(
    rocksdb_transaction_options_t* opt, uint32_t v);
uint32_t rocksdb_transaction_options_get_large_txn_commit_optimize_threshold(rocksdb_transaction_options_t* opt);
void rocksdb_transaction_options_set_large_txn_commit_optimize_byte_threshold(
    rocksdb_transaction_options_t* opt, uint64_t v);
uint64_t rocksdb_transaction_options_get_large_txn_commit_optimize_byte_threshold(rocksdb_transaction_options_t* opt);
void rocksdb_optimistictransaction_options_set_set_snapshot(
    rocksdb_optimistictransaction_options_t* opt, unsigned char v);
unsigned char rocksdb_optimistictransaction_options_get_set_snapshot(rocksdb_optimistictransaction_options_t* opt);
void rocksdb_optimistictransactiondb_options_set_validate_policy(
    rocksdb_optimistictransactiondb_options_t* opt, int v);
int rocksdb_optimistictransactiondb_options_get_validate_policy(rocksdb_optimistictransactiondb_options_t* opt);
void rocksdb_optimistictransactiondb_options_set_occ_lock_buckets(
    rocksdb_optimistictransactiondb_options_t* opt, uint32_t v);
uint32_t rocksdb_optimistictransactiondb_options_get_occ_lock_buckets(rocksdb_optimistictransactiondb_options_t* opt);

#ifdef __cplusplus
}
#endif

#endif
