//! RocksDB's C interface (`rocksdb/c.h`) over the Ferrock engine: programs and bindings that were written for RocksDB
//! link against this library instead. `include/ferrock/c.h` declares it; `docs/c-api.md` is its page.
//!
//! | module | functions about |
//! |---|---|
//! | `db` | opening, closing, destroying, families of a database |
//! | `write`, `write_batch` | put, delete, merge; batches |
//! | `read`, `iterator`, `snapshot` | get and its many forms; ranges; moments |
//! | `maintenance`, `live_files`, `property` | flush, compaction, checks; tables; numbers |
//! | `checkpoint`, `storage_info` | copies of a running database, and what they are made of |
//! | `exported_families` | column families exported from and imported into databases |
//! | `compaction_control` | compactions of named files, cancelling, aborting, waiting |
//! | `compaction_service`, `open_and_compact` | compactions in other processes: the database's side, the worker's |
//! | `file_checksum` | checksums of whole files |
//! | `sst_file_writer`, `ingest` | tables from outside: writing them, and taking them in |
//! | `options`, `table_options`, `operation_options`, `options_text` | setters; options from text and from files |
//! | `option_values`, `options_presets`, `option_sets`, `kept` | options a line each; many at once; those without effect |
//! | `read_more`, `sizes`, `metadata`, `memory_usage`, `write_batch_parts` | the less common forms |
//! | `event_listener` | listeners made of callbacks, infos of flushes and compactions, properties of tables |
//! | `env`, `rate_limiter`, `cache`, `filter_policy` | components without callbacks |
//! | `backup` | backups: engines, their options, what they tell |
//! | `not_built` | every function whose feature is not built |
//! | `comparator`, `merge_operator`, `compaction_filter`, `slice_transform` | components made of callbacks |
//! | `function`, `error`, `memory`, `handle` | what every function is made with |
//!
//! # The contract
//!
//! What every caller promises, and what every `unsafe` block here relies on as *the contract*:
//!
//! 1. a handle came from the function that makes its kind, was not destroyed, and its kind is the one declared;
//! 2. a pointer to bytes with a length points to that many readable bytes, or the length is 0; a text ends in a zero
//!    byte;
//! 3. an array has as many elements as the count beside it says; where results go, they can be written;
//! 4. an `errptr` points to a pointer that is null or came from `malloc`;
//! 5. a handle is not destroyed while another thread uses it; handles of databases, families, caches and snapshots may
//!    be used by many threads at once, all others by one at a time;
//! 6. callbacks may be called on any thread, by many at once, with their own state, and do not unwind.
//!
//! In return: a null handle is an error, or nothing is done, never a crash; a panic of the engine ends as an error or
//! as the neutral result of the function; nothing but `rocksdb_*` is exported.
#![warn(missing_docs)]
// The names of C types and functions are RocksDB's.
#![allow(non_camel_case_types)]

#[macro_use]
mod function;

mod backup;
mod cache;
mod callback;
mod checkpoint;
mod column_family;
mod compaction_control;
mod compaction_filter;
mod compaction_service;
mod comparator;
mod compression_options;
mod cursor;
mod db;
mod deletion_rules;
mod env;
mod error;
mod event_listener;
mod exported_families;
mod family_handle;
mod fifo_options;
mod file_checksum;
mod filter_policy;
mod filters_of_reads;
mod handle;
mod indexed_batch;
mod ingest;
mod iterator;
mod kept;
mod live_files;
mod logger;
mod maintenance;
mod memory;
mod memory_usage;
mod merge_operator;
mod metadata;
mod metadata_options;
mod not_built;
mod open_and_compact;
mod operation_options;
mod option_sets;
mod option_values;
mod options;
mod options_presets;
mod options_text;
mod paths;
mod property;
mod rate_limiter;
mod read;
mod read_more;
mod refused;
mod sizes;
mod slice;
mod slice_transform;
mod snapshot;
mod sst_file_manager;
mod sst_file_writer;
mod sst_partitioner;
mod statistics;
mod storage_info;
mod table_options;
mod table_values;
mod trace;
mod ttl;
mod universal_options;
mod wal;
mod write;
mod write_batch;
mod write_batch_parts;
mod write_buffer_manager;
