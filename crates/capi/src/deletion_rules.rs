//! RocksDB's collectors of deletions, which mark tables for a compaction: here rules of the option
//! `compact_on_deletion`. The first one takes the place of the default rule; each further one stands beside them.

use crate::options::rocksdb_options_t;
use ferrock::options::{CompactOnDeletion, DeletionRule};

fn add(options: &mut rocksdb_options_t, window_size: usize, trigger: usize, deletion_ratio: f64, min_file_size: u64) {
    let rules = &mut options.family.settings.compact_on_deletion;
    if *rules == CompactOnDeletion::default() {
        rules.0.clear();
    }
    let (window_size, deletion_trigger) = (window_size as u64, trigger as u64);
    rules.0.push(DeletionRule { window_size, deletion_trigger, deletion_ratio, min_file_size });
}

c_functions! {
    /// Tables with `num_dels_trigger` deletions among `window_size` entries in a row are compacted.
    fn rocksdb_options_add_compact_on_deletion_collector_factory(
        options: *mut rocksdb_options_t,
        window_size: usize,
        num_dels_trigger: usize,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            add(options, window_size, num_dels_trigger, 0.0, 0);
        }
    }

    /// The same, and tables with this share of deletions.
    fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
        options: *mut rocksdb_options_t,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            add(options, window_size, num_dels_trigger, deletion_ratio, 0);
        }
    }

    /// The same, of tables from `min_file_size` bytes on.
    fn rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(
        options: *mut rocksdb_options_t,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
        min_file_size: u64,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            add(options, window_size, num_dels_trigger, deletion_ratio, min_file_size);
        }
    }
}
