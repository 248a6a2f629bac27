//! The state that the version set keeps per column family.

use crate::version::Version;
use ferrock_base::{FileNumber, InternalComparator};
use ferrock_options::ColumnFamilyOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A column family named at open, with the options it is to have.
#[derive(Clone, Debug)]
pub struct FamilyToOpen {
    /// Its name.
    pub name: String,
    /// Its options, sanitised.
    pub options: Arc<ColumnFamilyOptions>,
}

/// The current state of a column family.
#[derive(Clone, Debug)]
pub struct FamilyView {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its options.
    pub options: Arc<ColumnFamilyOptions>,
    /// WALs with smaller numbers hold nothing that the family has not flushed.
    pub log_number: FileNumber,
    /// Its tables.
    pub current: Arc<Version>,
}

#[derive(Debug)]
pub(super) struct Family {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) options: Arc<ColumnFamilyOptions>,
    pub(super) log_number: FileNumber,
    pub(super) current: Arc<Version>,
    pub(super) next_epoch_number: Arc<AtomicU64>,
    /// As recorded; not used here, but written to every new MANIFEST.
    pub(super) full_history_ts_low: Option<Vec<u8>>,
    /// As recorded; absent means true.
    pub(super) persist_user_defined_timestamps: Option<bool>,
}

impl Family {
    pub(super) fn new(id: u32, name: String, options: Arc<ColumnFamilyOptions>, log_number: FileNumber) -> Self {
        let comparator = InternalComparator::new(options.comparator.clone());
        let current = Arc::new(Version::empty(comparator, &options));
        Self {
            id,
            name,
            options,
            log_number,
            current,
            next_epoch_number: Arc::new(AtomicU64::new(1)),
            full_history_ts_low: None,
            persist_user_defined_timestamps: None,
        }
    }

    /// Makes new epochs larger than that of a file.
    pub(super) fn raise_epoch_number(&self, largest: Option<u64>) {
        self.next_epoch_number.fetch_max(largest.unwrap_or(0).saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn view(&self) -> FamilyView {
        FamilyView {
            id: self.id,
            name: self.name.clone(),
            options: Arc::clone(&self.options),
            log_number: self.log_number,
            current: Arc::clone(&self.current),
        }
    }
}
