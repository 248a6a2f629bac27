//! Looks at every file of a database: the report, and the facts that a repair goes by.
//!
//! ```text
//! CURRENT, MANIFEST, IDENTITY, OPTIONS -> blob files -> tables -> logs -> what each remedy keeps and loses
//! ```
//!
//! The MANIFEST is *trusted* when CURRENT names it, or it is the only one, and it is whole. Then it tells which files
//! are needed. Otherwise every table counts that the readable part of it has not removed, and the order of tables is
//! found out from their keys.

use crate::blobs::BlobFacts;
use crate::counter::Counter;
use crate::facts::{Facts, FamilyFacts, SALVAGED_FROM, TableFacts, is_broken};
use crate::logs::{self, LogEntry};
use crate::manifest::{Family, Manifest, Tree};
use crate::remedies::{Losses, TableLoss};
use crate::report::{FileReport, Finding, KeyRange, Problem, Report, Use, file_report, missing_report};
use crate::subject::{Present, Subject};
use crate::tables::{self, Span};
use crate::{remedies, small_files, states};
use ferrock_base::internal_key::user_key;
use ferrock_base::{FileNumber, InternalComparator, Result};
use ferrock_engine::internals::LogSurvey;
use ferrock_engine::{ColumnFamilyDescriptor, ColumnFamilyOptions, DbOptions};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::properties::TableProperties;
use ferrock_format::version_edit::NewFile;
use ferrock_tree::blob::for_each_reference;
use ferrock_vfs::FileSystem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How far an examination is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExaminationProgress {
    /// Bytes of tables, blob files and logs that were read.
    pub bytes_done: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Looks at a database that is damaged, or may be: takes no lock, opens nothing for writing, and works beside a process
/// that writes to it (files that this one removes meanwhile may be reported as missing).
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// drop(ferrock::Db::open(directory.path(), options)?);
/// let report = ferrock::repair::Examination::new(ferrock::DbOptions::default()).run(directory.path())?;
/// assert!(!report.is_damaged());
/// # Ok::<(), ferrock::Error>(())
/// ```
pub struct Examination<'a> {
    options: DbOptions,
    families: Vec<ColumnFamilyDescriptor>,
    unknown: ColumnFamilyOptions,
    progress: Option<&'a mut dyn FnMut(ExaminationProgress)>,
}

impl std::fmt::Debug for Examination<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Examination").field("families", &self.families.len()).finish_non_exhaustive()
    }
}

impl<'a> Examination<'a> {
    /// With options of the database, of which the file system, `wal_dir` and `db_paths` count. The OPTIONS file says
    /// the rest, and the options of families.
    #[must_use]
    pub fn new(options: DbOptions) -> Self {
        Self { options, families: Vec::new(), unknown: ColumnFamilyOptions::default(), progress: None }
    }

    /// Options of column families, in place of those in the OPTIONS file. A comparator of the program's own must be in
    /// them.
    #[must_use]
    pub fn families(mut self, families: Vec<ColumnFamilyDescriptor>) -> Self {
        self.families = families;
        self
    }

    /// Options of every family that is found and has none of its own.
    #[must_use]
    pub fn unknown_families(mut self, options: ColumnFamilyOptions) -> Self {
        self.unknown = options;
        self
    }

    /// Is told how far the examination is, after every file.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(ExaminationProgress)) -> Self {
        self.progress = Some(progress);
        self
    }

    pub(crate) fn file_system(&self) -> Arc<dyn FileSystem> {
        self.options.components.file_system.clone().unwrap_or_else(ferrock_vfs::default_file_system)
    }

    /// Looks at the database in `directory`.
    ///
    /// # Errors
    /// `Io` when the directory cannot be listed; `InvalidArgument` when the MANIFEST names a comparator that is not
    /// built in and not in the options of the family. All damage is in the report.
    pub fn run(self, directory: impl AsRef<Path>) -> Result<Report> {
        self.facts(directory.as_ref()).map(|facts| facts.report)
    }

    pub(crate) fn facts(self, directory: &Path) -> Result<Facts> {
        let subject = Subject::new(directory, self.options, self.families, self.unknown)?;
        let bytes = [&subject.tables, &subject.blobs, &subject.logs];
        let bytes = bytes.iter().flat_map(|list| list.values()).map(|file| file.size_bytes).sum();
        let done = ExaminationProgress { bytes_done: 0, bytes };
        Examiner::new(subject, self.progress, done).run()
    }
}

