//! What is done before writers are held: reading the files from outside, and bringing them into the database.

use super::args::IngestExternalFileArg;
use super::checksums;
use super::prepared_file::PreparedFile;
use crate::column_family::ColumnFamilyData;
use crate::db::DbCore;
use crate::jobs::background_error::Reason;
use crate::options::{ColumnFamilyOptions, IngestExternalFileOptions};
use ferrock_base::internal_key::{ParsedInternalKey, make_internal_key, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::types::MAX_SEQUENCE_NUMBER;
use ferrock_base::{Comparator, Error, FileNumber, InternalComparator, Result, SequenceNumber, Temperature, ValueType};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::properties::UNKNOWN_COLUMN_FAMILY_ID;
use ferrock_format::unique_id::UniqueId;
use ferrock_format::version_edit::VersionEdit;
use ferrock_table::{Table, TableReadOptions, TableReaderParams};
use ferrock_tree::blob::for_each_reference;
use ferrock_tree::ingestion::Incoming;
use ferrock_tree::job::WrittenFiles;
use ferrock_tree::places::is_same;
use ferrock_tree::version::Version;
use ferrock_tree::version::boundary::{BoundaryRange, compare_boundaries};
use ferrock_vfs::{IoActivity, RandomAccessOptions, WritableOptions, WritePurpose, copy_file};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of one family.
pub(super) struct PreparedFamily<'a> {
    pub(super) data: Arc<ColumnFamilyData>,
    pub(super) options: &'a IngestExternalFileOptions,
    pub(super) directory: PathBuf,
    pub(super) files: Vec<PreparedFile>,
}

impl PreparedFamily<'_> {
    pub(super) fn path_of(&self, number: FileNumber) -> PathBuf {
        self.directory.join(file_name::table(number))
    }
}

/// The files of a call.
pub(super) struct Prepared<'a> {
    pub(super) families: Vec<PreparedFamily<'a>>,
    pending: PendingFiles<'a>,
}

/// Files in directories of the database that the MANIFEST does not have. Those that were not handed over are removed
/// when it is dropped.
pub(super) struct PendingFiles<'a> {
    core: &'a DbCore,
    written: Vec<WrittenFiles>,
}

impl<'a> PendingFiles<'a> {
    pub(super) fn new(core: &'a DbCore) -> Self {
        Self { core, written: Vec::new() }
    }

    /// Gives the files of a directory numbers that are pending.
    pub(super) fn reserve(&mut self, directory: &Path, files: &mut [PreparedFile]) {
        let count = files.len() as u64;
        let first = self.core.files.reserve_many(count, || self.core.versions.new_file_numbers(count));
        files.iter_mut().zip((first.0..).map(FileNumber)).for_each(|(file, number)| file.number = number);
        self.written.push(WrittenFiles {
            table_directory: directory.to_path_buf(),
            tables: files.iter().map(|file| file.number).collect(),
            ..WrittenFiles::default()
        });
    }

    /// The files are the database's: the MANIFEST has them, or may have them.
    pub(super) fn hand_over(&mut self) {
        self.written.drain(..).for_each(|written| self.core.files.hand_over(&written));
    }
}

impl Drop for PendingFiles<'_> {
    fn drop(&mut self) {
        self.written.iter().for_each(|written| self.core.files.discard(written));
    }
}

impl<'a> Prepared<'a> {
    /// Reads the files, and brings them into the database.
    pub(super) fn new(core: &'a DbCore, args: &'a [IngestExternalFileArg]) -> Result<Self> {
        let mut prepared = Self { families: Vec::new(), pending: PendingFiles::new(core) };
        for arg in args {
            let data = Arc::clone(&arg.family.data);
            let directory = data.table_cache.paths().directory(0).to_path_buf();
            let mut family = PreparedFamily { data, options: &arg.options, directory, files: Vec::new() };
            for (index, path) in arg.files.iter().enumerate() {
                let file = read_file(core, &family, path)?;
                family.files.push(PreparedFile { checksum: arg.file_checksums.get(index).cloned(), ..file });
            }
            prepared.families.push(family);
        }
        for family in &mut prepared.families {
            prepared.pending.reserve(&family.directory, &mut family.files);
        }
        if args.iter().any(|arg| arg.options.move_files || arg.options.link_files) {
            record_numbers(core)?;
        }
        for family in &mut prepared.families {
            let settings = family.data.options.load_full();
            bring(core, &settings, family.options, &family.directory, &mut family.files)?;
            checksums::give(core, &family.directory, family.options.verify_file_checksum, &mut family.files)?;
        }
        Ok(prepared)
    }

