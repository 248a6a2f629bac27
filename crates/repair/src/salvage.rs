//! Tables from the intact entries of damaged tables, of logs, and of tables whose order is unknown.
//!
//! ```text
//! damaged table      -> the same entries without those that are damaged, at the same level
//! logs               -> a table of level 0 for every 64 MiB of a family
//! order is unknown   -> level 0, by sequence numbers; tables that cannot be ordered so become one
//! ```
//!
//! Level 0 is searched from the newest table on, up to the first that has the key. So of two tables that share keys all
//! sequence numbers of one must be larger than those of the other. Where the MANIFEST's levels are lost this is
//! established: tables that overlap in keys and in sequence numbers are merged, again and again until none do.
//!
//! Then, too, a log may have entries that were flushed already. A flush joins merge operands, so that they would
//! count twice. Left out of the log are: entries of a key that are not newer than its newest entry in a table; and,
//! where that entry has lost its sequence number to a compaction, entries up to the family's newest flush, unless
//! the oldest of them is no merge operand, as the log tells the whole value then.
//!
//! Every table that is written names the files it has its entries from ([`SALVAGED_FROM`]): a repair that is run again
//! after a crash leaves it out as long as these are there, so that no merge operand counts twice.

use crate::facts::{Facts, FamilyFacts, SALVAGED_FROM, TableFacts, is_broken};
use crate::logs::{self, LogEntry};
use crate::report::Finding;
use crate::subject::Present;
use crate::tables::{self, Reach, Span, Visitor};
use ferrock_base::byte_text::to_bytes;
use ferrock_base::clock::SystemClock;
use ferrock_base::internal_key::{make_internal_key, sequence, trailer, user_key};
use ferrock_base::random::Random;
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::{
    FileNumber, InternalComparator, InternalIterator, MAX_SEQUENCE_NUMBER, ParsedInternalKey, Result, SequenceNumber,
    ValueType,
};
use ferrock_engine::ColumnFamilyOptions;
use ferrock_format::file_name;
use ferrock_format::unique_id::encode_session_id;
use ferrock_table::{Table, TableBuilder, TableBuilderParams, TableIter, TableReadOptions};
use ferrock_tree::blob::for_each_reference;
use ferrock_vfs::{WritableOptions, WritePurpose};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of entries of a log that are held in memory at once, of one family.
const CHUNK_BYTES: usize = 64 << 20;

/// Writes tables into a directory.
pub(crate) struct Salvage<'a> {
    facts: &'a Facts,
    /// `None`: every table goes into the directory of its family.
    directory: Option<&'a Path>,
    next_number: u64,
    db_id: String,
    session_id: String,
    /// Tables that were written and are not needed any more.
    pub(crate) superseded: Vec<PathBuf>,
    /// Entries and range tombstones that the tables of the outcome have.
    pub(crate) log_entries: u64,
}

impl<'a> Salvage<'a> {
    pub(crate) fn new(facts: &'a Facts, directory: Option<&'a Path>, next_number: u64, db_id: &str) -> Self {
        let mut random = Random::from_entropy();
        Self {
            facts,
            directory,
            next_number,
            db_id: db_id.to_owned(),
            session_id: encode_session_id(random.next_u64(), random.next_u64()),
            superseded: Vec::new(),
            log_entries: 0,
        }
    }

    /// A number for a file.
    pub(crate) fn new_number(&mut self) -> FileNumber {
        self.next_number += 1;
        FileNumber(self.next_number - 1)
    }

    /// The tables of every family, as they are to be: those that are sound stay.
    pub(crate) fn run(&mut self) -> Result<BTreeMap<u32, FamilyFacts>> {
        let mut families = BTreeMap::new();
        for (id, facts) in &self.facts.families {
            let mut outcome = FamilyFacts { tables: Vec::new(), ..facts.clone() };
            for table in &facts.tables {
                if table.is_damaged {
                    outcome.tables.extend(self.rewrite(facts, table)?);
                } else {
                    outcome.tables.push(table.clone());
                }
            }
            families.insert(*id, outcome);
        }
        self.convert_logs(&mut families)?;
        for facts in families.values_mut().filter(|facts| !facts.trusts_levels) {
            self.order(facts)?;
        }
        Ok(families)
    }