struct Examiner<'a> {
    subject: Subject,
    progress: Option<&'a mut dyn FnMut(ExaminationProgress)>,
    done: ExaminationProgress,
    files: Vec<FileReport>,
    losses: Losses,
    /// Blob files that entries refer to in vain.
    broken_blobs: BTreeSet<FileNumber>,
}

impl<'a> Examiner<'a> {
    fn new(
        subject: Subject,
        progress: Option<&'a mut dyn FnMut(ExaminationProgress)>,
        done: ExaminationProgress,
    ) -> Self {
        Self { subject, progress, done, files: Vec::new(), losses: Losses::default(), broken_blobs: BTreeSet::new() }
    }

    fn advance(&mut self, bytes: u64) {
        self.done.bytes_done = self.done.bytes_done.saturating_add(bytes).min(self.done.bytes);
        if let Some(progress) = &mut self.progress {
            progress(self.done);
        }
    }

    fn run(mut self) -> Result<Facts> {
        let small = small_files::examine(&self.subject);
        let (manifest, is_trusted) = (small.manifest, small.is_trusted);
        self.files = small.files;
        let blobs = self.examine_blobs(&manifest, is_trusted);
        let mut families = self.families_of(&manifest.tree)?;
        self.examine_tables(&manifest, is_trusted, &blobs, &mut families)?;
        let mut facts = Facts {
            last_sequence: manifest.tree.last_sequence,
            tree: manifest.tree,
            is_trusted,
            families,
            blobs,
            logs: Vec::new(),
            log_keys: BTreeMap::new(),
            has_identity: small.has_identity,
            manifest: small.chosen,
            unnamed_manifest: small.unnamed_manifest,
            report: small.report,
            subject: self.subject.clone(),
        };
        let in_tables = facts.families.values().flat_map(|family| &family.tables);
        let largest = in_tables.filter_map(|table| table.span.sequences).map(|(_, largest)| largest).max();
        facts.last_sequence = facts.last_sequence.max(largest.unwrap_or_default());
        let newest = states::newest(&facts.subject);
        self.examine_logs(&mut facts, newest.survey.as_ref().ok())?;
        self.tell_garbage(&facts.blobs);
        facts.report.families = facts.families.values().map(|facts| facts.family.name.clone()).collect();
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        facts.report.files = std::mem::take(&mut self.files);
        facts.log_keys = self.losses.logs.internal_keys(&facts);
        remedies::judge(&mut facts, &self.losses, &newest);
        Ok(facts)
    }

    /// The families that the MANIFEST names.
    fn families_of(&self, tree: &Tree) -> Result<BTreeMap<u32, FamilyFacts>> {
        tree.families.values().map(|family| Ok((family.id, self.family_facts(family.clone())?))).collect()
    }

    fn family_facts(&self, family: Family) -> Result<FamilyFacts> {
        let order = InternalComparator::new(self.subject.comparator(&family.name, &family.comparator)?);
        Ok(FamilyFacts { family, order, tables: Vec::new(), trusts_levels: true })
    }

    fn examine_blobs(&mut self, manifest: &Manifest, is_trusted: bool) -> BTreeMap<FileNumber, BlobFacts> {
        let mut blobs = BTreeMap::new();
        let mut needed = BTreeMap::new();
        for family in manifest.tree.families.values() {
            needed.extend(family.needed_blobs().into_iter().map(|number| (number, family)));
        }
        for (number, present) in self.subject.blobs.clone() {
            let mut facts = BlobFacts::read(&*self.subject.files, &present.path);
            let family = needed.get(&number);
            if let Some(blob) = family.and_then(|family| family.blobs.get(&number)) {
                let recorded = (blob.addition.total_blob_count, blob.addition.total_blob_bytes);
                let is_another = facts.family.is_some_and(|id| Some(id) != family.map(|family| family.id));
                if is_another || (facts.findings.is_empty() && recorded != (facts.count(), facts.bytes())) {
                    let what = format!(
                        "another blob file: {} records of {} bytes are recorded, and {} of {} are there",
                        recorded.0,
                        recorded.1,
                        facts.count(),
                        facts.bytes()
                    );
                    facts.findings.push(Finding::new(Problem::Foreign, what));
                    facts.is_foreign = true;
                }
            }
            let used = self.use_of(family.is_some(), is_trusted);
            let mut report = file_report(&present, FileKind::Blob, number, used);
            report.family = family.map(|family| family.name.clone());
            report.intact_entries = facts.count();
            report.findings.clone_from(&facts.findings);
            self.files.push(report);
            self.advance(present.size_bytes);
            blobs.insert(number, facts);
        }
        let missing = needed.into_iter().filter(|(number, _)| is_trusted && !self.subject.blobs.contains_key(number));
        for (number, family) in missing.collect::<Vec<_>>() {
            let path = self.subject.path_of(&family.name, 0, &file_name::blob(number));
            let mut report = missing_report(path, FileKind::Blob, number);
            report.family = Some(family.name.clone());
            self.files.push(report);
        }
        blobs
    }

