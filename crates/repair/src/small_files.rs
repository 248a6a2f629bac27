//! CURRENT, the MANIFEST it names, IDENTITY and OPTIONS.

use crate::manifest::{Family, Manifest, Tree};
use crate::report::{FileReport, Finding, Problem, Remedy, Report, Use, file_report, missing_report};
use crate::subject::{Present, Subject};
use ferrock_base::{FileNumber, InternalComparator};
use ferrock_format::current_file::{self, MAX_SIZE_BYTES};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::properties::TableProperties;
use ferrock_table::{Table, TableReaderParams};
use ferrock_vfs::{RandomAccessOptions, read_file};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the small files tell.
pub(crate) struct SmallFiles {
    pub(crate) manifest: Manifest,
    pub(crate) is_trusted: bool,
    pub(crate) has_identity: bool,
    /// The MANIFEST that was read.
    pub(crate) chosen: Option<FileNumber>,
    /// The MANIFEST that counts though no CURRENT names it.
    pub(crate) unnamed_manifest: Option<FileNumber>,
    pub(crate) files: Vec<FileReport>,
    /// Without files and remedies.
    pub(crate) report: Report,
}

pub(crate) fn examine(subject: &Subject) -> SmallFiles {
    let mut files = Vec::new();
    let named = examine_current(subject, &mut files);
    let newest = subject.manifests.keys().next_back().copied();
    let chosen = named.filter(|number| subject.manifests.contains_key(number)).or(newest);
    let mut manifest = read_manifest(subject, chosen);
    let mut findings = Vec::new();
    for (number, present) in &subject.manifests {
        let used = if Some(*number) == chosen { Use::Needed } else { Use::Unneeded };
        files.push(file_report(present, FileKind::Manifest, *number, used));
    }
    if let Some(number) = named.filter(|number| !subject.manifests.contains_key(number)) {
        files.push(missing_report(subject.directory.join(file_name::manifest(number)), FileKind::Manifest, number));
    }
    if chosen.is_none() && named.is_none() {
        findings.push(Finding::new(Problem::Missing, "there is no MANIFEST"));
    }
    let identity = examine_identity(subject, &mut manifest, chosen, &mut files);
    if let (Some(error), Some(report)) = (&manifest.error, report_of(&mut files, chosen)) {
        report.findings.push(Finding::of(error));
    }
    examine_options(subject, &mut files);
    let is_only = subject.manifests.len() == 1;
    if manifest.is_sound()
        && let Some(finding) = missing_end(subject, &manifest.tree)
    {
        manifest.error = Some(ferrock_base::Error::corruption(finding));
        if let (Some(error), Some(report)) = (&manifest.error, report_of(&mut files, chosen)) {
            report.findings.push(Finding::of(error));
        }
    }
    let is_trusted = manifest.is_sound() && chosen.is_some() && (named == chosen || (named.is_none() && is_only));
    let remedy = Remedy::default;
    let report = Report {
        directory: subject.directory.clone(),
        db_id: identity.clone().or_else(|| manifest.tree.db_id.clone()),
        families: Vec::new(),
        files: Vec::new(),
        findings,
        repair: remedy(),
        point_in_time: remedy(),
        remove_tables: remedy(),
        best_efforts: remedy(),
    };
    let unnamed_manifest = chosen.filter(|_| is_trusted && named.is_none());
    SmallFiles { manifest, is_trusted, has_identity: identity.is_some(), chosen, unnamed_manifest, files, report }
}

/// A MANIFEST that ends early looks like one that a crash has cut. What tells: a table that is newer than all it knows,
/// and a table that it names is gone; or the first log that it needs is gone, and the newer table has entries that no
/// record tells of. A log with that number need not have been there: after a recovery it is the next free one. And a
/// newer table alone is what a crash leaves of a job.
fn missing_end(subject: &Subject, tree: &Tree) -> Option<String> {
    let named = tree.tables();
    let is_newer = |number: &FileNumber| number.0 >= tree.next_file_number && !named.contains_key(number);
    let mut newer = subject.tables.iter().filter(|(number, _)| is_newer(number)).peekable();
    let (first, _) = newer.peek()?;
    let first = **first;
    let is_table_missing = named.keys().any(|number| !subject.tables.contains_key(number));
    let is_log_missing = !subject.logs.contains_key(&tree.first_needed_log());
    let is_ahead = |(number, present): (&FileNumber, &Present)| {
        // One without the property, as RocksDB wrote them before 9.7, may be ahead.
        let is_ahead = |largest: Option<u64>| largest.is_none_or(|largest| largest > tree.last_sequence.0);
        properties_of(subject, *number, present).is_some_and(|properties| is_ahead(properties.key_largest_seqno))
    };
    (is_table_missing || (is_log_missing && newer.any(is_ahead))).then(|| {
        format!("its end is missing: table {first} is newer than all that it names, and what it names is not all there")
    })
}