    /// The files are the database's: the MANIFEST has them, or may have them.
    pub(super) fn hand_over(&mut self) {
        self.pending.hand_over();
    }
}

/// Refuses a file that is named twice, and the removal of one that is the database's own. By file: whether it is moved.
pub(super) fn check_paths<'p>(core: &DbCore, paths: impl IntoIterator<Item = (&'p Path, bool)>) -> Result<()> {
    let mut seen: Vec<&Path> = Vec::new();
    let own = core.files.places().table_directories();
    for (path, is_moved) in paths {
        if seen.iter().any(|other| is_same(other, path)) {
            return Err(Error::invalid_argument("the file is named twice in one ingestion").in_file(path));
        }
        seen.push(path);
        let is_table = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(file_name::parse)
            .is_some_and(|name| name.kind == FileKind::Table);
        let is_own = path.parent().is_some_and(|parent| own.iter().any(|directory| is_same(directory, parent)));
        if is_moved && is_table && is_own {
            return Err(Error::invalid_argument(
                "the file is in a directory of the database, and move_files would remove it: copy it, or link it",
            )
            .in_file(path));
        }
    }
    Ok(())
}

/// Makes it durable that numbers were given: no other file is ever written under one of them.
pub(super) fn record_numbers(core: &DbCore) -> Result<()> {
    let _installs = core.installs.lock();
    core.jobs.check_error()?;
    core.versions.log_and_apply(vec![VersionEdit::for_column_family(0)]).inspect_err(|error| {
        core.jobs.set_error(Reason::Manifest, error);
    })
}

/// Finds out what a file has, and refuses it where the family cannot have it.
fn read_file(core: &DbCore, family: &PreparedFamily<'_>, path: &Path) -> Result<PreparedFile> {
    let (data, options) = (&family.data, family.options);
    let (size_bytes, table) = open_table(core, &data.options.load_full(), None, path)?;
    let read = || {
        check_properties(data, options, &table)?;
        if options.verify_checksums_before_ingest {
            table.verify_checksums(options.verify_checksums_readahead_size, IoActivity::Unknown)?;
        }
        let range = bounds(data.comparator.user(), &table, &|key| check_key(options, key))?;
        let kept = if options.allow_db_generated_files { Some(kept_numbers(&table)?) } else { None };
        let number_offset = if options.write_global_seqno { number_offset(&table)? } else { None };
        Ok((range, kept, number_offset))
    };
    let (range, kept, number_offset) = read().map_err(|error: Error| error.in_file(path))?;
    let passed = match core.versions.current(data.id) {
        // Where it goes does not depend on the keys above it.
        Some(_) if options.ingest_behind => BTreeSet::new(),
        Some(version) => files_without_keys(data, &version, &range),
        None => BTreeSet::new(),
    };
    Ok(PreparedFile {
        external_path: path.to_path_buf(),
        number: FileNumber(0),
        size_bytes,
        incoming: Incoming { range, passed, kept },
        properties: Arc::clone(table.properties()),
        number_offset,
        kept,
        is_copy: false,
        temperature: Temperature::Unknown,
        checksum: None,
    })
}

/// Opens a file from outside. Returns its bytes, too.
pub(super) fn open_table(
    core: &DbCore,
    settings: &ColumnFamilyOptions,
    largest_sequence: Option<SequenceNumber>,
    path: &Path,
) -> Result<(u64, Table)> {
    let file_system = &core.env.file_system;
    let file = file_system.open_random_access(path, &RandomAccessOptions::default())?;
    let size_bytes = file.size();
    let comparator = InternalComparator::new(settings.comparator.clone());
    let table = Table::open(TableReaderParams {
        options: Arc::new(settings.table.clone()),
        plain_options: settings.table_factory.plain_options(),
        prefix_extractor: settings.prefix_extractor.clone(),
        largest_sequence,
        ..TableReaderParams::new(file, Arc::clone(file_system), comparator)
    });
    table.map(|table| (size_bytes, table)).map_err(|error| error.in_file(path))
}