    /// Damage in records that no entry refers to costs nothing.
    fn tell_garbage(&mut self, blobs: &BTreeMap<FileNumber, BlobFacts>) {
        for file in self.files.iter_mut().filter(|file| file.kind == FileKind::Blob) {
            let facts = blobs.get(&file.number);
            if self.broken_blobs.contains(&file.number)
                || facts.is_none_or(|facts| facts.needs_footer || facts.needs_header)
            {
                continue;
            }
            for finding in file.findings.iter_mut().filter(|finding| finding.problem == Problem::Damaged) {
                finding.problem = Problem::DamagedGarbage;
            }
        }
    }

    fn use_of(&self, is_named: bool, is_trusted: bool) -> Use {
        match (is_named, is_trusted) {
            (true, _) => Use::Needed,
            (false, true) => Use::Unneeded,
            (false, false) => Use::Unknown,
        }
    }

    fn examine_tables(
        &mut self,
        manifest: &Manifest,
        is_trusted: bool,
        blobs: &BTreeMap<FileNumber, BlobFacts>,
        families: &mut BTreeMap<u32, FamilyFacts>,
    ) -> Result<()> {
        let named = manifest.tree.tables();
        for (number, present) in self.subject.tables.clone() {
            let recorded = named.get(&number).copied();
            let used = match self.use_of(recorded.is_some(), is_trusted) {
                Use::Unknown if manifest.tree.deleted.contains(&number) => Use::Unneeded,
                used => used,
            };
            let mut report = file_report(&present, FileKind::Table, number, used);
            if used != Use::Unneeded {
                self.examine_table(&mut report, &present, recorded, blobs, families)?;
            }
            self.files.push(report);
            self.advance(present.size_bytes);
        }
        for (number, (family, table)) in &named {
            if self.subject.tables.contains_key(number) {
                continue;
            }
            let name = manifest.tree.families.get(family).map_or("default", |family| &family.name);
            if is_trusted {
                let path = self.subject.path_of(name, table.path_id, &file_name::table(*number));
                let mut report = missing_report(path, FileKind::Table, *number);
                (report.family, report.level) = (Some(name.to_owned()), Some(table.level));
                self.files.push(report);
                self.losses.tables.insert(*number, TableLoss::of_all(remedies::range_of(name, table)));
            } else {
                // What the MANIFEST says behind its damage may have removed it.
                self.losses.unsure.push(remedies::range_of(name, table));
            }
        }
        for facts in families.values_mut() {
            facts.trusts_levels &= is_trusted;
        }
        Ok(())
    }

