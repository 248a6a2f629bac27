//! What opens would bring up: by the engine's own code, which writes nothing before the first change.
//!
//! ```text
//! open, kPointInTimeRecovery    CURRENT -> MANIFEST -> tables are opened -> logs, up to their first damage
//! open, best_efforts_recovery   MANIFESTs, newest first -> newest whole state -> tables are opened
//! ```
//!
//! Invariant: nothing here writes, takes a lock, or leaves a file open.

use crate::subject::Subject;
use crate::tables;
use ferrock_base::{Comparator, Error, ErrorKind, FileNumber, Result};
use ferrock_engine::ColumnFamilyOptions;
use ferrock_engine::internals::{LogSurvey, survey_logs};
use ferrock_format::file_name;
use ferrock_format::version_edit::NewFile;
use ferrock_table::Table;
use ferrock_tree::version::version_set::{
    BestEfforts, RecoverMode, check_holds_no_database, exists, list_column_families, list_recoverable_families,
};
use ferrock_tree::version::{FamilyToOpen, VersionSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A tree of any depth can be read.
const MOST_LEVELS: i32 = 64;

/// What an ordinary open begins with.
pub(crate) struct Newest {
    /// The state of the MANIFEST that CURRENT names.
    pub(crate) versions: Result<VersionSet>,
    /// What counts of the logs.
    pub(crate) survey: Result<LogSurvey>,
}

/// What an open without best efforts begins with.
pub(crate) fn newest(subject: &Subject) -> Newest {
    let versions = recover_newest(subject);
    let survey = match &versions {
        Ok(versions) => {
            let wal_dir = (&*subject.db.wal_dir, subject.wal_dir_by_file.is_some());
            survey_logs(&subject.files, &subject.directory, wal_dir, versions)
        }
        Err(error) => Err(error.clone()),
    };
    Newest { versions, survey }
}

fn recover_newest(subject: &Subject) -> Result<VersionSet> {
    let existing = list_column_families(&*subject.files, &subject.directory)?;
    let families = families_of(subject, existing)?;
    let (files, options) = (Arc::clone(&subject.files), Arc::new(subject.db.clone()));
    VersionSet::recover(files, &subject.directory, options, &families, RecoverMode::ReadOnly)
}

/// What an open with best efforts begins with.
pub(crate) fn best_efforts(subject: &Subject) -> Result<BestEfforts> {
    let (files, directory) = (&*subject.files, &subject.directory);
    if !exists(files, directory)? && check_holds_no_database(files, directory).is_ok() {
        return Err(Error::invalid_argument("there is no database").in_file(directory));
    }
    let families = families_of(subject, list_recoverable_families(files, directory)?)?;
    let options = Arc::new(subject.db.clone());
    VersionSet::recover_best_efforts(Arc::clone(&subject.files), directory, options, &families)
}

fn families_of(subject: &Subject, existing: Vec<(u32, String, Option<String>)>) -> Result<Vec<FamilyToOpen>> {
    let existing = existing.into_iter().map(|(_, name, recorded)| {
        let options = subject.family(&name).clone();
        let comparator = subject.comparator(&name, recorded.as_deref().unwrap_or_default())?;
        Ok(to_open(name, options, comparator))
    });
    existing.collect()
}

/// A family that can be opened whatever the depth of its tree is.
pub(crate) fn to_open(name: String, mut options: ColumnFamilyOptions, comparator: Comparator) -> FamilyToOpen {
    options.comparator = comparator;
    options.settings.num_levels = MOST_LEVELS;
    FamilyToOpen { name, options: Arc::new(options) }
}

/// Opens a table as the database does: compared with its record, filters and all.
pub(crate) fn open_as_recorded(subject: &Subject, family: &str, recorded: &NewFile) -> Result<Table> {
    let number = recorded.number;
    let Some(present) = subject.tables.get(&number) else {
        let path = subject.path_of(family, recorded.path_id, &file_name::table(number));
        return Err(Error::new(ErrorKind::NotFound, "the table is missing").in_file(path));
    };
    if present.size_bytes != recorded.size_bytes {
        let what = format!("the table has {} bytes, {} are recorded for it", present.size_bytes, recorded.size_bytes);
        return Err(Error::corruption(what).in_file(&present.path));
    }
    let table = tables::open(subject, present, number, Some(recorded), &|_| family.to_owned(), true)?;
    match tables::check_identity(table.properties(), recorded) {
        Some(finding) => Err(Error::corruption(finding.message).in_file(&present.path)),
        None => Ok(table),
    }
}

/// The tables of a state: name of the family, and record.
pub(crate) fn tables_of(versions: &VersionSet) -> Vec<(u32, String, NewFile)> {
    let mut tables = Vec::new();
    for view in versions.families() {
        let own = view.current.files().map(|(_, file)| (view.id, view.name.clone(), file.recorded().clone()));
        tables.extend(own);
    }
    tables
}

/// Tables that were opened as recorded, each once, as several remedies open the same ones.
#[derive(Default)]
pub(crate) struct Opened(BTreeMap<FileNumber, (NewFile, Option<Error>)>);

impl Opened {
    /// The first table of a state, but for those in `without`, that fails the open.
    ///
    /// What it says of a table is what an open by options that are the defaults says (`paranoid_checks`, and no bound
    /// of `max_open_files`).
    pub(crate) fn failure_of(
        &mut self,
        subject: &Subject,
        versions: &VersionSet,
        without: &BTreeSet<FileNumber>,
    ) -> Option<Error> {
        let mut tables = tables_of(versions).into_iter().filter(|(_, _, table)| !without.contains(&table.number));
        tables.find_map(|(_, family, table)| match self.0.get(&table.number) {
            Some((recorded, failure)) if *recorded == table => failure.clone(),
            _ => {
                let failure = open_as_recorded(subject, &family, &table).err();
                self.0.insert(table.number, (table, failure.clone()));
                failure
            }
        })
    }
}
