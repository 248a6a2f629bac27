//! The intact entries of a table.
//!
//! ```text
//! open (filters are left out) -> index -> data block -> entries        a block that is damaged is passed over
//! ```
//!
//! What is intact: an entry in a block whose checksum is right, of a known type, behind the entry before it. A table
//! whose footer, metaindex, properties or top of the index is damaged has none: nothing tells where its blocks are.

use crate::report::{Finding, KeyRange, Problem};
use crate::subject::{Present, Subject};
use ferrock_base::internal_key::{make_internal_key, pack_trailer, trailer, user_key};
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::{
    Comparator, Error, FileNumber, InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ParsedInternalKey,
    Result, SequenceNumber, ValueType,
};
use ferrock_format::block::DataBlockIter;
use ferrock_format::properties::TableProperties;
use ferrock_format::unique_id::UniqueId;
use ferrock_format::version_edit::NewFile;
use ferrock_table::{BlockTable, Table, TableReadOptions, TableReaderParams};
use ferrock_vfs::RandomAccessOptions;
use std::sync::Arc;

/// First and last user key that something may concern; `None`: all before, or behind.
pub(crate) type Reach = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Sees the entries of a table.
pub(crate) trait Visitor {
    /// An intact entry: an internal key behind all before it, and its value.
    fn entry(&mut self, key: ParsedInternalKey<'_>, value: &[u8]) -> Result<()>;

    /// Damage, and the user keys (from, to) that may be lost by it.
    fn damage(&mut self, finding: Finding, range: Reach);
}

/// Opens a table to look at it; its properties are read first, as they name the comparator.
pub(crate) fn open(
    subject: &Subject,
    present: &Present,
    number: FileNumber,
    recorded: Option<&NewFile>,
    family: &dyn Fn(&TableProperties) -> String,
    with_filters: bool,
) -> Result<Table> {
    let file = subject.files.open_random_access(&present.path, &RandomAccessOptions::default())?;
    let mut params =
        TableReaderParams::new(file, Arc::clone(&subject.files), InternalComparator::new(Comparator::default()));
    params.file_number = number;
    params.skip_filters = true;
    let properties = Table::properties_of(&params)?;
    let family = family(&properties);
    let comparator = subject.comparator(&family, &properties.comparator_name)?;
    let options = subject.family(&family);
    params.comparator = InternalComparator::new(comparator);
    params.options = Arc::new(options.table.clone());
    params.prefix_extractor.clone_from(&options.prefix_extractor);
    params.skip_filters = !with_filters;
    // The global number of an ingested table is in the MANIFEST alone.
    params.largest_sequence = recorded.map(|table| table.largest_seqno);
    Table::open(params)
}

/// Compares a table with what the MANIFEST records of it.
pub(crate) fn check_identity(properties: &TableProperties, recorded: &NewFile) -> Option<Finding> {
    let expected = recorded.unique_id.filter(|id| *id != [0; 2])?;
    match UniqueId::from_properties(properties) {
        Ok(id) if id.words[..2] == expected => None,
        Ok(_) => Some(Finding::new(Problem::Foreign, "another table: its unique id is not the recorded one")),
        Err(error) => Some(Finding::new(Problem::Foreign, format!("it has no unique id: {}", error.message()))),
    }
}

/// Shows `visitor` the entries of a table.
///
/// # Errors
/// Those of the visitor; damage is shown, not returned.
pub(crate) fn visit(table: &Table, visitor: &mut dyn Visitor) -> Result<()> {
    match table.as_block() {
        Some(block) => visit_blocks(block, visitor),
        None => visit_iterated(table, visitor),
    }
}

fn visit_blocks(table: &Arc<BlockTable>, visitor: &mut dyn Visitor) -> Result<()> {
    let contents = table.contents();
    let mut blocks = Vec::new();
    let walked = contents.visit_index(&mut |separator, entry| {
        blocks.push((entry.handle, separator.to_vec()));
        true
    });
    let mut order = Order::new(table.comparator().clone());
    let mut before: Option<Vec<u8>> = None;
    for (handle, separator) in blocks {
        let damaged = match contents.read_data_block(handle) {
            Ok(block) => {
                let global = table.global_sequence();
                let mut entries = DataBlockIter::new(Box::new(block), table.comparator().clone(), global);
                entries.seek_to_first();
                visit_entries(&mut entries, &mut order, visitor)?
            }
            Err(error) => Some(error),
        };
        if let Some(error) = damaged {
            let finding = Finding { offset: Some(handle.offset), ..Finding::of(&error) };
            visitor.damage(finding, (before.clone(), Some(separator.clone())));
        }
        before = Some(separator);
    }
    if let Err(error) = walked {
        visitor.damage(Finding::of(&error), (before, None));
    }
    Ok(())
}

/// Of a table that is no table of blocks: it is intact as a whole or up to its damage.
fn visit_iterated(table: &Table, visitor: &mut dyn Visitor) -> Result<()> {
    let mut entries = table.iter(TableReadOptions { total_order_seek: true, ..TableReadOptions::default() });
    let mut order = Order::new(table.comparator().clone());
    entries.seek_to_first();
    if let Some(error) = visit_entries(&mut entries, &mut order, visitor)? {
        visitor.damage(Finding::of(&error), (order.last.as_deref().map(|key| user_key(key).to_vec()), None));
    }
    Ok(())
}

/// Refuses entries that are not behind the one before.
struct Order {
    comparator: InternalComparator,
    last: Option<Vec<u8>>,
}

impl Order {
    fn new(comparator: InternalComparator) -> Self {
        Self { comparator, last: None }
    }

