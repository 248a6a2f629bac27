//! The directory of a follower: names of its own for the tables and blob files of its leader.
//!
//! ```text
//! leader's directories   000012.sst --- one file ---+      removed there: the follower still has it
//! follower's directory   000012.sst ----------------+      removed here when none of its views needs it
//!                        IDENTITY   the id of the leader, before the first table
//!                        LOCK       held while the follower is open        LOG
//!                        *.dbtmp    a name or a copy on its way; goes with the next open
//! ```
//!
//! - A name stands for a whole file: a link is one by itself, and a copy, made where the file system refuses the link,
//!   is synced before it gets its name. So what a crash leaves is a directory that opens again.
//! - A directory is taken that is empty, or has an IDENTITY and nothing that only a database has. What lies in it is
//!   removed by its follower alone, and what is in it under one IDENTITY are files of that database.
//! - A name that an earlier run left is given anew where the leader still has the file: a leader whose machine went
//!   down before its MANIFEST was durable gives the number out again.
//!
//! Tried and lost: a record of which names are whole. The names say it.

use crate::info_log::InfoLog;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::current_file::decode_identity;
use ferrock_format::file_name::{self, FileKind};
use ferrock_tree::places::{create_directory, is_same};
use ferrock_tree::version::version_set::LiveFiles;
use ferrock_vfs::{FileLock, FileSystem, WritableOptions, WritePurpose, copy_file, read_file, write_file_atomically};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of the leader that the follower needs.
pub(crate) struct WantedFile {
    /// Where the leader has it.
    pub(crate) from: PathBuf,
    pub(crate) kind: FileKind,
    pub(crate) number: FileNumber,
    /// What the MANIFEST says.
    pub(crate) size_bytes: u64,
}

impl WantedFile {
    /// The names that the file may have.
    fn names(&self) -> Vec<String> {
        match self.kind {
            FileKind::Blob => vec![file_name::blob(self.number)],
            _ => vec![file_name::table(self.number), file_name::legacy_table(self.number)],
        }
    }
}

/// See the [module](self).
pub(crate) struct Links {
    file_system: Arc<dyn FileSystem>,
    directory: PathBuf,
    /// Files that have their name, and are the leader's.
    known: HashSet<FileNumber>,
    /// Names that a follower of this database gave: nothing else in the directory is removed or replaced.
    own: HashSet<String>,
    /// The LOG says that files are copied.
    has_told_of_copies: bool,
    _lock: Box<dyn FileLock>,
}

impl Links {
    /// Takes the directory, which is created where it is missing; `not_in` are directories of the leader.
    ///
    /// # Errors
    /// `Invalid argument` for a directory of the leader, and for one that is not a follower's; `Busy` when a follower
    /// has it open; `Io`.
    pub(crate) fn open(file_system: &Arc<dyn FileSystem>, directory: &Path, not_in: &[PathBuf]) -> Result<Self> {
        if let Some(leaders) = not_in.iter().find(|leaders| is_same(leaders, directory)) {
            let what = "a follower needs a directory of its own, other than those of its leader's files";
            return Err(Error::invalid_argument(what).in_file(leaders));
        }
        if file_system.exists(directory)? {
            // Refused here, the directory stays as it is.
            check_is_follower(&**file_system, directory)?;
        } else {
            create_directory(&**file_system, directory)?;
        }
        let lock = file_system.lock_file(&directory.join(file_name::LOCK))?;
        for name in check_is_follower(&**file_system, directory)? {
            if file_name::parse(&name).is_some_and(|name| matches!(name.kind, FileKind::Temp | FileKind::Trash)) {
                file_system.remove_file(&directory.join(&name))?;
            }
        }
        Ok(Self {
            file_system: Arc::clone(file_system),
            directory: directory.to_path_buf(),
            known: HashSet::new(),
            own: HashSet::new(),
            has_told_of_copies: false,
            _lock: lock,
        })
    }