/// The properties of a table that can be opened.
fn properties_of(subject: &Subject, number: FileNumber, present: &Present) -> Option<TableProperties> {
    let file = subject.files.open_random_access(&present.path, &RandomAccessOptions::default()).ok()?;
    let mut params = TableReaderParams::new(file, Arc::clone(&subject.files), InternalComparator::default());
    params.file_number = number;
    Table::properties_of(&params).ok()
}

fn read_manifest(subject: &Subject, chosen: Option<FileNumber>) -> Manifest {
    let Some(present) = chosen.and_then(|number| subject.manifests.get(&number)) else {
        let mut manifest = Manifest::default();
        manifest.tree.families.insert(0, Family::new(0, "default"));
        return manifest;
    };
    let mut manifest = Manifest::read(&*subject.files, &present.path);
    if manifest.error.is_none() && manifest.edits == 0 {
        manifest.error = Some(ferrock_base::Error::corruption("the MANIFEST has no whole record"));
    }
    manifest
}

fn report_of(files: &mut [FileReport], manifest: Option<FileNumber>) -> Option<&mut FileReport> {
    files.iter_mut().find(|file| file.kind == FileKind::Manifest && Some(file.number) == manifest)
}

/// The MANIFEST that CURRENT names.
fn examine_current(subject: &Subject, files: &mut Vec<FileReport>) -> Option<FileNumber> {
    let path = subject.directory.join(file_name::CURRENT);
    let read = read_file(&*subject.files, &path);
    let content = match read {
        Ok(content) => content,
        Err(error) => {
            let mut report = missing_report(path, FileKind::Current, FileNumber(0));
            if !error.is_not_found() {
                report.findings = vec![Finding::of(&error)];
            }
            files.push(report);
            return None;
        }
    };
    let present = Present { path, size_bytes: content.len() as u64 };
    let mut report = file_report(&present, FileKind::Current, FileNumber(0), Use::Needed);
    let decoded = current_file::decode_current(&content[..content.len().min(MAX_SIZE_BYTES + 1)]);
    let number = match decoded {
        Ok(number) => Some(number),
        Err(error) => {
            report.findings.push(Finding::of(&error));
            None
        }
    };
    files.push(report);
    number
}

/// The identity of the database, when IDENTITY is there and is the right one. A MANIFEST of another database counts as
/// none.
fn examine_identity(
    subject: &Subject,
    manifest: &mut Manifest,
    chosen: Option<FileNumber>,
    files: &mut Vec<FileReport>,
) -> Option<String> {
    let path = subject.directory.join(file_name::IDENTITY);
    let content = match read_file(&*subject.files, &path) {
        Ok(content) => content,
        Err(error) => {
            let mut report = missing_report(path, FileKind::Identity, FileNumber(0));
            if !error.is_not_found() {
                report.findings = vec![Finding::of(&error)];
            }
            files.push(report);
            return None;
        }
    };
    let present = Present { path, size_bytes: content.len() as u64 };
    let mut report = file_report(&present, FileKind::Identity, FileNumber(0), Use::Needed);
    let own = current_file::decode_identity(&content);
    let mut kept = own.clone();
    let recorded = manifest.tree.db_id.clone();
    if own.is_none() {
        report.findings.push(Finding::new(Problem::Damaged, "there is no identity in it"));
    } else if let (Some(own), Some(recorded)) = (&own, &recorded)
        && own != recorded
    {
        let of_tables = identity_of_tables(subject);
        if of_tables.as_ref() == Some(own) {
            let what = format!("it is of the database {recorded}, and this one is {own}");
            let finding = Finding::new(Problem::Foreign, what.clone());
            if let Some(report) = report_of(files, chosen) {
                report.findings.push(finding);
            }
            *manifest = read_manifest(subject, None);
        } else {
            kept = None;
            let (problem, what) = match of_tables.as_ref() == Some(recorded) {
                true => (Problem::Foreign, format!("it says {own}, and this database is {recorded}")),
                false => (Problem::Damaged, format!("it says {own}, and the MANIFEST {recorded}")),
            };
            report.findings.push(Finding::new(problem, what));
        }
    }
    files.push(report);
    kept
}

/// The identity in most tables.
fn identity_of_tables(subject: &Subject) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (number, present) in &subject.tables {
        if let Some(properties) = properties_of(subject, *number, present)
            && !properties.db_id.is_empty()
        {
            *counts.entry(properties.db_id).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(id, _)| id)
}

fn examine_options(subject: &Subject, files: &mut Vec<FileReport>) {
    let newest = subject.options.keys().next_back();
    for (number, present) in &subject.options {
        let used = if Some(number) == newest { Use::Needed } else { Use::Unneeded };
        let mut report = file_report(present, FileKind::Options, *number, used);
        if Some(number) == newest
            && let Some(error) = &subject.options_error
        {
            report.findings.push(Finding::of(error));
            report.findings.iter_mut().for_each(|finding| finding.problem = Problem::Damaged);
        }
        files.push(report);
    }
}