/// What the properties of a file must say, as in RocksDB.
fn check_properties(data: &ColumnFamilyData, options: &IngestExternalFileOptions, table: &Table) -> Result<()> {
    let properties = table.properties();
    let takes_all = options.allow_db_generated_files;
    if table.as_block().is_none() {
        return Err(Error::not_supported(
            "a plain table: it has no place for a global sequence number; write a block-based one",
        ));
    }
    match properties.external_sst_file_version {
        None if !takes_all => {
            return Err(Error::corruption(
                "External file version not found: the file is not of an SstFileWriter (allow_db_generated_files takes \
                 what a database wrote)",
            ));
        }
        Some(1) if options.allow_global_seqno || options.allow_blocking_flush => {
            return Err(Error::invalid_argument(
                "External SST file V1 does not support global seqno: clear allow_global_seqno and allow_blocking_flush",
            ));
        }
        None | Some(1 | 2) => {}
        Some(version) => {
            return Err(Error::invalid_argument(format!("External file version {version} is not supported")));
        }
    }
    if let Some(written) = properties.external_sst_file_global_seqno.filter(|number| *number != 0) {
        return Err(Error::invalid_argument(format!(
            "the file was ingested before, and global sequence number {written} was written into it: ingest the file \
             that the writer made"
        )));
    }
    let id = properties.column_family_id;
    if id != UNKNOWN_COLUMN_FAMILY_ID && id != u64::from(data.id) && !takes_all {
        return Err(Error::invalid_argument(format!(
            "External file column family id don't match: the file is of family {id}, and {} is {}",
            data.name, data.id
        )));
    }
    if properties.num_entries == 0 && properties.num_range_deletions == 0 {
        return Err(Error::invalid_argument("File contain no entries"));
    }
    let numbered = properties.key_largest_seqno.filter(|number| *number != 0 && *number != u64::MAX);
    match numbered.filter(|_| !takes_all) {
        Some(number) => Err(Error::corruption(format!(
            "External file has non zero largest sequence number {number}: its entries must have 0"
        ))),
        None => Ok(()),
    }
}

/// Where the eight bytes are that a global sequence number is written to; `None` in a file of version 1, which has
/// none and gets none.
fn number_offset(table: &Table) -> Result<Option<u64>> {
    let offset = table.as_block().map_or(Ok(None), |table| table.global_sequence_offset())?;
    if offset.is_none() && table.properties().external_sst_file_version == Some(2) {
        return Err(Error::corruption("Was not able to find file global seqno field"));
    }
    Ok(offset)
}

/// The first and the last key, range deletions included, with the sequence numbers that the file says.
/// `check` sees both keys.
pub(super) fn bounds(order: &Comparator, table: &Table, check: &dyn Fn(&[u8]) -> Result<()>) -> Result<BoundaryRange> {
    let mut range = BoundaryRange::default();
    let mut entries = table.iter(unbuffered());
    entries.seek_to_first();
    entries.status()?;
    if entries.valid() {
        check(entries.key())?;
        range.smallest = Some(entries.key().to_vec());
        entries.seek_to_last();
        entries.status()?;
        if !entries.valid() {
            return Err(Error::corruption("Can not find largest key in sst file"));
        }
        check(entries.key())?;
        range.largest = Some(entries.key().to_vec());
    }
    if let Some(tombstones) = table.range_tombstones() {
        widen(order, &mut range, tombstones);
    }
    match &range {
        BoundaryRange { smallest: Some(smallest), largest: Some(largest) }
            if compare_boundaries(order, smallest, largest).is_le() =>
        {
            Ok(range)
        }
        _ => Err(Error::corruption("Generated table have corrupted keys: the last comes before the first")),
    }
}