    fn begin(&mut self, family: &FamilyFacts, origins: &[String]) -> Result<Output> {
        let number = self.new_number();
        let name = file_name::table(number);
        let path = match self.directory {
            Some(directory) => directory.join(name),
            None => self.facts.subject.path_of(&family.family.name, 0, &name),
        };
        let options = self.facts.subject.family(&family.family.name);
        let mut params = builder_params(family, options);
        params.db_id.clone_from(&self.db_id);
        params.db_session_id.clone_from(&self.session_id);
        params.file_number = number.0;
        params.user_collected.insert(SALVAGED_FROM.to_vec(), origins.join(",").into_bytes());
        let writable = WritableOptions::for_purpose(WritePurpose::Table);
        let file = self.facts.subject.files.create_writable(&path, &writable)?;
        // A plain table cannot hold every entry.
        let builder = TableBuilder::new(&Default::default(), params, file)?;
        Ok(Output {
            number,
            path,
            builder,
            order: family.order.clone(),
            span: Span::default(),
            references: BTreeMap::new(),
        })
    }

    /// A damaged table without what is damaged; `None` when nothing is left.
    fn rewrite(&mut self, family: &FamilyFacts, table: &TableFacts) -> Result<Option<TableFacts>> {
        if table.span.entries == 0 {
            return Ok(None);
        }
        let open = |with_filters| {
            let name = |_: &_| family.family.name.clone();
            let recorded = table.recorded.as_ref();
            tables::open(&self.facts.subject, &table.present, table.number, recorded, &name, with_filters)
        };
        let source = open(false)?;
        let output = self.begin(family, &[file_name::table(table.number)])?;
        let mut copy = Copy { facts: self.facts, output };
        tables::visit(&source, &mut copy)?;
        let written = copy.output.finish(&tables::tombstones(&source))?;
        Ok(Some(TableFacts { recorded: table.recorded.clone(), ..written }))
    }

