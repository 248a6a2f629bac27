//! The names that a follower gives the files of its leader: what the leader removes can be read, what no view needs
//! goes, and a crash at any operation leaves a directory that opens again.

use crate::states::{FAMILIES, State, assert_same, batch, descriptors, read};
use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{Db, ErrorKind, ReadOptions, WaitForCompactOptions, WriteOptions};
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
    read_file, write_file_synced,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/db";
const OWN: &str = "/own";

fn options(files: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.follower_catchup_retry_count = 0;
    options.components.file_system = Some(files);
    options
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.enable_blob_files = true;
    family.min_blob_size = 200;
    family
}

/// Tables and blob files of a directory.
fn names(files: &MemoryFileSystem, directory: &str) -> Vec<String> {
    let mut names = files.children(Path::new(directory)).unwrap();
    names.retain(|name| name.ends_with(".sst") || name.ends_with(".blob"));
    names.sort();
    names
}

/// A leader that is closed when it is dropped, and what it has.
struct Leader {
    files: MemoryFileSystem,
    db: Db,
    state: State,
    number: u64,
}

impl Leader {
    fn new() -> Self {
        let files = MemoryFileSystem::new();
        let opened = Db::open_cf(PATH, options(Arc::new(files.clone())), descriptors(&family(), &FAMILIES)).unwrap();
        Self { files, db: opened.0, state: State::new(), number: 0 }
    }

    /// Writes batches and flushes all families, so often.
    fn flush(&mut self, times: u64) {
        let families: Vec<(String, u32)> =
            self.db.column_families().iter().map(|family| (family.name().to_owned(), family.id())).collect();
        for _ in 0..times {
            for _ in 0..10 {
                self.number += 1;
                let batch = batch(5, self.number, &families, &mut self.state);
                self.db.write(batch, &WriteOptions::default()).unwrap();
            }
            crate::states::Kind::Follower.publish(&self.db);
        }
    }

    fn compact(&self) {
        for family in self.db.column_families() {
            self.db.compact_range_cf(&family, None, None, &Default::default()).unwrap();
        }
        self.db.wait_for_compact(&WaitForCompactOptions { wait_for_purge: true, ..Default::default() }).unwrap();
    }

    /// What a follower has when it needs nothing else.
    fn names(&self) -> Vec<String> {
        names(&self.files, PATH)
    }

    fn follow(&self) -> ferrock::Result<Db> {
        follow(&(Arc::new(self.files.clone()) as Arc<dyn FileSystem>))
    }
}

fn follow(files: &Arc<dyn FileSystem>) -> ferrock::Result<Db> {
    let families = Some(descriptors(&family(), &FAMILIES));
    Db::open_as_follower(OWN, PATH, options(Arc::clone(files)), families).map(|(db, _)| db)
}

#[test]
fn what_the_leader_removes_is_read_until_no_view_needs_it() {
    for max_open_files in [-1, 20] {
        let mut leader = Leader::new();
        leader.flush(6);
        let (seen, before) = (leader.state.clone(), leader.names());
        let mut own = options(Arc::new(leader.files.clone()));
        own.max_open_files = max_open_files;
        let (follower, _) = Db::open_as_follower(OWN, PATH, own, Some(descriptors(&family(), &FAMILIES))).unwrap();
        assert_eq!(names(&leader.files, OWN), before);
        leader.flush(1);
        leader.compact();
        assert!(!before.iter().any(|name| name.ends_with(".sst") && leader.names().contains(name)));
        assert_same(&read(&follower).unwrap(), &seen, "the tables are the follower's");
        let mut held = follower.iter(&ReadOptions::default());
        follower.try_catch_up_with_primary().unwrap();
        assert_same(&read(&follower).unwrap(), &leader.state, "caught up");
        let in_default = |state: &State| state["default"].len();
        held.seek_to_first();
        let mut count = 0;
        while held.valid() {
            count += 1;
            held.next();
        }
        held.status().unwrap();
        assert_eq!(count, in_default(&seen), "an iterator keeps its files");
        assert!(names(&leader.files, OWN).len() > leader.names().len());
        drop(held);
        follower.try_catch_up_with_primary().unwrap();
        assert_eq!(names(&leader.files, OWN), leader.names(), "what nothing needs is gone");
    }
}

#[test]
fn what_the_follower_did_not_make_is_neither_removed_nor_replaced() {
    let mut leader = Leader::new();
    leader.flush(2);
    let follower = leader.follow().unwrap();
    // A directory that another program uses, too, or that the leader has under a name which was not given.
    let files = leader.files.clone();
    let put = |number: u64| {
        let path = Path::new(OWN).join(format!("{number:06}.sst"));
        write_file_synced(&files, &path, b"of another").unwrap();
        path
    };
    let far = put(900_000);
    leader.flush(1);
    leader.compact();
    follower.try_catch_up_with_primary().unwrap();
    assert_same(&read(&follower).unwrap(), &leader.state, "caught up");
    let newest = leader.names().iter().map(|name| name[..6].parse::<u64>().unwrap()).max().unwrap();
    let near: Vec<_> = (newest + 1..newest + 50).map(put).collect();
    let seen = leader.state.clone();
    leader.flush(1);
    let error = follower.try_catch_up_with_primary().unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("directory of its own"),
        "{error}"
    );
    assert_same(&read(&follower).unwrap(), &seen, "as before");
    for path in near.iter().chain([&far]) {
        assert_eq!(&read_file(&leader.files, path).unwrap()[..], b"of another", "{}", path.display());
    }
}

