//! What watches the entries of a table while it is written: rules about deletions and old entries, and collectors of a
//! program.
//!
//! ```text
//! add        each deletion -> the windows of the rules;  each entry -> the count of old ones, the collectors
//! finish     properties of the collectors;  whether any of all wants the table to be compacted
//! ```
//!
//! Invariants: nothing here fails a table. A collector that returns an error is asked no more, its properties are not
//! stored, and its error is in the summary of the table. Without collectors an entry that is no deletion costs a
//! comparison.

use crate::deletion_window::DeletionWindow;
use crate::old_entries::OldEntries;
use crate::options::DeletionRule;
use ferrock_base::internal_key::{sequence, user_key};
use ferrock_base::table_properties_collector::{
    CollectedEntry, CollectorContext, TablePropertiesCollector, TablePropertiesCollectorFactory,
    UserCollectedProperties,
};
use ferrock_base::{Error, ValueType};
use ferrock_format::properties::TableProperties;
use std::sync::Arc;

/// Names that begin like this are the engines' own.
const RESERVED: [&[u8]; 2] = [b"rocksdb.", b"ferrock."];

/// The collectors that a table is written with.
#[derive(Clone, Debug, Default)]
pub struct CollectorSet {
    /// Makers of the collectors.
    pub factories: Vec<Arc<dyn TablePropertiesCollectorFactory>>,
    /// What they are told of the table.
    pub context: Option<CollectorContext>,
}

/// A collector that failed, for the LOG.
#[derive(Clone, Debug)]
pub struct FailedCollector {
    /// The name of its factory.
    pub name: String,
    /// The error.
    pub error: Error,
}

#[derive(Debug)]
struct Collector {
    name: String,
    collector: Box<dyn TablePropertiesCollector>,
}

/// The watchers of one table.
#[derive(Debug)]
pub(crate) struct Collectors {
    windows: Vec<DeletionWindow>,
    old_entries: Option<OldEntries>,
    collectors: Vec<Collector>,
    failed: Vec<FailedCollector>,
    /// As the table says which collectors it was written with.
    names: String,
    needs_compaction: bool,
}

impl Collectors {
    /// True when there is a collector of a program.
    pub(crate) fn has_any(&self) -> bool {
        !self.collectors.is_empty()
    }

    /// `least_old_share`: of old entries, from which on the table asks for a compaction.
    pub(crate) fn new(rules: &[DeletionRule], least_old_share: f64, set: &CollectorSet) -> Self {
        let names: Vec<&str> = set.factories.iter().map(|factory| factory.name()).collect();
        let create = |factory: &Arc<dyn TablePropertiesCollectorFactory>| {
            let collector = factory.create(set.context.as_ref()?)?;
            Some(Collector { name: factory.name().to_owned(), collector })
        };
        Self {
            windows: DeletionWindow::of_rules(rules),
            old_entries: set.context.and_then(|context| OldEntries::new(least_old_share, &context)),
            names: format!("[{}]", names.join(",")),
            collectors: set.factories.iter().filter_map(create).collect(),
            failed: Vec::new(),
            needs_compaction: false,
        }
    }

    /// An entry that `entries` others are before, in a file of so many bytes.
    #[inline]
    pub(crate) fn add(
        &mut self,
        internal_key: &[u8],
        value: &[u8],
        value_type: ValueType,
        entries: u64,
        file_size: u64,
    ) {
        if value_type.is_point_tombstone() {
            self.windows.iter_mut().for_each(|window| window.count_deletion(entries));
        }
        if let Some(old_entries) = &mut self.old_entries {
            old_entries.add(sequence(internal_key), value_type, value);
        }
        if !self.collectors.is_empty() {
            self.collect(internal_key, value, value_type, file_size);
        }
    }

    #[cold]
    fn collect(&mut self, internal_key: &[u8], value: &[u8], value_type: ValueType, file_size: u64) {
        let (user_key, sequence) = (user_key(internal_key), sequence(internal_key));
        let entry = CollectedEntry { user_key, value, value_type, sequence, file_size };
        let failed = &mut self.failed;
        self.collectors.retain_mut(|each| match each.collector.add(&entry) {
            Ok(()) => true,
            Err(error) => {
                failed.push(FailedCollector { name: each.name.clone(), error });
                false
            }
        });
    }

    /// A data block of so many bytes is complete.
    pub(crate) fn add_block(&mut self, uncompressed_bytes: u64) {
        self.collectors.iter_mut().for_each(|each| each.collector.add_block(uncompressed_bytes));
    }

    /// The block that was just completed would be so many bytes, compressed fast or slowly.
    pub(crate) fn add_sample(&mut self, fast_bytes: u64, slow_bytes: u64) {
        self.collectors.iter_mut().for_each(|each| each.collector.add_sample(fast_bytes, slow_bytes));
    }

    /// Asks the rules: there were so many bytes of data blocks at the last entry.
    pub(crate) fn judge_deletions(&mut self, properties: &TableProperties, size_bytes: u64) {
        let (entries, deletions) = (properties.num_entries, properties.num_point_deletions());
        let is_dense = |window: &DeletionWindow| window.needs_compaction(entries, deletions, size_bytes);
        self.needs_compaction |= self.windows.iter().any(is_dense);
    }

    /// The names of their factories, as block-based tables have them.
    pub(crate) fn names(&self) -> &str {
        &self.names
    }

    /// Adds the properties of the collectors, and the count of old entries.
    pub(crate) fn finish(&mut self, properties: &mut TableProperties) {
        self.needs_compaction |= self.old_entries.as_ref().is_some_and(|entries| entries.finish(properties));
        for mut each in std::mem::take(&mut self.collectors) {
            let mut collected = UserCollectedProperties::new();
            let finished = each.collector.finish(&mut collected).and_then(|()| refuse_reserved(&collected));
            match finished {
                Ok(()) => {
                    properties.user_collected.append(&mut collected);
                    self.needs_compaction |= each.collector.needs_compaction();
                }
                Err(error) => self.failed.push(FailedCollector { name: each.name, error }),
            }
        }
    }

    /// Whether the table asks for a compaction, and the collectors that failed.
    pub(crate) fn into_verdict(self) -> (bool, Vec<FailedCollector>) {
        (self.needs_compaction, self.failed)
    }
}

fn refuse_reserved(collected: &UserCollectedProperties) -> ferrock_base::Result<()> {
    let is_reserved = |name: &&Vec<u8>| RESERVED.iter().any(|prefix| name.starts_with(prefix));
    match collected.keys().find(is_reserved) {
        None => Ok(()),
        Some(name) => Err(Error::invalid_argument(format!(
            "the property {}: names that begin with rocksdb. or ferrock. are not for collectors",
            String::from_utf8_lossy(name)
        ))),
    }
}
