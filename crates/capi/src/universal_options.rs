//! Options of universal compaction.

use crate::function::{FromC, ToC};
use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock::options::{CompactionOptionsUniversal, CompactionStopStyle};
use std::ffi::{c_int, c_uchar};

/// Which sorted runs of a family of style universal are merged.
#[derive(Default)]
pub struct rocksdb_universal_compaction_options_t {
    options: CompactionOptionsUniversal,
}

/// As C has it: -1 is the largest.
impl FromC<c_int> for u32 {
    fn from_c(value: c_int) -> Self {
        value.cast_unsigned()
    }
}

impl ToC<c_int> for u32 {
    fn to_c(self) -> c_int {
        self.cast_signed()
    }
}

impl FromC<c_int> for CompactionStopStyle {
    fn from_c(value: c_int) -> Self {
        if value == 0 { Self::SimilarSize } else { Self::TotalSize }
    }
}

impl ToC<c_int> for CompactionStopStyle {
    fn to_c(self) -> c_int {
        c_int::from(self == Self::TotalSize)
    }
}

macro_rules! universal_options {
    ($( $field:ident : $set:ident, $get:ident ($ty:ty); )*) => {$(
        c_setters! {
            for rocksdb_universal_compaction_options_t:
            #[doc = "Sets one of the options."]
            fn $set($ty) => options.$field;
        }
        c_getters! {
            for rocksdb_universal_compaction_options_t:
            #[doc = "What it is set to."]
            fn $get() -> $ty => options.$field;
        }
    )*};
}

universal_options! {
    size_ratio: rocksdb_universal_compaction_options_set_size_ratio,
        rocksdb_universal_compaction_options_get_size_ratio(c_int);
    min_merge_width: rocksdb_universal_compaction_options_set_min_merge_width,
        rocksdb_universal_compaction_options_get_min_merge_width(c_int);
    max_merge_width: rocksdb_universal_compaction_options_set_max_merge_width,
        rocksdb_universal_compaction_options_get_max_merge_width(c_int);
    max_size_amplification_percent: rocksdb_universal_compaction_options_set_max_size_amplification_percent,
        rocksdb_universal_compaction_options_get_max_size_amplification_percent(c_int);
    compression_size_percent: rocksdb_universal_compaction_options_set_compression_size_percent,
        rocksdb_universal_compaction_options_get_compression_size_percent(c_int);
    stop_style: rocksdb_universal_compaction_options_set_stop_style,
        rocksdb_universal_compaction_options_get_stop_style(c_int);
    max_read_amp: rocksdb_universal_compaction_options_set_max_read_amp,
        rocksdb_universal_compaction_options_get_max_read_amp(c_int);
    allow_trivial_move: rocksdb_universal_compaction_options_set_allow_trivial_move,
        rocksdb_universal_compaction_options_get_allow_trivial_move(c_uchar);
    incremental: rocksdb_universal_compaction_options_set_incremental,
        rocksdb_universal_compaction_options_get_incremental(c_uchar);
    reduce_file_locking: rocksdb_universal_compaction_options_set_reduce_file_locking,
        rocksdb_universal_compaction_options_get_reduce_file_locking(c_uchar);
}

c_functions! {
    /// Options at their defaults.
    fn rocksdb_universal_compaction_options_create() -> *mut rocksdb_universal_compaction_options_t {
        give(rocksdb_universal_compaction_options_t::default())
    }

    /// Takes the options over; a family of another style keeps them and does nothing with them.
    fn rocksdb_options_set_universal_compaction_options(
        options: *mut rocksdb_options_t,
        universal: *mut rocksdb_universal_compaction_options_t,
    ) {
        // SAFETY: the contract.
        if let (Some(options), Some(universal)) = unsafe { (options.as_mut(), universal.as_ref()) } {
            options.family.settings.compaction_options_universal = universal.options.clone();
        }
    }
}

c_destructors! {
    /// Frees the options.
    fn rocksdb_universal_compaction_options_destroy(rocksdb_universal_compaction_options_t);
}