#[test]
fn a_link_that_cannot_be_taken_away_is_never_written_to() {
    let mut leader = Leader::new();
    leader.flush(2);
    leader.follow().unwrap().close().unwrap();
    // What an earlier run left has another size, so that it is replaced; the link to the new file cannot be renamed,
    // and not be removed either.
    for name in names(&leader.files, OWN) {
        let path = Path::new(OWN).join(name);
        leader.files.remove_file(&path).unwrap();
        write_file_synced(&leader.files, &path, b"cut").unwrap();
    }
    let contents = || -> Vec<Vec<u8>> {
        let path = |name: &String| Path::new(PATH).join(name);
        leader.names().iter().map(|name| read_file(&leader.files, &path(name)).unwrap().to_vec()).collect()
    };
    let before = contents();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(leader.files.clone())));
    for kind in [OperationKind::Rename, OperationKind::Remove] {
        faults.add_rule(FaultRule::new(kind, "*.dbtmp", Fault::Io));
    }
    let faulty = Arc::clone(&faults) as Arc<dyn FileSystem>;
    assert!(follow(&faulty).is_err());
    assert!(before == contents(), "a file of the leader was written to");
    // Nothing fails any more: what is left of it goes.
    faults.clear_rules();
    let follower = follow(&faulty).unwrap();
    assert_same(&read(&follower).unwrap(), &leader.state, "mended");
}

#[test]
fn a_directory_that_is_opened_again_goes_on() {
    let mut leader = Leader::new();
    leader.flush(3);
    leader.follow().unwrap().close().unwrap();
    let kept = names(&leader.files, OWN);
    leader.flush(1);
    let follower = leader.follow().unwrap();
    assert_same(&read(&follower).unwrap(), &leader.state, "opened again");
    assert!(kept.iter().all(|name| names(&leader.files, OWN).contains(name)), "they are needed still");
    follower.close().unwrap();
    leader.compact();
    let follower = leader.follow().unwrap();
    assert_eq!(names(&leader.files, OWN), leader.names());
    assert_same(&read(&follower).unwrap(), &leader.state, "opened once more");
}

#[test]
fn a_name_of_an_earlier_run_is_that_of_the_leaders_file() {
    let mut leader = Leader::new();
    leader.flush(2);
    leader.follow().unwrap().close().unwrap();
    for name in names(&leader.files, OWN) {
        let path = Path::new(OWN).join(name);
        let other = vec![b'x'; usize::try_from(leader.files.file_size(&path).unwrap()).unwrap()];
        leader.files.remove_file(&path).unwrap();
        write_file_synced(&leader.files, &path, &other).unwrap();
    }
    let follower = leader.follow().unwrap();
    assert_same(&read(&follower).unwrap(), &leader.state, "files of the same size are no files of the leader");
    assert!(!leader.files.children(Path::new(OWN)).unwrap().iter().any(|name| name.ends_with(".dbtmp")));
}

#[test]
fn files_are_copied_where_they_cannot_be_linked() {
    let mut leader = Leader::new();
    leader.flush(3);
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(leader.files.clone())));
    let rule = faulty.add_rule(FaultRule::new(OperationKind::Link, "*", Fault::PermissionDenied));
    let files = Arc::clone(&faulty) as Arc<dyn FileSystem>;
    let follower = follow(&files).unwrap();
    leader.flush(1);
    follower.try_catch_up_with_primary().unwrap();
    let copied = names(&leader.files, OWN).len() as u64;
    assert_eq!(faulty.fired(rule), Some(copied), "each file is tried once");
    let log = read_file(&leader.files, &Path::new(OWN).join("LOG")).unwrap();
    assert_eq!(String::from_utf8_lossy(&log).matches("are copied").count(), 1);
    let seen = leader.state.clone();
    leader.flush(1);
    leader.compact();
    assert_same(&read(&follower).unwrap(), &seen, "copies");
    follower.close().unwrap();
    // A copy that fails leaves nothing under the name of the file.
    let full = faulty.add_rule(FaultRule::new(OperationKind::Append, "*.dbtmp", Fault::NoSpace).when(Trigger::Nth(2)));
    assert_eq!(follow(&files).unwrap_err().kind(), ErrorKind::NoSpace);
    assert!(faulty.remove_rule(full) > Some(0));
    let follower = follow(&files).unwrap();
    assert_same(&read(&follower).unwrap(), &leader.state, "behind a copy that failed");
    assert_eq!(names(&leader.files, OWN), leader.names());
}

