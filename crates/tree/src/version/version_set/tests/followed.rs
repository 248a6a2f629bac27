//! A MANIFEST that grows, is replaced, and is not the same any more, under a reader that goes on.

use super::*;

fn followed(file_system: &Arc<dyn FileSystem>, names: &[&str]) -> FollowedManifest {
    FollowedManifest::new(Arc::clone(file_system), Path::new(DB), families(names)).unwrap()
}

fn now(manifest: &FollowedManifest) -> Result<String> {
    let versions = manifest.version_set(Arc::new(DbOptions::default()), RecoverMode::ReadOnly)?;
    Ok(describe(&versions))
}

/// What a reader from the beginning sees.
fn read_anew(file_system: &Arc<dyn FileSystem>, names: &[&str]) -> Result<String> {
    open_with(file_system, DbOptions::default(), names, RecoverMode::ReadOnly).map(|versions| describe(&versions))
}

fn write(file_system: &dyn FileSystem, manifest: &[u8]) {
    write_file_synced(file_system, &Path::new(DB).join("MANIFEST-000005"), manifest).unwrap();
}

/// Each end is seen, those inside a record too.
#[test]
fn a_manifest_that_grows_is_as_one_read_from_the_beginning() {
    let (content, states) = manifest_with_states();
    for step in [1, 2, 7, 40] {
        let file_system = database_of(b"");
        let mut manifest = followed(&file_system, BOTH);
        let mut seen = Vec::new();
        for length in (0..=content.len()).step_by(step).chain([content.len()]) {
            write(&*file_system, &content[..length]);
            let found = manifest.read().and_then(|()| now(&manifest));
            match (found, read_anew(&file_system, BOTH)) {
                (Ok(found), Ok(wanted)) => {
                    assert_eq!(found, wanted, "up to {length}");
                    if seen.last() != Some(&found) {
                        seen.push(found);
                    }
                }
                (Err(found), Err(wanted)) => assert_eq!(found.to_string(), wanted.to_string(), "up to {length}"),
                (found, wanted) => panic!("up to {length}: {found:?}, and from the beginning {wanted:?}"),
            }
        }
        assert_eq!(seen.last(), states.last());
    }
}

#[test]
fn a_manifest_that_is_not_the_same_any_more_is_read_from_the_beginning() {
    let (content, states) = manifest_with_states();
    let file_system = database_of(&content);
    let mut manifest = followed(&file_system, BOTH);
    manifest.read().unwrap();
    assert_eq!(now(&manifest).unwrap(), states[states.len() - 1]);
    // A part of it is lost.
    let ends = |state: &str| {
        let is_end =
            |length: &usize| read_anew(&database_of(&content[..*length]), BOTH).is_ok_and(|found| found == state);
        (0..=content.len()).find(is_end).unwrap()
    };
    write(&*file_system, &content[..ends(&states[1])]);
    manifest.read().unwrap();
    assert_eq!(now(&manifest).unwrap(), states[1]);
    // Another one is there, which is longer.
    let (other, _) = manifest_with_states();
    let other_file_system = database_of(&other);
    let other_set = open(&other_file_system, BOTH).unwrap();
    for sequence in 20..24 {
        other_set.log_and_apply(vec![adding(0, new_file(&other_set, 0, "x..y", sequence))]).unwrap();
    }
    let longer = read_file(&*other_file_system, &other_set.manifest_path()).unwrap();
    write(&*file_system, &longer);
    manifest.read().unwrap();
    assert_eq!(now(&manifest).unwrap(), describe(&other_set));
}

#[test]
fn changes_from_outside_are_told_and_others_are_not() {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let mut manifest = followed(&file_system, BOTH);
    manifest.read().unwrap();
    let told = |manifest: &mut FollowedManifest| {
        let before = manifest.outside_changes();
        manifest.read().unwrap();
        assert_eq!(now(manifest).unwrap(), read_anew(&file_system, BOTH).unwrap());
        manifest.outside_changes() - before
    };
    // The first change begins a MANIFEST.
    version_set.log_and_apply(vec![VersionEdit::for_column_family(0)]).unwrap();
    assert_eq!(told(&mut manifest), 1);
    let flushed = new_file(&version_set, 0, "a..b", 1);
    let flush = VersionEdit { log_number: Some(FileNumber(9)), ..adding(0, flushed.clone()) };
    version_set.log_and_apply(vec![flush]).unwrap();
    let compaction = VersionEdit {
        deleted_files: vec![ferrock_format::version_edit::DeletedFile { level: 0, number: flushed.number }],
        ..adding(0, new_file(&version_set, 1, "a..b", 1))
    };
    version_set.log_and_apply(vec![compaction]).unwrap();
    assert_eq!(told(&mut manifest), 0);
    assert_eq!((manifest.oldest_needed_log(), manifest.newest_log_number()), (FileNumber(9), FileNumber(9)));
    version_set.log_and_apply(vec![adding(0, new_file(&version_set, 0, "c..d", 5))]).unwrap();
    assert_eq!(told(&mut manifest), 1, "tables that no log has");
    let id = version_set.create_column_family("other", options(), FileNumber(12)).unwrap();
    version_set.log_and_apply(vec![adding(id, new_file(&version_set, 0, "e..f", 6))]).unwrap();
    assert_eq!(told(&mut manifest), 2, "a family, and its tables");
    assert_eq!(now(&manifest).unwrap(), describe(&version_set));
    assert_eq!((manifest.oldest_needed_log(), manifest.newest_log_number()), (FileNumber(9), FileNumber(12)));
    version_set.drop_column_family(id, LogRelease::default()).unwrap();
    assert_eq!(told(&mut manifest), 1);
    assert_eq!(told(&mut manifest), 0);
}