    fn examine_table(
        &mut self,
        report: &mut FileReport,
        present: &Present,
        recorded: Option<(u32, &NewFile)>,
        blobs: &BTreeMap<FileNumber, BlobFacts>,
        families: &mut BTreeMap<u32, FamilyFacts>,
    ) -> Result<()> {
        let known = recorded.and_then(|(id, _)| families.get(&id)).map(|facts| facts.family.name.clone());
        let name_of = |properties: &TableProperties| {
            let own = || ferrock_base::byte_text::from_bytes(&properties.column_family_name).into_owned();
            known
                .clone()
                .unwrap_or_else(|| if properties.column_family_name.is_empty() { "default".into() } else { own() })
        };
        let recorded_table = recorded.map(|(_, table)| table);
        report.level = recorded_table.map(|table| table.level);
        report.family.clone_from(&known);
        let mut is_damaged = false;
        if let Some(table) = recorded_table.filter(|table| table.size_bytes != present.size_bytes) {
            let what = format!("{} bytes are recorded, and {} are there", table.size_bytes, present.size_bytes);
            report.findings.push(Finding::new(Problem::WrongSize, what));
            is_damaged = true;
        }
        let open =
            |with_filters| tables::open(&self.subject, present, report.number, recorded_table, &name_of, with_filters);
        let opened = match open(true) {
            Ok(table) => Ok(table),
            Err(error) => open(false).inspect(|_| {
                report.findings.push(Finding::of(&error));
                is_damaged = true;
            }),
        };
        let table = match opened {
            Ok(table) => table,
            Err(error) => {
                report.findings.push(Finding::of(&error));
                self.lose_table(report, recorded_table);
                return Ok(());
            }
        };
        let properties = Arc::clone(table.properties());
        if let Some(finding) = recorded_table.and_then(|table| tables::check_identity(&properties, table)) {
            report.findings.push(finding);
            self.lose_table(report, recorded_table);
            return Ok(());
        }
        if recorded.is_none() && self.is_left_over(&properties) {
            report.used = Use::Unneeded;
            return Ok(());
        }
        let id = match recorded {
            Some((id, _)) => id,
            None => family_for(&properties, &name_of(&properties), families),
        };
        if let std::collections::btree_map::Entry::Vacant(entry) = families.entry(id) {
            let mut family = Family::new(id, &name_of(&properties));
            family.comparator.clone_from(&properties.comparator_name);
            entry.insert(self.family_facts(family)?);
        }
        let Some(family) = families.get_mut(&id) else { return Ok(()) };
        report.family = Some(family.family.name.clone());
        let mut counter = Counter::read(&table, &family.order, blobs)?;
        let name = family.family.name.clone();
        self.broken_blobs.append(&mut counter.broken_blobs);
        if counter.broken.entries > 0 {
            let what = format!("{} entries refer to blobs that are missing or damaged", counter.broken.entries);
            report.findings.push(Finding::new(Problem::BrokenReferences, what));
        }
        let expected = properties.num_entries.saturating_sub(properties.num_range_deletions);
        let mut loss = TableLoss {
            ranges: counter.lost(&name),
            of_blobs: counter.without_blobs(&name),
            whole: union_of(&family.order, &name, recorded_table, &counter.span),
            entries: counter.broken.entries + expected.saturating_sub(counter.points),
            hides_all: is_damaged,
        };
        is_damaged |= !counter.findings.is_empty() || counter.broken.entries > 0;
        report.findings.append(&mut counter.findings);
        if let Some(finding) = counter.beside.take() {
            if !report.findings.contains(&finding) {
                report.findings.push(finding);
            }
            (is_damaged, loss.hides_all) = (true, true);
        }
        if let Some(table) = recorded_table.filter(|table| !counter.span.is_within(&family.order, table)) {
            let what = "its keys or sequence numbers are outside of those that are recorded";
            report.findings.push(Finding::new(Problem::WrongKeys, what));
            family.trusts_levels &= table.level == 0;
            (is_damaged, loss.hides_all) = (true, true);
        }
        if is_damaged || loss.of_blobs.is_some() {
            self.losses.tables.insert(report.number, loss);
        }
        report.intact_entries = counter.span.entries;
        family.tables.push(TableFacts {
            number: report.number,
            present: present.clone(),
            recorded: recorded_table.cloned(),
            properties,
            span: counter.span,
            references: counter.references,
            is_damaged,
        });
        Ok(())
    }

    /// Nothing of a table can be read.
    fn lose_table(&mut self, report: &FileReport, recorded: Option<&NewFile>) {
        let whole = match (recorded, &report.family) {
            (Some(table), Some(family)) => remedies::range_of(family, table),
            _ => KeyRange { family: report.family.clone(), from: None, to: None },
        };
        self.losses.tables.insert(report.number, TableLoss::of_all(whole));
    }

    /// A repair that was interrupted has written the table, and the files that it was made of are there.
    fn is_left_over(&self, properties: &TableProperties) -> bool {
        let Some(names) = properties.user_collected.get(SALVAGED_FROM) else { return false };
        let names = String::from_utf8_lossy(names).into_owned();
        names.split(',').filter_map(file_name::parse).any(|origin| match origin.kind {
            FileKind::Table => self.subject.tables.contains_key(&origin.number),
            _ => self.subject.logs.contains_key(&origin.number),
        })
    }