#[test]
fn a_file_that_can_neither_be_linked_nor_copied_is_an_error_that_names_it() {
    let mut leader = Leader::new();
    leader.follow().unwrap().close().unwrap();
    leader.flush(1);
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(leader.files.clone())));
    faulty.add_rule(FaultRule::new(OperationKind::Link, "*", Fault::Io));
    faulty.add_rule(FaultRule::new(OperationKind::Create, "*.dbtmp", Fault::PermissionDenied));
    let error = follow(&(Arc::clone(&faulty) as Arc<dyn FileSystem>)).unwrap_err();
    assert!(error.to_string().contains("/own/"), "{error}");
    faulty.clear_rules();
    follow(&(faulty as Arc<dyn FileSystem>)).unwrap();
}

#[test]
fn a_manifest_that_was_cut_takes_nothing_back() {
    let mut leader = Leader::new();
    leader.flush(2);
    let follower = leader.follow().unwrap();
    let seen = leader.state.clone();
    let current = String::from_utf8(read_file(&leader.files, &Path::new(PATH).join("CURRENT")).unwrap()).unwrap();
    let manifest = Path::new(PATH).join(current.trim());
    let whole = read_file(&leader.files, &manifest).unwrap();
    for cut in 1..60.min(whole.len()) {
        write_file_synced(&leader.files, &manifest, &whole[..whole.len() - cut]).unwrap();
        let error = follower.try_catch_up_with_primary().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TryAgain), "{cut} bytes: {error}");
        assert!(error.to_string().contains("MANIFEST-"), "{error}");
        assert_same(&read(&follower).unwrap(), &seen, "a MANIFEST that was cut");
    }
    write_file_synced(&leader.files, &manifest, &whole).unwrap();
    follower.try_catch_up_with_primary().unwrap();
    assert_same(&read(&follower).unwrap(), &seen, "whole again");
}

#[test]
fn a_leader_that_begins_another_manifest_is_followed() {
    let mut leader = Leader::new();
    leader.flush(2);
    let follower = leader.follow().unwrap();
    for _ in 0..4 {
        leader.db.clone().close().unwrap();
        let files = Arc::new(leader.files.clone());
        leader.db = Db::open_cf(PATH, options(files), descriptors(&family(), &FAMILIES)).unwrap().0;
        leader.flush(1);
        follower.try_catch_up_with_primary().unwrap();
        assert_same(&read(&follower).unwrap(), &leader.state, "another MANIFEST");
    }
}

/// Runs `work`, and gives what a crash at each of its operations leaves.
fn crashes(files: &MemoryFileSystem, work: impl FnOnce()) -> Vec<(String, MemoryFileSystem)> {
    let taken: Arc<Mutex<Vec<(String, MemoryFileSystem)>>> = Arc::default();
    let (handle, list) = (files.clone(), Arc::clone(&taken));
    files.set_operation_hook(Some(Arc::new(move |operation, line| {
        let torn = CrashPolicy::Torn { seed: operation, granularity_bytes: 512 };
        for policy in [CrashPolicy::KeepAll, CrashPolicy::KeepNothingUnsynced, torn] {
            list.lock().push((format!("{line}, {policy:?}"), handle.crash_clone(policy)));
        }
    })));
    work();
    files.set_operation_hook(None);
    std::mem::take(&mut *taken.lock())
}

/// The directory opens again on what each crash left.
fn check_crashes(crashed: Vec<(String, MemoryFileSystem)>, leader: &Leader, may_link: bool) -> usize {
    let points = crashed.len();
    for (line, left) in crashed {
        let faulty = FaultInjectionFileSystem::new(Arc::new(left.clone()));
        if !may_link {
            faulty.add_rule(FaultRule::new(OperationKind::Link, "*", Fault::PermissionDenied));
        }
        let files = Arc::new(faulty) as Arc<dyn FileSystem>;
        let follower = follow(&files).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_same(&read(&follower).unwrap(), &leader.state, &line);
        assert_eq!(names(&left, OWN), leader.names(), "{line}");
    }
    points
}

#[test]
fn a_crash_at_any_operation_leaves_a_directory_that_opens_again() {
    for may_link in [true, false] {
        let mut leader = Leader::new();
        leader.flush(2);
        let faulty = FaultInjectionFileSystem::new(Arc::new(leader.files.clone()));
        if !may_link {
            faulty.add_rule(FaultRule::new(OperationKind::Link, "*", Fault::PermissionDenied));
        }
        let files = Arc::new(faulty) as Arc<dyn FileSystem>;
        let mut follower = None;
        let first = crashes(&leader.files, || follower = Some(follow(&files).unwrap()));
        let points = check_crashes(first, &leader, may_link);
        assert!(points > 20, "{points} operations of an open");
        leader.flush(1);
        leader.compact();
        let follower = follower.unwrap();
        let later = crashes(&leader.files, || follower.try_catch_up_with_primary().unwrap());
        let points = check_crashes(later, &leader, may_link);
        assert!(points > 10, "{points} operations of a catch-up");
        follower.close().unwrap();
        let again = crashes(&leader.files, || follow(&files).unwrap().close().unwrap());
        check_crashes(again, &leader, may_link);
    }
}