fn check_key(options: &IngestExternalFileOptions, key: &[u8]) -> Result<()> {
    let parsed = ParsedInternalKey::parse(key)?;
    if parsed.sequence != SequenceNumber(0) && !options.allow_db_generated_files {
        return Err(Error::corruption(format!(
            "External file has non zero sequence number: {} of key {}",
            parsed.sequence,
            parsed.user_key.escape_ascii()
        )));
    }
    Ok(())
}

fn widen(order: &Comparator, range: &mut BoundaryRange, tombstones: &FragmentedRangeTombstones) {
    let (Some(first), Some(last)) = (tombstones.iter().next(), tombstones.iter().next_back()) else { return };
    let sequence = first.newest_at(MAX_SEQUENCE_NUMBER).unwrap_or_default();
    let begins_before = |smallest: &Vec<u8>| order.compare(first.start, user_key(smallest)).is_lt();
    if range.smallest.as_ref().is_none_or(begins_before) {
        range.smallest = Some(make_internal_key(first.start, sequence, ValueType::RangeDeletion));
    }
    let end = make_internal_key(last.end, MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
    if range.largest.as_ref().is_none_or(|largest| compare_boundaries(order, &end, largest).is_gt()) {
        range.largest = Some(end);
    }
}

/// The smallest and the largest sequence number of a file that a database wrote.
pub(super) fn kept_numbers(table: &Table) -> Result<(SequenceNumber, SequenceNumber)> {
    let (mut smallest, mut largest) = (MAX_SEQUENCE_NUMBER, SequenceNumber(0));
    let mut note = |number: SequenceNumber| {
        smallest = smallest.min(number);
        largest = largest.max(number);
    };
    let mut entries = table.iter(unbuffered());
    entries.seek_to_first();
    while entries.valid() {
        let key = ParsedInternalKey::parse(entries.key())?;
        note(key.sequence);
        for_each_reference(key.value_type, entries.value(), |reference| {
            Err(Error::not_supported(format!(
                "a file that refers to values in blob file {} of the database that wrote it",
                reference.file_number
            )))
        })?;
        entries.next();
    }
    entries.status()?;
    for fragment in table.range_tombstones().iter().flat_map(|tombstones| tombstones.iter()) {
        fragment.sequences.iter().copied().for_each(&mut note);
    }
    // What is written later has larger ones.
    if largest.0 > MAX_SEQUENCE_NUMBER.0 / 2 {
        return Err(Error::corruption(format!("sequence number {largest} is out of range")));
    }
    Ok((smallest.min(largest), largest))
}

/// Reads that leave nothing in a cache: the entries may get another number.
fn unbuffered() -> TableReadOptions {
    TableReadOptions { fill_cache: false, ..TableReadOptions::default() }
}

/// The files of the tree within whose boundaries the range lies and that have no key in it, from above down to the
/// first level that has one. A file that cannot be read counts as one that has.
fn files_without_keys(data: &ColumnFamilyData, version: &Version, range: &BoundaryRange) -> BTreeSet<FileNumber> {
    let order = data.comparator.user();
    let mut passed = BTreeSet::new();
    for level in 0..version.num_levels() {
        let overlapping = match level {
            0 => 0..version.level(0).len(),
            _ => version.overlapping_indexes(level, range),
        };
        for file in version.level(level)[overlapping].iter().filter(|file| range.overlaps(order, file)) {
            let has_key = data.table_cache.get(file).and_then(|table| has_key_in(order, &table, range));
            if has_key.unwrap_or(true) {
                return passed;
            }
            passed.insert(file.number);
        }
    }
    passed
}

fn has_key_in(order: &Comparator, table: &Table, range: &BoundaryRange) -> Result<bool> {
    // The iterators of other kinds may begin within a prefix.
    if table.as_block().is_none() {
        return Ok(true);
    }
    let mut entries = table.iter(unbuffered());
    has_entry_in(order, &mut entries, range)
        .map(|has_entry| has_entry || table.range_tombstones().is_some_and(|found| deletes_in(order, found, range)))
}

/// True when an iterator comes to an entry with a user key of the range.
pub(super) fn has_entry_in(
    order: &Comparator,
    entries: &mut impl InternalIterator,
    range: &BoundaryRange,
) -> Result<bool> {
    let Some(smallest) = &range.smallest else { return Ok(true) };
    entries.seek(&make_internal_key(user_key(smallest), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
    if !entries.valid() {
        return entries.status().map(|()| false);
    }
    Ok(range.largest.as_ref().is_none_or(|largest| compare_boundaries(order, entries.key(), largest).is_le()))
}

/// True when a range deletion deletes a key of the range.
pub(super) fn deletes_in(order: &Comparator, found: &FragmentedRangeTombstones, range: &BoundaryRange) -> bool {
    let (Some(smallest), Some(largest)) = (&range.smallest, &range.largest) else { return true };
    let first = found.get(found.first_ending_after(user_key(smallest)));
    first.is_some_and(|fragment| {
        let start = make_internal_key(fragment.start, SequenceNumber(0), ValueType::RangeDeletion);
        compare_boundaries(order, &start, largest).is_le()
    })
}

/// Copies or links the files of a family into its directory, and makes them and their names durable.
pub(super) fn bring(
    core: &DbCore,
    settings: &ColumnFamilyOptions,
    options: &IngestExternalFileOptions,
    directory: &Path,
    files: &mut [PreparedFile],
) -> Result<()> {
    let copy_temperature = match options.fail_if_not_bottommost_level || options.ingest_behind {
        true if settings.last_level_temperature != Temperature::Unknown => settings.last_level_temperature,
        _ => settings.default_write_temperature,
    };
    for file in files {
        core.jobs.check_not_closing()?;
        let inside = directory.join(file_name::table(file.number));
        file.is_copy = !(options.move_files || options.link_files) || !link(core, options, file, &inside)?;
        if file.is_copy {
            file.temperature = copy_temperature;
            copy(core, file, &inside)?;
        }
    }
    core.env.file_system.sync_dir(directory)
}

/// True when the file has a second name in the database; false when it has to be copied.
fn link(core: &DbCore, options: &IngestExternalFileOptions, file: &PreparedFile, inside: &Path) -> Result<bool> {
    let file_system = &core.env.file_system;
    match file_system.hard_link(&file.external_path, inside) {
        Ok(()) => {}
        Err(error) if options.failed_move_fall_back_to_copy && !error.is_not_found() => {
            core.events.log().info(|| format!("ingestion copies a file that cannot be linked: {error}"));
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    // What wrote it may not have synced it.
    let mut linked = file_system.reopen_writable(inside, &WritableOptions::for_purpose(WritePurpose::Table))?;
    linked.sync()?;
    linked.close()?;
    Ok(true)
}

fn copy(core: &DbCore, file: &PreparedFile, inside: &Path) -> Result<()> {
    let (file_system, settings) = (&*core.env.file_system, core.options.load());
    let options = WritableOptions {
        direct: settings.use_direct_io_for_flush_and_compaction,
        bytes_per_sync: settings.bytes_per_sync,
        strict_bytes_per_sync: settings.strict_bytes_per_sync,
        temperature: file.temperature,
        ..WritableOptions::for_purpose(WritePurpose::Table)
    };
    let copied = copy_file((file_system, &file.external_path), (file_system, inside), None, &options)?;
    if copied != file.size_bytes {
        let message = format!("the file had {} bytes and has {copied}: it is being changed", file.size_bytes);
        return Err(Error::corruption(message).in_file(&file.external_path));
    }
    Ok(())
}

impl PreparedFile {
    /// The unique id as the MANIFEST records it; `None` for a file without one.
    pub(super) fn unique_id(&self) -> Option<[u64; 2]> {
        let id = UniqueId::from_properties(&self.properties).ok()?;
        Some([id.words[0], id.words[1]])
    }

    /// Bytes behind the data blocks, as far as the file says.
    pub(super) fn tail_size_bytes(&self) -> u64 {
        self.properties.tail_start_offset.map_or(0, |start| self.size_bytes.saturating_sub(start))
    }
}
