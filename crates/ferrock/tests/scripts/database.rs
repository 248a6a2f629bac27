//! A database in memory, told what to do line by line. Nothing runs in the background but what a line asks for.
//!
//! ```text
//! new [OPTION=VALUE ...]             a new database; one that exists is forgotten
//! reopen [OPTION=VALUE ...]          closes it and opens it again
//! crash [all]                        the power fails: what is not synced is gone (`all`: only the process dies)
//! open [OPTION=VALUE ...]            opens what a crash left, or says why it cannot be opened
//! put K V, delete K, single_delete K, merge K V, delete_range A B       `cf=NAME`, `nowal`, `sync` may follow
//! create NAME, drop NAME             families
//! flush, compact [A B]               `cf=NAME`, or of a flush `cf=NAME,NAME`, and `atomic` may follow
//! get K, scan [reverse]              `cf=NAME`, `snapshot=NAME`, `lower=A`, `upper=B` may follow
//! snapshot NAME, release NAME
//! iter [lower=A] [upper=B] [snapshot=NAME]      then: first, last, seek K, seek_for_prev K, next, prev, end
//! tree                               tables by level: keys, entries
//! files                              names in the directory, but for LOG, LOCK, IDENTITY and OPTIONS
//! manifest                           the edits since the last such line
//! wal                                the records of the logs
//! everywhere                         the rest of the case three times: in memory, flushed, compacted; with one outcome
//! set OPTION=VALUE                   changes options of the default family
//! ```

use crate::check;
use crate::common::{creating, options_on};
use ferrock::options::{CompressionType, MergeOperator};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, Iter, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
};
use ferrock_base::FileNumber;
use ferrock_base::clock::ManualClock;
use ferrock_base::merge::StringAppend;
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::log::{LogEvent, LogReader, SliceSource, WalRecoveryMode};
use ferrock_format::version_edit::{ColumnFamilyChange, VersionEdit};
use ferrock_format::write_batch::WriteBatchRef;
use ferrock_script::argument;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

#[derive(Default)]
struct Machine {
    files: MemoryFileSystem,
    db: Option<Db>,
    snapshots: BTreeMap<String, Snapshot>,
    iter: Option<Iter>,
    /// Edits that were shown, of which MANIFEST.
    shown: (String, usize),
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn outcome<T>(result: ferrock::Result<T>) -> String {
    result.err().map(|error| format!("{}\n", error.kind().name())).unwrap_or_default()
}

impl Machine {
    fn run(&mut self, case: &str) -> String {
        let (once, repeated) = case.split_once("everywhere\n").unwrap_or((case, ""));
        let mut out: String = once.lines().map(|line| self.line(line)).collect();
        if !repeated.is_empty() {
            let places = ["", "flush", "compact"].map(|place| {
                let moved: String = place.lines().map(|line| self.line(line)).collect();
                moved + &repeated.lines().map(|line| self.line(line)).collect::<String>()
            });
            assert!(places.iter().all(|seen| *seen == places[0]), "{case}: not the same everywhere: {places:#?}");
            out += &places[0];
        }
        out
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("a database is open")
    }

    fn family(&self, line: &str) -> ColumnFamily {
        let name = argument(line, "cf").unwrap_or("default");
        self.db().column_family(name).unwrap_or_else(|| panic!("{line}: no such family"))
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !word.contains('=')).collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_else(|| panic!("{line}: a word is missing"));
        match word(0) {
            "new" => {
                *self = Self::default();
                self.open(line)
            }
            "reopen" => {
                self.let_go();
                let closed = self.db.take().map(Db::close);
                format!("{}{}", closed.map(outcome).unwrap_or_default(), self.open(line))
            }
            "open" => self.open(line),
            "crash" => {
                let policy =
                    if words.contains(&"all") { CrashPolicy::KeepAll } else { CrashPolicy::KeepNothingUnsynced };
                let left = self.files.crash_clone(policy);
                self.let_go();
                self.db = None;
                self.files = left;
                String::new()
            }
            "put" | "delete" | "single_delete" | "merge" | "delete_range" => self.write(line, &words),
            "create" => outcome(self.db().create_column_family(word(1), family_options())),
            "drop" => {
                let dropped = self.db().drop_column_family(&self.db().column_family(word(1)).unwrap());
                // A thread of the database removes what the handle alone held.
                self.db().wait_for_background_work().unwrap();
                outcome(dropped)
            }
            "flush" => {
                let names = argument(line, "cf").unwrap_or("default").split(',');
                let families: Vec<ColumnFamily> = names.map(|name| self.db().column_family(name).unwrap()).collect();
                let how = FlushOptions { force_atomic_flush: words.contains(&"atomic"), ..FlushOptions::default() };
                outcome(self.db().flush_cfs(&families, &how))
            }
            "compact" => {
                let range = (words.get(1).map(|key| key.as_bytes()), words.get(2).map(|key| key.as_bytes()));
                let options = CompactRangeOptions::default();
                outcome(self.db().compact_range_cf(&self.family(line), range.0, range.1, &options))
            }
            "get" => match self.db().get_cf(&self.family(line), &self.read_options(line), word(1).as_bytes()) {
                Ok(found) => format!("{}\n", found.map_or_else(|| "-".to_owned(), |value| text(&value))),
                Err(error) => format!("{}\n", error.kind().name()),
            },
            "scan" => self.scan(line, words.contains(&"reverse")),
            "snapshot" => {
                self.snapshots.insert(word(1).to_owned(), self.db().snapshot());
                String::new()
            }
            "release" => {
                self.snapshots.remove(word(1)).expect("a snapshot");
                String::new()
            }
            "iter" => {
                self.iter = Some(self.db().iter_cf(&self.family(line), &self.read_options(line)));
                String::new()
            }
            "end" => {
                self.iter = None;
                // A thread of the database removes what the iterator alone held.
                self.db().wait_for_background_work().unwrap();
                String::new()
            }
            "first" | "last" | "seek" | "seek_for_prev" | "next" | "prev" => self.step(&words),
            "set" => {
                let changes: Vec<(&str, &str)> =
                    line.split_whitespace().filter_map(|word| word.split_once('=')).collect();
                outcome(self.db().set_options_cf(&self.family(""), &changes))
            }
            "tree" => self.tree(),
            "files" => self.names(|_| true).iter().map(|name| format!("{name}\n")).collect(),
            "manifest" => self.manifest(),
            "wal" => self.wal(),
            _ => panic!("{line}: no such command"),
        }
    }