    fn convert_logs(&mut self, families: &mut BTreeMap<u32, FamilyFacts>) -> Result<()> {
        let mut pending: BTreeMap<u32, Pending> = BTreeMap::new();
        for number in &self.facts.logs {
            let Some(present) = self.facts.subject.logs.get(number) else { continue };
            for pending in pending.values_mut() {
                pending.origins.push(file_name::log(*number));
            }
            let files = &self.facts.subject.files;
            logs::read(&**files, &present.path, *number, &mut |entry: LogEntry<'_>| {
                if !self.facts.counts(*number, entry.family)
                    || is_broken(&self.facts.blobs, entry.value_type, entry.key, entry.value)
                {
                    return Ok(());
                }
                let pending = pending.entry(entry.family).or_default();
                if pending.origins.is_empty() {
                    pending.origins.push(file_name::log(*number));
                }
                pending.add(entry);
                self.log_entries += 1;
                // What is in tables already is told from all entries of a key.
                if pending.bytes >= CHUNK_BYTES
                    && self.facts.is_trusted
                    && let Some(facts) = families.get_mut(&entry.family)
                {
                    let full = std::mem::take(pending);
                    let written = self.write_pending(facts, full)?;
                    facts.tables.extend(written);
                }
                Ok(())
            })?;
        }
        for (id, pending) in pending {
            if let Some(facts) = families.get_mut(&id) {
                let written = self.write_pending(facts, pending)?;
                facts.tables.extend(written);
            }
        }
        Ok(())
    }

    fn write_pending(&mut self, family: &FamilyFacts, mut pending: Pending) -> Result<Option<TableFacts>> {
        if pending.entries.is_empty() && pending.tombstones.is_empty() {
            return Ok(None);
        }
        pending.entries.sort_by(|a, b| family.order.compare(&a.0, &b.0));
        pending.entries.dedup_by(|a, b| a.0 == b.0);
        if !self.facts.is_trusted {
            self.leave_out_flushed(family, &mut pending.entries)?;
        }
        if pending.entries.is_empty() && pending.tombstones.is_empty() {
            return Ok(None);
        }
        let mut output = self.begin(family, &pending.origins)?;
        for (key, value) in &pending.entries {
            output.add(key, value)?;
        }
        output.finish(&pending.tombstones).map(Some)
    }

    /// Removes entries of logs, sorted, that tables have already.
    fn leave_out_flushed(&self, family: &FamilyFacts, entries: &mut Vec<(Vec<u8>, Vec<u8>)>) -> Result<()> {
        let is_own = |table: &&TableFacts| table.properties.external_sst_file_version.is_none();
        let flushed = family.tables.iter().filter(is_own).filter_map(|table| table.span.sequences);
        let flushed = flushed.map(|(_, largest)| largest).max().unwrap_or_default();
        let mut sources = Vec::new();
        for table in &family.tables {
            sources.push(self.open_rows(family, table)?.1);
        }
        let mut kept = Vec::with_capacity(entries.len());
        let mut rest = std::mem::take(entries).into_iter().peekable();
        while let Some(first) = rest.next() {
            let key = user_key(&first.0).to_vec();
            let mut of_key = vec![first];
            while let Some(next) = rest.next_if(|next| user_key(&next.0) == key) {
                of_key.push(next);
            }
            let newest = newest_in(&mut sources, &key)?;
            of_key.retain(|entry| newest.is_none_or(|newest| sequence(&entry.0) > newest));
            let oldest = of_key.last().map(|entry| trailer(&entry.0) as u8);
            if newest == Some(SequenceNumber(0)) && oldest == Some(ValueType::Merge as u8) {
                of_key.retain(|entry| sequence(&entry.0) > flushed);
            }
            kept.append(&mut of_key);
        }
        *entries = kept;
        Ok(())
    }

    /// A table and an iterator over it.
    fn open_rows(&self, family: &FamilyFacts, table: &TableFacts) -> Result<(Table, TableIter)> {
        let name = |_: &_| family.family.name.clone();
        let recorded = table.recorded.as_ref().filter(|recorded| recorded.number == table.number);
        let open = tables::open(&self.facts.subject, &table.present, table.number, recorded, &name, false)?;
        let options = TableReadOptions { fill_cache: false, total_order_seek: true, ..TableReadOptions::default() };
        let entries = open.iter(options);
        Ok((open, entries))
    }

    /// Merges tables that cannot be ordered by sequence numbers.
    fn order(&mut self, family: &mut FamilyFacts) -> Result<()> {
        loop {
            family.tables.sort_by_key(|table| (table.span.sequences, table.number));
            let Some(first) = (0..family.tables.len()).find(|first| !self.partners(family, *first).is_empty()) else {
                return Ok(());
            };
            let mut together = self.partners(family, first);
            together.push(first);
            together.sort_unstable();
            let merged: Vec<TableFacts> = together.iter().rev().map(|index| family.tables.remove(*index)).collect();
            let table = self.merge(family, &merged)?;
            let own = merged.iter().filter(|table| self.is_own(table)).map(|table| table.present.path.clone());
            let own: Vec<PathBuf> = own.collect();
            self.superseded.extend(own);
            family.tables.push(table);
        }
    }

    /// True for a table that this repair wrote.
    fn is_own(&self, table: &TableFacts) -> bool {
        !self.facts.subject.tables.contains_key(&table.number)
    }

    /// Later tables that overlap with one in keys and in sequence numbers.
    fn partners(&self, family: &FamilyFacts, first: usize) -> Vec<usize> {
        let table = &family.tables[first];
        let later = first + 1..family.tables.len();
        later.filter(|other| conflict(&family.order, &table.span, &family.tables[*other].span)).collect()
    }

    fn merge(&mut self, family: &FamilyFacts, merged: &[TableFacts]) -> Result<TableFacts> {
        let mut sources: Vec<(FileNumber, TableIter)> = Vec::new();
        let (mut tombstones, mut origins) = (Vec::new(), Vec::new());
        for table in merged {
            let (open, mut entries) = self.open_rows(family, table)?;
            tombstones.append(&mut tables::tombstones(&open));
            match table.properties.user_collected.get(SALVAGED_FROM).filter(|_| self.is_own(table)) {
                Some(names) => origins.extend(String::from_utf8_lossy(names).split(',').map(str::to_owned)),
                None => origins.push(file_name::table(table.number)),
            }
            entries.seek_to_first();
            sources.push((table.number, entries));
        }
        let mut output = self.begin(family, &origins)?;
        // Of two entries with the same key and number the one of the newer table counts.
        sources.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let mut last: Option<Vec<u8>> = None;
        loop {
            let positioned = sources.iter().enumerate().filter(|(_, (_, entries))| entries.valid());
            let smallest = positioned.min_by(|(_, (_, a)), (_, (_, b))| {
                let (a, b) = (a.key(), b.key());
                family.order.compare_user_keys(a, b).then(sequence(b).cmp(&sequence(a)))
            });
            let Some((index, (_, entries))) = smallest else { break };
            // One write of a key: a compaction may have changed its type.
            let is_same =
                |last: &[u8]| user_key(last) == user_key(entries.key()) && sequence(last) == sequence(entries.key());
            if !last.as_deref().is_some_and(is_same) {
                output.add(entries.key(), entries.value())?;
                last = Some(entries.key().to_vec());
            }
            sources[index].1.next();
        }
        for (_, entries) in &sources {
            entries.status()?;
        }
        output.finish(&tombstones)
    }
}

