//! Options of databases and column families.
//!
//! RocksDB's C interface has one kind of options for both; each half goes where it belongs when something is opened.
//! A setter only notes a value. A number out of its bounds is brought to the nearest good one by the open, which notes
//! it; what means nothing, and what is not built, is refused by the open, which names the option: a setter has no
//! `errptr`.

use crate::cache::rocksdb_cache_t;
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::comparator::rocksdb_comparator_t;
use crate::event_listener::CallbackListener;
use crate::handle::{give, take};
use crate::kept::Kept;
use crate::memory::array;
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::refused::{Refused, not_built, out_of_range};
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::table_options::rocksdb_block_based_table_options_t;
use ferrock::options::{
    BottommostCompression, CompactionStyle, CompressionType, PrepopulateBlobCache, TableFactory, WalRecoveryMode,
};
use ferrock::{ColumnFamilyOptions, Comparator, DbOptions, Result};
use ferrock_base::merge::UInt64Add;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, c_int};
use std::sync::Arc;

/// The sets of options.
#[derive(Clone)]
pub(crate) struct OptionSets {
    /// Kinds of files whose checksums the file system verifies.
    pub(crate) checksum_handoff: BTreeSet<c_int>,
    /// Compaction styles whose tables tell the file system how long they live.
    pub(crate) write_lifetime: BTreeSet<c_int>,
}

impl Default for OptionSets {
    fn default() -> Self {
        // RocksDB begins with kCompactionStyleLevel.
        Self { checksum_handoff: BTreeSet::new(), write_lifetime: BTreeSet::from([0]) }
    }
}

/// Options of a database and of a column family.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub(crate) db: DbOptions,
    pub(crate) family: ColumnFamilyOptions,
    pub(crate) refused: Refused,
    /// What the table options refuse; replaced with them.
    pub(crate) refused_table: Refused,
    /// Values that were refused, as texts, for their getters.
    pub(crate) kept: BTreeMap<&'static str, String>,
    /// What belongs to the handle alone.
    pub(crate) kept_numbers: Kept,
    /// Options that are sets.
    pub(crate) sets: OptionSets,
    /// Texts that a getter gives.
    pub(crate) texts: BTreeMap<&'static str, CString>,
    /// Listeners, which each open attaches to its database.
    pub(crate) event_listeners: Vec<Arc<CallbackListener>>,
}

impl rocksdb_options_t {
    /// The database's half.
    pub(crate) fn db_to_open(&self) -> Result<DbOptions> {
        self.refused.check()?;
        let mut options = self.db.clone();
        // Families without a cache of their own share this one, and no other is made.
        options.components.block_cache.clone_from(&self.family.block_cache);
        Ok(options)
    }

    /// The column family's half.
    pub(crate) fn family_to_open(&self) -> Result<ColumnFamilyOptions> {
        self.refused.check()?;
        self.refused_table.check()?;
        Ok(self.family.clone())
    }

    /// Notes what came of setting an option to a text, which is kept when it was refused.
    pub(crate) fn keep(&mut self, option: &'static str, text: Option<String>, outcome: Result<()>) {
        match (&outcome, text) {
            (Err(_), Some(text)) => self.kept.insert(option, text),
            _ => self.kept.remove(option),
        };
        self.refused.note(option, outcome);
    }

    /// A text that was refused.
    pub(crate) fn kept_text(&self, option: &str) -> Option<String> {
        self.kept.get(option).cloned()
    }

    /// A style that was refused is no longer what a getter tells.
    pub(crate) fn forget_refused_style(&mut self) {
        self.kept_numbers.set("compaction_style", c_int::MIN, c_int::MIN, true);
    }

    fn set(&mut self, option: &'static str, set: impl FnOnce(&mut Self) -> Result<()>) {
        let outcome = set(self);
        self.refused.note(option, outcome);
    }
}

/// Changes options, unless they are null; what goes wrong is kept for the open.
///
/// # Safety
/// The contract.
pub(crate) unsafe fn set(
    options: *mut rocksdb_options_t,
    option: &'static str,
    set: impl FnOnce(&mut rocksdb_options_t) -> Result<()>,
) {
    // SAFETY: as for this function.
    if let Some(options) = unsafe { options.as_mut() } {
        options.set(option, set);
    }
}

/// The compression of a number of C.
pub(crate) fn compression_of(option: &str, number: c_int) -> Result<CompressionType> {
    let kind = CompressionType::ALL.into_iter().find(|kind| c_int::from(kind.as_u8()) == number);
    let kind = kind.ok_or_else(|| out_of_range(option, number, "the compression types 0..=7"))?;
    match kind.check_built() {
        Ok(()) => Ok(kind),
        Err(_) if kind == CompressionType::Xpress => Err(not_built(option, kind.option_name())),
        Err(left_out) => Err(left_out),
    }
}