    /// Says whose files the directory has, before it has any.
    ///
    /// # Errors
    /// `Invalid argument` when it has those of another database; `Io`.
    pub(crate) fn claim(&mut self, leader: &str) -> Result<()> {
        let path = self.directory.join(file_name::IDENTITY);
        let held = match read_file(&*self.file_system, &path) {
            Ok(content) => decode_identity(&content),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        match held {
            Some(held) if held == leader => {
                let names = self.file_system.children(&self.directory)?;
                let is_file = |name: &String| {
                    file_name::parse(name).is_some_and(|name| matches!(name.kind, FileKind::Table | FileKind::Blob))
                };
                self.own = names.into_iter().filter(is_file).collect();
                Ok(())
            }
            Some(held) => {
                let what = format!(
                    "the directory is that of a follower of the database {held}, and the leader is {leader}: \
                     name another directory"
                );
                Err(Error::invalid_argument(what).in_file(path))
            }
            None => {
                let temp = self.directory.join(file_name::temp(FileNumber(0)));
                write_file_atomically(&*self.file_system, &path, &temp, leader.as_bytes())
            }
        }
    }

    /// Forgets which files the names stand for: a leader that begins another MANIFEST may give numbers out again that
    /// an edit had which it lost.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// Gives files their names here.
    ///
    /// # Errors
    /// Those of `check`, which is asked before each; `is_not_found` for a file that the leader has removed; `Io` where
    /// a file can neither be linked nor copied; `Corruption` where one is shorter than the MANIFEST says.
    pub(crate) fn take(
        &mut self,
        wanted: &[WantedFile],
        info_log: &InfoLog,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        for file in wanted {
            if self.known.contains(&file.number) {
                continue;
            }
            check()?;
            self.take_one(file, info_log)?;
            self.known.insert(file.number);
        }
        Ok(())
    }

    fn take_one(&mut self, wanted: &WantedFile, info_log: &InfoLog) -> Result<()> {
        let mut missing = None;
        for name in wanted.names() {
            match self.take_named(wanted, &name, info_log) {
                Err(error) if error.is_not_found() => {
                    missing.get_or_insert(error);
                }
                outcome => return outcome,
            }
        }
        let none = || Error::new(ErrorKind::NotFound, "the leader does not have the file").in_file(&wanted.from);
        Err(missing.unwrap_or_else(none))
    }

    fn take_named(&mut self, wanted: &WantedFile, name: &str, info_log: &InfoLog) -> Result<()> {
        let (source, target) = (wanted.from.join(name), self.directory.join(name));
        let held = match self.file_system.file_size(&target) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        if held.is_some() && !self.own.contains(name) {
            let what = "a file that this follower did not make has the name of one of its leader: give the follower a \
                        directory of its own, in which nothing else writes";
            return Err(Error::invalid_argument(what).in_file(&target));
        }
        self.own.insert(name.to_owned());
        let linked = match held {
            Some(_) => self.link_over(wanted.number, &source, &target),
            None => self.file_system.hard_link(&source, &target),
        };
        match linked {
            Ok(()) => self.check_size(wanted, &source, &target),
            Err(_) if held == Some(wanted.size_bytes) => Ok(()),
            Err(error) if error.is_not_found() => Err(error),
            Err(refused) => {
                if !std::mem::replace(&mut self.has_told_of_copies, true) {
                    info_log.warn(|| format!("files of the leader are copied, for they cannot be linked: {refused}"));
                }
                self.copy(wanted, &source, &target)
            }
        }
    }

    /// Replaces what has the name. Two names of one file stay as they are when one is renamed to the other.
    fn link_over(&self, number: FileNumber, source: &Path, target: &Path) -> Result<()> {
        let temp = self.directory.join(file_name::temp(number));
        self.file_system.hard_link(source, &temp)?;
        let renamed = self.file_system.rename(&temp, target);
        // It is there only where the rename did nothing. It is the leader's file: nothing may be written to it.
        match self.file_system.remove_file(&temp) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => renamed,
        }
    }

    fn copy(&self, wanted: &WantedFile, source: &Path, target: &Path) -> Result<()> {
        let temp = self.directory.join(file_name::temp(wanted.number));
        // What is there may be a link to the leader's file.
        match self.file_system.remove_file(&temp) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        let options = WritableOptions::for_purpose(WritePurpose::Table);
        let copied = copy_file((&*self.file_system, source), (&*self.file_system, &temp), None, &options)
            .and_then(|bytes| check_bytes(bytes, wanted, source))
            .and_then(|()| self.file_system.rename(&temp, target));
        if copied.is_err() {
            // The first error is the one to report.
            let _ = self.file_system.remove_file(&temp);
        }
        copied
    }

    fn check_size(&self, wanted: &WantedFile, source: &Path, target: &Path) -> Result<()> {
        let checked = self.file_system.file_size(target).and_then(|bytes| check_bytes(bytes, wanted, source));
        if checked.is_err() {
            let _ = self.file_system.remove_file(target);
        }
        checked
    }

    /// Removes the own names of files that no view needs, and returns the numbers of the tables. One that stays is
    /// tried again the next time.
    pub(crate) fn drop_unneeded(&mut self, live: &LiveFiles, info_log: &InfoLog) -> Vec<FileNumber> {
        let mut gone = Vec::new();
        for name in self.own.clone() {
            let Some(parsed) = file_name::parse(&name) else { continue };
            let is_needed = match parsed.kind {
                FileKind::Table => live.tables.contains(&parsed.number),
                FileKind::Blob => live.blob_files.contains(&parsed.number),
                _ => true,
            };
            if is_needed {
                continue;
            }
            self.known.remove(&parsed.number);
            if parsed.kind == FileKind::Table {
                gone.push(parsed.number);
            }
            match self.file_system.remove_file(&self.directory.join(&name)) {
                Err(error) if !error.is_not_found() => {
                    info_log.warn(|| format!("a name that is not needed stays: {error}"));
                }
                _ => {
                    self.own.remove(&name);
                }
            }
        }
        gone
    }
}

fn check_bytes(bytes: u64, wanted: &WantedFile, source: &Path) -> Result<()> {
    if bytes >= wanted.size_bytes {
        return Ok(());
    }
    let what = format!("{bytes} bytes, and the MANIFEST of the leader says {}", wanted.size_bytes);
    Err(Error::corruption(what).in_file(source))
}

/// The names in a directory, which has to be empty or a follower's.
fn check_is_follower(file_system: &dyn FileSystem, directory: &Path) -> Result<Vec<String>> {
    let names = file_system.children(directory)?;
    let (mut has_identity, mut a_file) = (false, None);
    for name in &names {
        match file_name::parse(name).map(|parsed| parsed.kind) {
            Some(FileKind::Table | FileKind::Blob) => a_file = Some(name),
            Some(FileKind::Identity) => has_identity = true,
            Some(FileKind::InfoLog | FileKind::Lock | FileKind::Temp | FileKind::Trash) | None => {}
            Some(_) => return Err(not_a_follower(directory, name, "which only a database has")),
        }
    }
    match a_file.filter(|_| !has_identity) {
        Some(name) => Err(not_a_follower(directory, name, "and no IDENTITY that says of which database it is")),
        None => Ok(names),
    }
}

fn not_a_follower(directory: &Path, name: &str, what: &str) -> Error {
    let message = format!("the directory is not a follower's: it has {name}, {what}; name an empty one, or a new one");
    Error::invalid_argument(message).in_file(directory)
}