/// The sequence number of the newest entry of a user key in these tables.
fn newest_in(sources: &mut [TableIter], key: &[u8]) -> Result<Option<SequenceNumber>> {
    let target = make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
    let mut newest = None;
    for entries in sources {
        entries.seek(&target);
        if entries.valid() && user_key(entries.key()) == key {
            newest = newest.max(Some(sequence(entries.key())));
        }
        entries.status()?;
    }
    Ok(newest)
}

/// True for two tables of which neither is newer than the other for every key they share.
fn conflict(order: &InternalComparator, a: &Span, b: &Span) -> bool {
    let (Some((a_first, a_last)), Some((b_first, b_last))) = (a.sequences, b.sequences) else { return false };
    a_last >= b_first && b_last >= a_first && share_keys(order, a.keys.as_ref(), b.keys.as_ref())
}

/// True for a later table that may have been made of an earlier one: they share keys, and it is not newer as a whole.
pub(crate) fn may_be_made_of(order: &InternalComparator, later: &Span, earlier: &Span) -> bool {
    let (Some((first, _)), Some((_, last))) = (later.sequences, earlier.sequences) else { return false };
    first <= last && share_keys(order, later.keys.as_ref(), earlier.keys.as_ref())
}

/// True for two ranges of internal keys that have a user key in common.
pub(crate) fn share_keys(
    order: &InternalComparator,
    a: Option<&(Vec<u8>, Vec<u8>)>,
    b: Option<&(Vec<u8>, Vec<u8>)>,
) -> bool {
    let (Some((a_smallest, a_largest)), Some((b_smallest, b_largest))) = (a, b) else { return false };
    let before = |largest: &[u8], smallest: &[u8]| order.user().compare(user_key(largest), user_key(smallest)).is_lt();
    !before(a_largest, b_smallest) && !before(b_largest, a_smallest)
}

/// Entries of logs that are not written yet, of one family.
#[derive(Default)]
struct Pending {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    tombstones: Vec<RangeTombstone>,
    origins: Vec<String>,
    bytes: usize,
}