    fn let_go(&mut self) {
        self.iter = None;
        self.snapshots.clear();
    }

    fn open(&mut self, line: &str) -> String {
        let mut options = options_on(Arc::new(self.files.clone()));
        options.components.clock = Some(Arc::new(ManualClock::new(1_700_000_000_000_000)));
        let mut family = family_options();
        for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            let is_known = options.settings.set(name, value).unwrap() || family.settings.set(name, value).unwrap();
            assert!(is_known, "{line}: no option {name}");
        }
        let names = match Db::list_column_families("/db", &options_of(&options)) {
            Ok(names) => names,
            Err(_) => vec!["default".to_owned()],
        };
        let families = names.into_iter().map(|name| (name, family.clone())).collect();
        match Db::open_cf("/db", options, families) {
            Ok((db, _)) => {
                self.db = Some(db);
                String::new()
            }
            Err(error) => format!("{}: {}\n", error.kind().name(), error.message()),
        }
    }

    fn write(&self, line: &str, words: &[&str]) -> String {
        let family = self.family(line).id();
        let key = words[1].as_bytes();
        let value = words.get(2).map(|value| value.as_bytes()).unwrap_or_default();
        let mut batch = WriteBatch::new();
        match words[0] {
            "put" => batch.put_cf(family, key, value),
            "delete" => batch.delete_cf(family, key),
            "single_delete" => batch.single_delete_cf(family, key),
            "merge" => batch.merge_cf(family, key, value),
            _ => batch.delete_range_cf(family, key, value),
        }
        .unwrap();
        let (disable_wal, sync) = (words.contains(&"nowal"), words.contains(&"sync"));
        outcome(self.db().write(batch, &WriteOptions { disable_wal, sync, ..WriteOptions::default() }))
    }

    fn read_options(&self, line: &str) -> ReadOptions {
        let bound = |name: &str| argument(line, name).map(|key| key.as_bytes().to_vec());
        ReadOptions {
            snapshot: argument(line, "snapshot").map(|name| self.snapshots[name].clone()),
            lower_bound: bound("lower"),
            upper_bound: bound("upper"),
            ..ReadOptions::default()
        }
    }

    fn scan(&self, line: &str, is_reverse: bool) -> String {
        let mut iter = self.db().iter_cf(&self.family(line), &self.read_options(line));
        if is_reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        let mut rows = Vec::new();
        while iter.valid() {
            rows.push(format!("{}={}", text(iter.key()), text(iter.value())));
            if is_reverse { iter.prev() } else { iter.next() }
        }
        let rows = if rows.is_empty() { "no rows".to_owned() } else { rows.join(" ") };
        format!("{rows}\n{}", outcome(iter.status()))
    }

    fn step(&mut self, words: &[&str]) -> String {
        let iter = self.iter.as_mut().expect("an iterator");
        let key = words.get(1).map(|key| key.as_bytes()).unwrap_or_default();
        match words[0] {
            "first" => iter.seek_to_first(),
            "last" => iter.seek_to_last(),
            "seek" => iter.seek(key),
            "seek_for_prev" => iter.seek_for_prev(key),
            "next" => iter.next(),
            _ => iter.prev(),
        }
        match iter.valid() {
            true => format!("{}={}\n", text(iter.key()), text(iter.value())),
            false => format!(".\n{}", outcome(iter.status())),
        }
    }

    fn tree(&self) -> String {
        let mut files = self.db().live_files();
        files.sort_by_key(|file| (file.column_family.clone(), file.level, file.number));
        let mut out = String::new();
        for file in files {
            let properties = self.db().table_properties(&file).unwrap();
            let (smallest, largest) = (text(&file.smallest_user_key), text(&file.largest_user_key));
            let name = if file.column_family == "default" { "" } else { &file.column_family };
            let (entries, number) = (properties.num_entries, file.number);
            let _ = writeln!(out, "{name}L{} #{number} {smallest}..{largest} {entries} entries", file.level);
        }
        if out.is_empty() { "no tables\n".to_owned() } else { out }
    }

    fn names(&self, pass: impl Fn(FileKind) -> bool) -> Vec<String> {
        let names = self.files.children(Path::new("/db")).unwrap();
        let is_shown = |name: &String| {
            let kind = file_name::parse(name).map(|name| name.kind);
            kind.is_some_and(|kind| {
                matches!(kind, FileKind::Log | FileKind::Table | FileKind::Manifest | FileKind::Current) && pass(kind)
            })
        };
        names.into_iter().filter(is_shown).collect()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        read_file(&self.files, &Path::new("/db").join(name)).unwrap()
    }

    fn manifest(&mut self) -> String {
        let name = self.names(|kind| kind == FileKind::Manifest).pop().unwrap();
        let bytes = self.read(&name);
        let mut reader = LogReader::manifest(SliceSource(&bytes));
        let (mut edits, mut scratch) = (Vec::new(), Vec::new());
        while let LogEvent::Record { data, .. } = reader.read_record(&mut scratch).unwrap() {
            edits.push(edit_text(&VersionEdit::decode(data).unwrap()));
        }
        let from = if self.shown.0 == name { self.shown.1 } else { 0 };
        self.shown = (name, edits.len());
        edits[from..].iter().map(|edit| format!("{edit}\n")).collect()
    }

    fn wal(&self) -> String {
        let mut out = String::new();
        for name in self.names(|kind| kind == FileKind::Log) {
            let _ = writeln!(out, "{name}");
            let bytes = self.read(&name);
            let number = FileNumber(name[..6].parse().unwrap());
            let mut reader = LogReader::new(SliceSource(&bytes), number, WalRecoveryMode::PointInTimeRecovery);
            let mut scratch = Vec::new();
            while let LogEvent::Record { data, .. } = reader.read_record(&mut scratch).unwrap() {
                let batch = WriteBatchRef::new(data).unwrap();
                let _ = writeln!(out, "  @{} {}", batch.sequence().0, crate::bytes::records(batch).join(", "));
            }
        }
        out
    }
}