    fn accept(&mut self, key: &[u8]) -> Result<()> {
        let last = self.last.get_or_insert_default();
        if !last.is_empty() && self.comparator.compare(last, key).is_ge() {
            let (key, last) = (user_key(key).escape_ascii(), user_key(last).escape_ascii());
            return Err(Error::corruption(format!("keys out of order: \"{key}\" behind \"{last}\"")));
        }
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }
}

/// Up to the end, or to the damage that is returned.
fn visit_entries(
    entries: &mut dyn InternalIterator,
    order: &mut Order,
    visitor: &mut dyn Visitor,
) -> Result<Option<Error>> {
    while entries.valid() {
        let accepted = ParsedInternalKey::parse(entries.key()).and_then(|key| match key.value_type.is_point_entry() {
            true => order.accept(entries.key()).map(|()| key),
            false => Err(Error::corruption(format!("an entry of type {:?}", key.value_type))),
        });
        match accepted {
            Ok(key) => visitor.entry(key, entries.value())?,
            Err(error) => return Ok(Some(error)),
        }
        entries.next();
    }
    Ok(entries.status().err())
}

/// The range tombstones of a table.
pub(crate) fn tombstones(table: &Table) -> Vec<RangeTombstone> {
    let fragments = table.range_tombstones().into_iter().flat_map(|fragments| fragments.iter());
    fragments
        .flat_map(|fragment| {
            fragment.sequences.iter().map(move |sequence| RangeTombstone {
                start: fragment.start.to_vec(),
                end: fragment.end.to_vec(),
                sequence: *sequence,
            })
        })
        .collect()
}

/// The keys and sequence numbers that a table spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    /// First and last internal key, range tombstones included.
    pub(crate) keys: Option<(Vec<u8>, Vec<u8>)>,
    /// Smallest and largest sequence number.
    pub(crate) sequences: Option<(SequenceNumber, SequenceNumber)>,
    /// Entries and range tombstones.
    pub(crate) entries: u64,
}

impl Span {
    fn include_sequence(&mut self, sequence: SequenceNumber) {
        let (smallest, largest) = self.sequences.get_or_insert((sequence, sequence));
        (*smallest, *largest) = ((*smallest).min(sequence), (*largest).max(sequence));
        self.entries += 1;
    }

    fn include_keys(&mut self, order: &InternalComparator, first: &[u8], last: &[u8]) {
        let (smallest, largest) = self.keys.get_or_insert_with(|| (first.to_vec(), last.to_vec()));
        if order.compare(first, smallest).is_lt() {
            *smallest = first.to_vec();
        }
        if order.compare(last, largest).is_gt() {
            *largest = last.to_vec();
        }
    }

    /// Counts an entry.
    pub(crate) fn add(&mut self, order: &InternalComparator, key: ParsedInternalKey<'_>) {
        let internal = key.encode();
        self.include_keys(order, &internal, &internal);
        self.include_sequence(key.sequence);
    }

    /// Counts range tombstones.
    pub(crate) fn add_tombstones(&mut self, order: &InternalComparator, tombstones: &[RangeTombstone]) {
        for tombstone in tombstones {
            let start = make_internal_key(&tombstone.start, tombstone.sequence, ValueType::RangeDeletion);
            let end = make_internal_key(&tombstone.end, MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
            self.include_keys(order, &start, &end);
            self.include_sequence(tombstone.sequence);
        }
    }

    /// True when no key and no number is outside of what is recorded.
    pub(crate) fn is_within(&self, order: &InternalComparator, recorded: &NewFile) -> bool {
        let Some((smallest, largest)) = &self.keys else { return true };
        let (first, last) = self.sequences.unwrap_or_default();
        // The end of a range tombstone is cut at the recorded boundary.
        let is_end = trailer(largest) == pack_trailer(MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
        let starts_before = order.compare(smallest, &recorded.smallest).is_lt();
        let is_start = trailer(smallest) as u8 == ValueType::RangeDeletion as u8;
        (!starts_before || is_start)
            && (is_end || order.compare(largest, &recorded.largest).is_le())
            && recorded.smallest_seqno <= first
            && last <= recorded.largest_seqno
    }

    /// Its keys as a range of a family.
    pub(crate) fn range(&self, family: &str) -> KeyRange {
        let keys = self.keys.as_ref();
        KeyRange {
            family: Some(family.to_owned()),
            from: keys.map(|(smallest, _)| user_key(smallest).to_vec()),
            to: keys.map(|(_, largest)| user_key(largest).to_vec()),
        }
    }
}