    /// `survey`: what point-in-time recovery takes; `None`: nothing is known of that.
    fn examine_logs(&mut self, facts: &mut Facts, survey: Option<&LogSurvey>) -> Result<()> {
        let first = if facts.is_trusted { facts.tree.first_needed_log() } else { FileNumber(0) };
        let mut newest_before = None;
        let logs = self.subject.logs.clone();
        let last = logs.keys().next_back().copied();
        for (number, present) in &logs {
            let used = match facts.is_trusted {
                true if *number < first => Use::Unneeded,
                true => Use::Needed,
                false => Use::Unknown,
            };
            let mut report = file_report(present, FileKind::Log, *number, used);
            if used == Use::Unneeded {
                self.files.push(report);
                self.advance(present.size_bytes);
                continue;
            }
            let mut broken = 0;
            let losses = &mut self.losses.logs;
            let read = logs::read(&*self.subject.files, &present.path, *number, &mut |entry: LogEntry<'_>| {
                let Some(family) = facts.families.get(&entry.family).filter(|_| facts.counts(*number, entry.family))
                else {
                    let is_known =
                        facts.tree.dropped.contains(&entry.family) || facts.families.contains_key(&entry.family);
                    losses.unknown += u64::from(!is_known);
                    return Ok(());
                };
                if is_broken(&facts.blobs, entry.value_type, entry.key, entry.value) {
                    let named = &mut self.broken_blobs;
                    // What cannot be decoded names no file.
                    let _ = for_each_reference(entry.value_type, entry.value, |reference| {
                        named.insert(reference.file_number);
                        Ok(())
                    });
                    broken += 1;
                    return Ok(());
                }
                let is_taken = survey.is_some_and(|survey| survey.has(*number, entry.sequence));
                losses.note(family, &entry, is_taken);
                Ok(())
            })?;
            report.findings = read.findings;
            if broken > 0 {
                let what = format!("{broken} entries refer to blobs that are missing or damaged");
                report.findings.push(Finding::new(Problem::BrokenReferences, what));
                losses.broken += broken;
            }
            if report.findings.iter().any(|finding| finding.problem == Problem::TornEnd) && Some(*number) != last {
                let what = "the log ends inside a record, and another log follows it";
                report.findings.push(Finding::new(Problem::Damaged, what));
            }
            if let (Some((first, _)), Some(before)) = (read.sequences, newest_before)
                && first <= before
            {
                let what =
                    format!("its sequence numbers begin with {first}, and those of the log before end with {before}");
                report.findings.push(Finding::new(Problem::Foreign, what));
            }
            if let Some((_, newest)) = read.sequences {
                newest_before = newest_before.max(Some(newest));
                facts.last_sequence = facts.last_sequence.max(newest);
            }
            if report.findings.iter().any(|finding| finding.problem.is_damage()) {
                self.losses.logs.unread.extend(facts.reach_of_log(*number));
            }
            report.intact_entries = read.entries;
            self.files.push(report);
            self.advance(present.size_bytes);
            facts.logs.push(*number);
        }
        self.report_missing_logs(facts);
        Ok(())
    }

    /// Logs that the MANIFEST tracks.
    fn report_missing_logs(&mut self, facts: &Facts) {
        let first = facts.tree.first_needed_log();
        let tracked = facts.tree.tracked_logs.iter().filter(|(number, _)| facts.is_trusted && **number >= first);
        for (number, size) in tracked {
            let found = self.files.iter_mut().find(|file| file.kind == FileKind::Log && file.number == *number);
            let Some(file) = found else {
                let path = self.subject.directory_of_logs().join(file_name::log(*number));
                self.files.push(missing_report(path, FileKind::Log, *number));
                self.losses.logs.unread.extend(facts.reach_of_log(*number));
                continue;
            };
            if let (Some(size), Some(found)) = (size, file.size_bytes)
                && found < *size
            {
                let what = format!("{size} bytes were synced, and {found} are there");
                file.findings.push(Finding::new(Problem::WrongSize, what));
                self.losses.logs.unread.extend(facts.reach_of_log(*number));
            }
        }
    }
}

/// The keys of a table by its record and by what is in it.
fn union_of(order: &InternalComparator, family: &str, recorded: Option<&NewFile>, span: &Span) -> KeyRange {
    let mut keys = recorded.map(|table| (user_key(&table.smallest).to_vec(), user_key(&table.largest).to_vec()));
    if let Some((smallest, largest)) = &span.keys {
        remedies::widen(order, &mut keys, user_key(smallest), user_key(largest));
    }
    let (from, to) = keys.unzip();
    KeyRange { family: Some(family.to_owned()), from, to }
}

/// The family of a table that the MANIFEST does not name: by its id and name, or the default one.
fn family_for(properties: &TableProperties, name: &str, families: &BTreeMap<u32, FamilyFacts>) -> u32 {
    if let Some((id, _)) = families.iter().find(|(_, facts)| facts.family.name == name) {
        return *id;
    }
    u32::try_from(properties.column_family_id)
        .ok()
        .filter(|id| !families.contains_key(id) && *id < i32::MAX as u32)
        .unwrap_or(0)
}