/// Options to look with: nothing is created.
fn options_of(options: &DbOptions) -> DbOptions {
    let mut looking = creating();
    looking.components.file_system.clone_from(&options.components.file_system);
    looking.create_if_missing = false;
    looking
}

fn family_options() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.compression = CompressionType::NoCompression;
    family.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    family
}

/// What an edit says, but for identities, sizes and times.
fn edit_text(edit: &VersionEdit) -> String {
    let mut out = Vec::new();
    if edit.column_family != 0 {
        out.push(format!("cf {}", edit.column_family));
    }
    match &edit.column_family_change {
        Some(ColumnFamilyChange::Add(name)) => out.push(format!("add {name:?}")),
        Some(ColumnFamilyChange::Drop) => out.push("drop".to_owned()),
        None => {}
    }
    let numbers = [
        ("log", edit.log_number.map(|number| number.0)),
        ("keeps logs from", edit.min_log_number_to_keep.map(|number| number.0)),
        ("next file", edit.next_file_number.map(|number| number.0)),
        ("last sequence", edit.last_sequence.map(|number| number.0)),
        ("most families", edit.max_column_family.map(u64::from)),
        ("more in group", edit.remaining_in_group.map(u64::from)),
    ];
    out.extend(numbers.iter().filter_map(|(name, number)| number.map(|number| format!("{name} {number}"))));
    out.extend(edit.comparator.iter().map(|name| format!("order {name}")));
    out.extend(edit.deleted_files.iter().map(|file| format!("-L{} #{}", file.level, file.number)));
    for file in &edit.new_files {
        let key = |key: &[u8]| text(ferrock_base::internal_key::user_key(key));
        let (smallest, largest) = (key(&file.smallest), key(&file.largest));
        let sequences = (file.smallest_seqno.0, file.largest_seqno.0);
        out.push(format!("+L{} #{} {smallest}..{largest} @{}..{}", file.level, file.number, sequences.0, sequences.1));
    }
    if out.is_empty() { "nothing that is shown".to_owned() } else { out.join("; ") }
}

macro_rules! scripts {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let mut machine = Machine::default();
            check(stringify!($name), |case| machine.run(case));
        }
    )*};
}

scripts! { atomic_flush iterator merging range_deletions flush recovery manifest obsolete_files families snapshots }
