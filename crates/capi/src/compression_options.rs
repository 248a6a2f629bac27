//! Options of compression, and what options of filters and compression were set to.

use crate::options::{rocksdb_options_t, set};
use crate::refused::out_of_range;
use ferrock::Result;
use ferrock::options::CompressionType;
use std::ffi::{c_int, c_uchar};

/// A number of bytes that C has as `int`.
fn bytes_of(option: &'static str, number: c_int) -> Result<u32> {
    u32::try_from(number).map_err(|_| out_of_range(option, number, "0..=2147483647"))
}

/// RocksDB's `kDisableCompressionOption`.
const DISABLE_COMPRESSION: c_int = 0xff;
const OPTIONS: &str = "compression_opts";
const BOTTOMMOST_OPTIONS: &str = "bottommost_compression_opts";

c_functions! {

    /// How hard blocks are compressed, and the size of dictionaries: of all levels.
    fn rocksdb_options_set_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
    ) {
        let max_dict_bytes = bytes_of("compression_opts.max_dict_bytes", max_dict_bytes);
        // SAFETY: the contract.
        unsafe {
            set(options, OPTIONS, |options| {
                let opts = &mut options.family.settings.compression_opts.0;
                opts.max_dict_bytes = max_dict_bytes?;
                (opts.window_bits, opts.level, opts.strategy) = (window_bits, level, strategy);
                Ok(())
            });
        }
    }

    /// Sample bytes for training a dictionary; 0 takes samples as they are.
    fn rocksdb_options_set_compression_options_zstd_max_train_bytes(options: *mut rocksdb_options_t, value: c_int) {
        let value: Result<_> = bytes_of("compression_opts.zstd_max_train_bytes", value);
        // SAFETY: the contract.
        unsafe {
            set(options, "compression_opts.zstd_max_train_bytes", |options| {
                let opts = &mut options.family.settings.compression_opts.0;
                opts.zstd_max_train_bytes = value?;
                Ok(())
            });
        }
    }

    /// Bytes of data that wait for a dictionary at most; 0 is no limit.
    fn rocksdb_options_set_compression_options_max_dict_buffer_bytes(options: *mut rocksdb_options_t, value: u64) {
        let value: Result<_> = Ok(value);
        // SAFETY: the contract.
        unsafe {
            set(options, "compression_opts.max_dict_buffer_bytes", |options| {
                let opts = &mut options.family.settings.compression_opts.0;
                opts.max_dict_buffer_bytes = value?;
                Ok(())
            });
        }
    }

    /// Whether training selects what goes into a dictionary.
    fn rocksdb_options_set_compression_options_use_zstd_dict_trainer(options: *mut rocksdb_options_t, value: c_uchar) {
        let value: Result<_> = Ok(value != 0);
        // SAFETY: the contract.
        unsafe {
            set(options, "compression_opts.use_zstd_dict_trainer", |options| {
                let opts = &mut options.family.settings.compression_opts.0;
                opts.use_zstd_dict_trainer = value?;
                Ok(())
            });
        }
    }

    /// Threads that compress the blocks of a table.
    fn rocksdb_options_set_compression_options_parallel_threads(options: *mut rocksdb_options_t, value: c_int) {
        let value: Result<_> = bytes_of("compression_opts.parallel_threads", value);
        // SAFETY: the contract.
        unsafe {
            set(options, "compression_opts.parallel_threads", |options| {
                let opts = &mut options.family.settings.compression_opts.0;
                opts.parallel_threads = value?;
                Ok(())
            });
        }
    }

    /// How hard blocks are compressed, and the size of dictionaries: those of the bottommost level, which count when
    /// they are `enabled`.
    fn rocksdb_options_set_bottommost_compression_options(
        options: *mut rocksdb_options_t,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
        enabled: c_uchar,
    ) {
        let max_dict_bytes = bytes_of("bottommost_compression_opts.max_dict_bytes", max_dict_bytes);
        // SAFETY: the contract.
        unsafe {
            set(options, BOTTOMMOST_OPTIONS, |options| {
                let opts = &mut options.family.settings.bottommost_compression_opts.0;
                opts.max_dict_bytes = max_dict_bytes?;
                (opts.window_bits, opts.level, opts.strategy) = (window_bits, level, strategy);
                opts.enabled = enabled != 0;
                Ok(())
            });
        }
    }

    /// Sample bytes for training a dictionary; 0 takes samples as they are.
    fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(options: *mut rocksdb_options_t, value: c_int, enabled: c_uchar) {
        let value: Result<_> = bytes_of("bottommost_compression_opts.zstd_max_train_bytes", value);
        // SAFETY: the contract.
        unsafe {
            set(options, "bottommost_compression_opts.zstd_max_train_bytes", |options| {
                let opts = &mut options.family.settings.bottommost_compression_opts.0;
                opts.zstd_max_train_bytes = value?;
                opts.enabled = enabled != 0;
                Ok(())
            });
        }
    }

    /// Bytes of data that wait for a dictionary at most; 0 is no limit.
    fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(options: *mut rocksdb_options_t, value: u64, enabled: c_uchar) {
        let value: Result<_> = Ok(value);
        // SAFETY: the contract.
        unsafe {
            set(options, "bottommost_compression_opts.max_dict_buffer_bytes", |options| {
                let opts = &mut options.family.settings.bottommost_compression_opts.0;
                opts.max_dict_buffer_bytes = value?;
                opts.enabled = enabled != 0;
                Ok(())
            });
        }
    }

    /// Whether training selects what goes into a dictionary.
    fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(options: *mut rocksdb_options_t, value: c_uchar, enabled: c_uchar) {
        let value: Result<_> = Ok(value != 0);
        // SAFETY: the contract.
        unsafe {
            set(options, "bottommost_compression_opts.use_zstd_dict_trainer", |options| {
                let opts = &mut options.family.settings.bottommost_compression_opts.0;
                opts.use_zstd_dict_trainer = value?;
                opts.enabled = enabled != 0;
                Ok(())
            });
        }
    }

    /// The number of the compression of blocks.
    fn rocksdb_options_get_compression(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| c_int::from(options.family.settings.compression.as_u8()))
    }

    /// The number of the compression of values in blob files.
    fn rocksdb_options_get_blob_compression_type(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| c_int::from(options.family.settings.blob_compression_type.as_u8()))
    }

    /// The number of the compression of logs.
    fn rocksdb_options_get_wal_compression(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| c_int::from(options.db.wal_compression.as_u8()))
    }

    /// The number of the compression of the bottommost level; 255 when it has none of its own.
    fn rocksdb_options_get_bottommost_compression(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(DISABLE_COMPRESSION, |options| options.family.settings.bottommost_compression.0.map_or(DISABLE_COMPRESSION, |kind: CompressionType| c_int::from(kind.as_u8())))
    }

    /// The value of `zstd_max_train_bytes`.
    fn rocksdb_options_get_compression_options_zstd_max_train_bytes(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| c_int::try_from(options.family.settings.compression_opts.0.zstd_max_train_bytes).unwrap_or(c_int::MAX))
    }

    /// The value of `max_dict_buffer_bytes`.
    fn rocksdb_options_get_compression_options_max_dict_buffer_bytes(options: *mut rocksdb_options_t) -> u64 {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.family.settings.compression_opts.0.max_dict_buffer_bytes)
    }

    /// The value of `parallel_threads`.
    fn rocksdb_options_get_compression_options_parallel_threads(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| c_int::try_from(options.family.settings.compression_opts.0.parallel_threads).unwrap_or(c_int::MAX))
    }

    /// The value of `use_zstd_dict_trainer`.
    fn rocksdb_options_get_compression_options_use_zstd_dict_trainer(options: *mut rocksdb_options_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.family.settings.compression_opts.0.use_zstd_dict_trainer.into())
    }

    /// The value of `use_zstd_dict_trainer` for the bottommost level.
    fn rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(options: *mut rocksdb_options_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.family.settings.bottommost_compression_opts.0.use_zstd_dict_trainer.into())
    }

}

c_setters! {
    for rocksdb_options_t:
    /// Whether the last level goes without filters.
    fn rocksdb_options_set_optimize_filters_for_hits(c_int) => family.settings.optimize_filters_for_hits;
    /// Share of a memtable that its Bloom filter takes.
    fn rocksdb_options_set_memtable_prefix_bloom_size_ratio(f64) => family.settings.memtable_prefix_bloom_size_ratio;
    /// Whether whole keys go into the filter of memtables.
    fn rocksdb_options_set_memtable_whole_key_filtering(c_uchar) => family.settings.memtable_whole_key_filtering;
}

c_getters! {
    for rocksdb_options_t:
    /// The value of `optimize_filters_for_hits`.
    fn rocksdb_options_get_optimize_filters_for_hits() -> c_uchar => family.settings.optimize_filters_for_hits;
    /// The value of `memtable_prefix_bloom_size_ratio`.
    fn rocksdb_options_get_memtable_prefix_bloom_size_ratio() -> f64 => family.settings.memtable_prefix_bloom_size_ratio;
    /// The value of `memtable_whole_key_filtering`.
    fn rocksdb_options_get_memtable_whole_key_filtering() -> c_uchar => family.settings.memtable_whole_key_filtering;
}
