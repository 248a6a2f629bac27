//! Options of single operations other than reads, which need a snapshot of the engine.

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Return only when the write is durable.
    pub sync: bool,
    /// Do not write to the log; a crash loses what was not flushed.
    pub disable_wal: bool,
    /// Answer `Incomplete` instead of waiting while writers are slowed down or stopped.
    pub no_slowdown: bool,
    /// Skip records of column families that do not exist instead of failing.
    pub ignore_missing_column_families: bool,
}

impl WriteOptions {
    /// Durable when it returns.
    #[must_use]
    pub fn synced() -> Self {
        Self { sync: true, ..Self::default() }
    }
}

/// How to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushOptions {
    /// Return when the flush is done (default true).
    pub wait: bool,
}

impl Default for FlushOptions {
    fn default() -> Self {
        Self { wait: true }
    }
}

/// What a manual compaction does with the bottommost level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevelCompaction {
    /// Leaves it alone.
    Skip,
    /// With a compaction filter, rewrites those of its files that this compaction did not write.
    #[default]
    IfHaveCompactionFilter,
    /// Rewrites it, also what this compaction wrote into it: a compaction filter sees that twice.
    Force,
    /// Rewrites those of its files that this compaction did not write.
    ForceOptimized,
}

/// Whether a compaction empties old blob files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobGarbageCollectionPolicy {
    /// It does.
    Force,
    /// It does not.
    Disable,
    /// As `enable_blob_garbage_collection` of the family says.
    #[default]
    UseDefault,
}

/// How to compact by hand.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CompactRangeOptions {
    /// Move the result to the lowest level that can hold it.
    pub change_level: bool,
    /// That level, with `change_level`; `None`: the lowest.
    pub target_level: Option<usize>,
    /// Entry of `cf_paths` or `db_paths` that the result goes to; the first by default, as in RocksDB.
    pub target_path_id: u32,
    /// The bottommost level.
    pub bottommost_level_compaction: BottommostLevelCompaction,
    /// No automatic compaction runs at the same time: those that run are waited for, and none begins meanwhile.
    pub exclusive_manual_compaction: bool,
    /// Whether old blob files are emptied.
    pub blob_garbage_collection_policy: BlobGarbageCollectionPolicy,
    /// The share of them, from the oldest on; `None`, or what is no share: `blob_garbage_collection_age_cutoff` of the
    /// family.
    pub blob_garbage_collection_age_cutoff: Option<f64>,
}