/// RocksDB's `kDisableCompressionOption`, and the same as a signed byte.
pub(crate) const DISABLE_COMPRESSION: [c_int; 2] = [0xff, -1];

c_functions! {
    /// Options at their defaults.
    fn rocksdb_options_create() -> *mut rocksdb_options_t {
        give(rocksdb_options_t::default())
    }

    /// How tables are made; the table options are copied and stay the caller's.
    fn rocksdb_options_set_block_based_table_factory(
        options: *mut rocksdb_options_t,
        table: *mut rocksdb_block_based_table_options_t,
    ) {
        // SAFETY: the contract.
        let (options, table) = unsafe { (options.as_mut(), table.as_ref()) };
        if let (Some(options), Some(table)) = (options, table) {
            options.family.table_factory = TableFactory::BlockBased;
            table.give_to(options);
        }
    }

    /// A cache of rows. Nothing is kept in it, which the LOG says.
    fn rocksdb_options_set_row_cache(options: *mut rocksdb_options_t, cache: *mut rocksdb_cache_t) {
        // SAFETY: the contract.
        let (options, cache) = unsafe { (options.as_mut(), cache.as_ref()) };
        if let Some(options) = options {
            options.db.components.row_cache = cache.map(|cache| Arc::clone(&cache.cache));
        }
    }

    /// The order of the keys. The comparator stays the caller's, to be destroyed after the last database with it.
    fn rocksdb_options_set_comparator(options: *mut rocksdb_options_t, comparator: *mut rocksdb_comparator_t) {
        // SAFETY: the contract.
        let comparator = unsafe { comparator.as_ref() };
        let comparator = comparator.map_or(Ok(Comparator::Bytewise), rocksdb_comparator_t::comparator);
        // SAFETY: the contract.
        unsafe { set(options, "comparator", |options| comparator.map(|order| options.family.comparator = order)) };
    }

    /// The merge operator, which the options own from now on.
    fn rocksdb_options_set_merge_operator(
        options: *mut rocksdb_options_t,
        operator: *mut rocksdb_mergeoperator_t,
    ) {
        // SAFETY: the contract: the operator is handed over.
        let operator = unsafe { take(operator) }.map(|operator| operator.into_operator()).transpose();
        // SAFETY: the contract.
        unsafe {
            set(options, "merge_operator", |options| {
                operator.map(|operator| options.family.merge_operator = operator)
            });
        }
    }

    /// The merge operator that adds little-endian numbers of 64 bits.
    fn rocksdb_options_set_uint64add_merge_operator(options: *mut rocksdb_options_t) {
        // SAFETY: the contract.
        unsafe {
            set(options, "merge_operator", |options| {
                options.family.merge_operator = Some(Arc::new(UInt64Add));
                Ok(())
            });
        }
    }

    /// The compaction filter. It stays the caller's, to be destroyed after the last database with it.
    fn rocksdb_options_set_compaction_filter(
        options: *mut rocksdb_options_t,
        filter: *mut rocksdb_compactionfilter_t,
    ) {
        // SAFETY: the contract.
        let filter = unsafe { filter.as_ref() }.map(rocksdb_compactionfilter_t::filter).transpose();
        // SAFETY: the contract.
        unsafe {
            set(options, "compaction_filter", |options| {
                filter.map(|filter| options.family.compaction_filter = filter)
            });
        }
    }

    /// The factory of compaction filters, which the options own from now on.
    fn rocksdb_options_set_compaction_filter_factory(
        options: *mut rocksdb_options_t,
        factory: *mut rocksdb_compactionfilterfactory_t,
    ) {
        // SAFETY: the contract: the factory is handed over.
        let factory = unsafe { take(factory) }.map(|factory| factory.into_factory()).transpose();
        // SAFETY: the contract.
        unsafe {
            set(options, "compaction_filter_factory", |options| {
                factory.map(|factory| options.family.compaction_filter_factory = factory)
            });
        }
    }

    /// The prefix extractor, which the options own from now on.
    fn rocksdb_options_set_prefix_extractor(
        options: *mut rocksdb_options_t,
        extractor: *mut rocksdb_slicetransform_t,
    ) {
        // SAFETY: the contract: the extractor is handed over.
        let extractor = unsafe { take(extractor) }.map(|extractor| extractor.into_extractor()).transpose();
        // SAFETY: the contract.
        unsafe {
            set(options, "prefix_extractor", |options| {
                extractor.map(|extractor| options.family.prefix_extractor = extractor)
            });
        }
    }

    /// Compression of blocks.
    fn rocksdb_options_set_compression(options: *mut rocksdb_options_t, kind: c_int) {
        let kind = compression_of("compression", kind);
        // SAFETY: the contract.
        unsafe { set(options, "compression", |options| kind.map(|kind| options.family.compression = kind)) };
    }

    /// Compression of values in blob files.
    fn rocksdb_options_set_blob_compression_type(options: *mut rocksdb_options_t, kind: c_int) {
        const OPTION: &str = "blob_compression_type";
        let kind = compression_of(OPTION, kind);
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| kind.map(|kind| options.family.blob_compression_type = kind)) };
    }

    /// Compression of logs: 0 none, 7 Zstandard. Another one is refused by the next open.
    fn rocksdb_options_set_wal_compression(options: *mut rocksdb_options_t, kind: c_int) {
        const OPTION: &str = "wal_compression";
        let kind = compression_of(OPTION, kind);
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| kind.map(|kind| options.db.wal_compression = kind)) };
    }

    /// The cache of values in blob files; it stays the caller's, and may be that of blocks. Null: none.
    fn rocksdb_options_set_blob_cache(options: *mut rocksdb_options_t, cache: *mut rocksdb_cache_t) {
        // SAFETY: the contract.
        let (options, cache) = unsafe { (options.as_mut(), cache.as_ref()) };
        if let Some(options) = options {
            options.family.blob_cache = cache.map(|cache| Arc::clone(&cache.cache));
        }
    }

    /// When new values go into that cache as they are written: 0 never, 1 those of flushes.
    fn rocksdb_options_set_prepopulate_blob_cache(options: *mut rocksdb_options_t, value: c_int) {
        const OPTION: &str = "prepopulate_blob_cache";
        let known = usize::try_from(value).ok().and_then(|index| PrepopulateBlobCache::ALL.get(index));
        let known = known.ok_or_else(|| out_of_range(OPTION, value, "0..=1"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|(kind, _)| options.family.prepopulate_blob_cache = *kind)) };
    }

    /// The number of the value of `prepopulate_blob_cache`.
    fn rocksdb_options_get_prepopulate_blob_cache(options: *mut rocksdb_options_t) -> c_int {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(0, |options| options.family.settings.prepopulate_blob_cache as c_int)
    }

    /// Compression level by level; the last entry holds for all deeper levels.
    fn rocksdb_options_set_compression_per_level(
        options: *mut rocksdb_options_t,
        kinds: *const c_int,
        count: usize,
    ) {
        const OPTION: &str = "compression_per_level";
        // SAFETY: the contract.
        let kinds = unsafe { array(kinds, count) };
        let kinds: Result<Vec<CompressionType>> = kinds.iter().map(|&kind| compression_of(OPTION, kind)).collect();
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| kinds.map(|kinds| options.family.compression_per_level = kinds)) };
    }

    /// Compression of the bottommost level.
    fn rocksdb_options_set_bottommost_compression(options: *mut rocksdb_options_t, kind: c_int) {
        const OPTION: &str = "bottommost_compression";
        let kind =
            if DISABLE_COMPRESSION.contains(&kind) { Ok(None) } else { compression_of(OPTION, kind).map(Some) };
        // SAFETY: the contract.
        unsafe {
            set(options, OPTION, |options| {
                kind.map(|kind| options.family.bottommost_compression = BottommostCompression(kind))
            });
        }
    }

    /// The shape that compaction keeps.
    fn rocksdb_options_set_compaction_style(options: *mut rocksdb_options_t, number: c_int) {
        const OPTION: &str = "compaction_style";
        let style = match number {
            0 => Ok(CompactionStyle::Level),
            1 => Ok(CompactionStyle::Universal),
            2 => Ok(CompactionStyle::Fifo),
            3 => Ok(CompactionStyle::None),
            _ => Err(out_of_range(OPTION, number, "0..=3")),
        };
        // A style that is refused is kept for the getter.
        let refused = if style.is_err() { number } else { c_int::MIN };
        // SAFETY: the contract.
        unsafe {
            set(options, OPTION, |options| {
                options.kept_numbers.set(OPTION, refused, c_int::MIN, true);
                style.map(|style| options.family.compaction_style = style)
            });
        }
    }

    /// What damage in the log is accepted.
    fn rocksdb_options_set_wal_recovery_mode(options: *mut rocksdb_options_t, mode: c_int) {
        const OPTION: &str = "wal_recovery_mode";
        let known = usize::try_from(mode).ok().and_then(|index| WalRecoveryMode::ALL.get(index).copied());
        let known = known.ok_or_else(|| out_of_range(OPTION, mode, "0..=3"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|mode| options.db.wal_recovery_mode = mode)) };
    }
}

c_destructors! {
    /// Ends options; databases that were opened with them go on.
    fn rocksdb_options_destroy(rocksdb_options_t);
}