impl Pending {
    fn add(&mut self, entry: LogEntry<'_>) {
        self.bytes += entry.key.len() + entry.value.len() + 64;
        if entry.value_type == ValueType::RangeDeletion {
            let (start, end) = (entry.key.to_vec(), entry.value.to_vec());
            self.tombstones.push(RangeTombstone { start, end, sequence: entry.sequence });
        } else {
            let key = make_internal_key(entry.key, entry.sequence, entry.value_type);
            self.entries.push((key, entry.value.to_vec()));
        }
    }
}

/// A table that is being written.
struct Output {
    number: FileNumber,
    path: PathBuf,
    builder: TableBuilder,
    order: InternalComparator,
    span: Span,
    references: BTreeMap<FileNumber, (u64, u64)>,
}

impl Output {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let parsed = ParsedInternalKey::parse(key)?;
        self.builder.add(key, value)?;
        self.span.add(&self.order, parsed);
        let (references, key_bytes) = (&mut self.references, parsed.user_key.len() as u64);
        for_each_reference(parsed.value_type, value, |reference| {
            let size = ferrock_format::blob_file::BLOB_RECORD_HEADER_SIZE as u64 + key_bytes + reference.size_bytes;
            let (count, bytes) = references.entry(reference.file_number).or_default();
            (*count, *bytes) = (*count + 1, *bytes + size);
            Ok(())
        })
    }

    fn finish(mut self, tombstones: &[RangeTombstone]) -> Result<TableFacts> {
        let mut sorted: Vec<&RangeTombstone> =
            tombstones.iter().filter(|t| self.order.user().compare(&t.start, &t.end).is_lt()).collect();
        sorted.sort_by(|a, b| {
            self.order.user().compare(&a.start, &b.start).then(b.sequence.cmp(&a.sequence)).then(a.end.cmp(&b.end))
        });
        sorted.dedup_by(|a, b| a.start == b.start && a.sequence == b.sequence && a.end == b.end);
        for tombstone in &sorted {
            let start = make_internal_key(&tombstone.start, tombstone.sequence, ValueType::RangeDeletion);
            self.builder.add_range_tombstone(&start, &tombstone.end)?;
        }
        let kept: Vec<RangeTombstone> = sorted.into_iter().cloned().collect();
        self.span.add_tombstones(&self.order, &kept);
        let summary = self.builder.finish()?;
        Ok(TableFacts {
            number: self.number,
            present: Present { path: self.path, size_bytes: summary.file_size },
            recorded: None,
            properties: summary.properties,
            span: self.span,
            references: self.references,
            is_damaged: false,
        })
    }
}

/// Copies what is intact.
struct Copy<'a> {
    facts: &'a Facts,
    output: Output,
}

impl Visitor for Copy<'_> {
    fn entry(&mut self, key: ParsedInternalKey<'_>, value: &[u8]) -> Result<()> {
        if is_broken(&self.facts.blobs, key.value_type, key.user_key, value) {
            return Ok(());
        }
        self.output.add(&key.encode(), value)
    }

    fn damage(&mut self, _: Finding, _: Reach) {}
}

fn builder_params(family: &FamilyFacts, options: &ColumnFamilyOptions) -> TableBuilderParams {
    let (compression, compression_options) = options.compression_for(0, 1, false);
    let mut params = TableBuilderParams::new(family.order.clone());
    params.options = std::sync::Arc::new(options.table.clone());
    params.compression = compression;
    params.compression_options = compression_options.clone();
    params.prefix_extractor.clone_from(&options.prefix_extractor);
    params.filter_policy = options.filter_policy;
    params.merge_operator_name = options.merge_operator.as_ref().map(|operator| operator.name().to_owned());
    params.column_family_id = u64::from(family.family.id);
    params.column_family_name = to_bytes(&family.family.name).into_owned();
    params.file_creation_time = SystemClock::shared().unix_seconds();
    params
}

/// The largest sequence number of these tables.
pub(crate) fn largest_sequence(families: &BTreeMap<u32, FamilyFacts>) -> SequenceNumber {
    let tables = families.values().flat_map(|family| &family.tables);
    tables.filter_map(|table| table.span.sequences).map(|(_, largest)| largest).max().unwrap_or_default()
}
