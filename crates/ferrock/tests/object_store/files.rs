//! The file system over a store.

use crate::stores::*;
use ferrock::backup::{ObjectStoreFileSystem, ObjectStoreOptions};
use ferrock::{ErrorKind, Result};
use ferrock_vfs::{FileSystem, RandomAccessOptions, SequentialOptions, WritableOptions, read_file};
use std::path::Path;
use std::sync::Arc;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

#[test]
fn files_of_every_size_come_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    for store in [in_memory(), in_directory(&directory)] {
        for (part_bytes, read_bytes) in [(1, 3), (7, 7), (8, 5), (1 << 20, 1 << 20)] {
            let options = ObjectStoreOptions { part_bytes, read_bytes, ..ObjectStoreOptions::default() };
            let files = ObjectStoreFileSystem::new(Arc::clone(&store), options).unwrap();
            for length in [0, 1, 6, 7, 8, 13, 14, 15, 100] {
                let (path, bytes) = (Path::new("/a/./file"), pattern(length));
                let mut file = files.create_writable(path, &WritableOptions::default()).unwrap();
                for piece in bytes.chunks(3) {
                    file.append(piece).unwrap();
                }
                file.flush().unwrap();
                file.sync().unwrap();
                assert_eq!(file.size(), length as u64);
                file.sync().unwrap();
                assert_eq!(file.append(b"more").unwrap_err().kind(), ErrorKind::NotSupported);
                file.close().unwrap();
                drop(file);
                assert_eq!(read_file(&files, path).unwrap(), bytes, "{length} bytes, {part_bytes} in a part");
                assert_eq!(files.file_size(path).unwrap(), length as u64);
                assert!(files.modified_unix_seconds(path).unwrap() > 1_600_000_000);
                for skipped in [0, 1, 5, 20, 200] {
                    let mut file = files.open_sequential(path, &SequentialOptions::default()).unwrap();
                    let (mut first, mut rest) = (vec![0; 2], vec![0; 200]);
                    let read = file.read(&mut first).unwrap();
                    file.skip(skipped as u64).unwrap();
                    let after = file.read(&mut rest).unwrap();
                    assert_eq!(first[..read], bytes[..length.min(2)]);
                    assert_eq!(rest[..after], bytes[(read + skipped).min(length)..]);
                    assert_eq!(file.read(&mut rest).unwrap(), 0);
                }
            }
            files.remove_file(Path::new("a/file")).unwrap();
        }
    }
}

#[test]
fn what_is_not_finished_is_not_there() {
    let store = in_memory();
    let files = files_in(&store);
    let path = Path::new("backups/db/file");
    for length in [10, 5000] {
        let mut file = files.create_writable(path, &WritableOptions::default()).unwrap();
        file.append(&pattern(length)).unwrap();
        file.flush().unwrap();
        assert!(!files.exists(path).unwrap());
        drop(file);
        assert!(!files.exists(path).unwrap());
    }
    // Over an object that is there.
    let write = |bytes: &[u8]| -> Result<()> {
        let mut file = files.create_writable(path, &WritableOptions::default())?;
        file.append(bytes)?;
        file.close()
    };
    write(b"old").unwrap();
    let mut file = files.create_writable(path, &WritableOptions::default()).unwrap();
    file.append(&pattern(5000)).unwrap();
    drop(file);
    assert_eq!(read_file(&files, path).unwrap(), b"old");
    write(b"new").unwrap();
    assert_eq!(read_file(&files, path).unwrap(), b"new");
    assert!(files.creates_whole_files());
}

#[test]
fn directories_are_there_as_long_as_they_have_objects() {
    let files = files_in(&in_memory());
    let path = |name: &str| Path::new("x/y").join(name);
    assert!(files.exists(Path::new(".")).unwrap() && files.exists(Path::new("/")).unwrap());
    assert!(files.children(Path::new("/")).unwrap().is_empty());
    assert!(!files.exists(Path::new("x")).unwrap());
    assert!(files.children(Path::new("x/y")).unwrap_err().is_not_found());
    assert!(files.list_files(Path::new("x/y")).unwrap_err().is_not_found());
    files.create_dir_all(Path::new("x/y")).unwrap();
    assert!(files.children(Path::new("x/y")).unwrap().is_empty());
    assert!(files.exists(Path::new("x")).unwrap());
    for (name, length) in [("b", 3), ("a", 1), ("c/d", 2), ("ab", 4)] {
        let mut file = files.create_writable(&path(name), &WritableOptions::default()).unwrap();
        file.append(&pattern(length)).unwrap();
        file.close().unwrap();
    }
    assert_eq!(files.children(Path::new("x/y")).unwrap(), ["a", "ab", "b", "c"]);
    let mut listed = files.list_files(Path::new("x/y")).unwrap().unwrap();
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    let listed: Vec<_> = listed.iter().map(|entry| (&entry.name[..], entry.size_bytes)).collect();
    assert_eq!(listed, [("a", 1), ("ab", 4), ("b", 3)]);
    files.remove_file(&path("c/d")).unwrap();
    assert!(!files.exists(&path("c")).unwrap());
    files.sync_dir(Path::new("x/y")).unwrap();
    assert!(files.open_sequential(&path("c/d"), &SequentialOptions::default()).unwrap_err().is_not_found());
    assert!(files.file_size(&path("none")).unwrap_err().is_not_found());
}

#[test]
fn what_backups_do_not_need_is_refused() {
    let files = files_in(&in_memory());
    let path = Path::new("a/b");
    for error in [
        files.rename(path, path).unwrap_err(),
        files.hard_link(path, path).unwrap_err(),
        files.truncate(path, 1).unwrap_err(),
        files.reopen_writable(path, &WritableOptions::default()).unwrap_err(),
        files.open_random_access(path, &RandomAccessOptions::default()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        assert!(error.to_string().contains("a/b"), "{error}");
    }
    for wrong in ["../a", "a/../b", "/"] {
        let error = files.create_writable(Path::new(wrong), &WritableOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}: {error}");
    }
    let options = ObjectStoreOptions { part_bytes: 0, ..ObjectStoreOptions::default() };
    let error = ObjectStoreFileSystem::new(in_memory(), options).unwrap_err();
    assert!(error.to_string().contains("part_bytes = 0"), "{error}");
}

#[test]
fn a_part_too_many_is_refused_with_what_to_do() {
    let options = ObjectStoreOptions { part_bytes: 1, ..ObjectStoreOptions::default() };
    let files = ObjectStoreFileSystem::new(in_memory(), options).unwrap();
    let mut file = files.create_writable(Path::new("a"), &WritableOptions::default()).unwrap();
    let error = file.append(&pattern(10_002)).unwrap_err();
    assert!(error.to_string().contains("part_bytes = 1"), "{error}");
    assert_eq!(file.close().unwrap_err().to_string(), error.to_string(), "the error stays");
    drop(file);
    assert!(!files.exists(Path::new("a")).unwrap());
    let mut file = files.create_writable(Path::new("a"), &WritableOptions::default()).unwrap();
    file.append(&pattern(10_000)).unwrap();
    file.close().unwrap();
    assert_eq!(files.file_size(Path::new("a")).unwrap(), 10_000);
}
