//! One suite over every file system and every way of reading and writing: the contracts of `FileSystem`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::pattern;
use ferrock_base::ErrorKind;
use ferrock_vfs::{
    FileSystem, IoPriority, MemoryFileSystem, PosixFileSystem, RandomAccessOptions, RangeRead, RateLimiter,
    ReadContext, ReadLabel, SequentialOptions, WritableOptions, WritePurpose, copy_file, read_file, read_ranges,
    write_file_atomically,
};
use parking_lot::Mutex;

#[derive(Clone, Copy, Debug)]
struct Setup {
    write: WritableOptions,
    read: RandomAccessOptions,
    sequential: SequentialOptions,
}

fn setups() -> Vec<Setup> {
    let base = WritableOptions::for_purpose(WritePurpose::Table);
    let writes = [
        base,
        WritableOptions { buffer_bytes: 0, ..base },
        WritableOptions { buffer_bytes: 1000, preallocate_bytes: 100_000, bytes_per_sync: 8192, ..base },
        WritableOptions { direct: true, buffer_bytes: 8192, preallocate_bytes: 1 << 16, ..base },
        WritableOptions { direct: true, buffer_bytes: 0, ..base },
        WritableOptions { mapped_append: true, ..base },
        WritableOptions { mapped_append: true, preallocate_bytes: 1, bytes_per_sync: 10_000, ..base },
    ];
    let reads = [
        RandomAccessOptions::default(),
        RandomAccessOptions { advise_random: true, ..Default::default() },
        RandomAccessOptions { direct: true, ..Default::default() },
        RandomAccessOptions { mmap: true, ..Default::default() },
    ];
    let mut setups = Vec::new();
    for (index, write) in writes.into_iter().enumerate() {
        for read in reads {
            let sequential = SequentialOptions { direct: index % 2 == 1, buffer_bytes: (index % 3) * 3000 };
            setups.push(Setup { write, read, sequential });
        }
    }
    setups
}

/// Runs a check on every file system, each time in an empty directory.
fn everywhere(check: impl Fn(&dyn FileSystem, &Path)) {
    for backend in ["pread", "io_uring"] {
        if backend == "io_uring" && !common::io_uring_works() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        check(&PosixFileSystem::with_backend(Some(backend)), dir.path());
    }
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/db")).unwrap();
    check(&memory, Path::new("/db"));
}

fn everywhere_with_setups(check: impl Fn(&dyn FileSystem, &Path, Setup)) {
    everywhere(|file_system, dir| {
        for (index, setup) in setups().into_iter().enumerate() {
            let dir = dir.join(format!("setup{index}"));
            file_system.create_dir_all(&dir).unwrap();
            check(file_system, &dir, setup);
        }
    });
}

#[test]
fn what_is_appended_is_read_back() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("000001.sst");
        let contents = pattern(200_000, 7);
        let mut file = file_system.create_writable(&path, &setup.write).unwrap();
        let mut at = 0;
        for (index, step) in [1, 0, 511, 512, 513, 4096, 100, 70_000, 3, 8192, 60_000].into_iter().enumerate() {
            file.append(&contents[at..at + step]).unwrap();
            at += step;
            assert_eq!(file.size(), at as u64, "{setup:?}");
            match index % 3 {
                0 => file.flush().unwrap(),
                1 => file.sync().unwrap(),
                _ => continue,
            }
            assert_eq!(file.size(), at as u64, "{setup:?}");
            let mut seen = read_file(file_system, &path).unwrap();
            assert!(seen.len() >= at && seen[at..].iter().all(|&byte| byte == 0), "{setup:?}: tail of zeros");
            seen.truncate(at);
            assert!(seen == contents[..at], "{setup:?}: flushed bytes are seen");
        }
        file.append(&contents[at..]).unwrap();
        file.close().unwrap();
        file.close().unwrap();
        assert_eq!(file.size(), contents.len() as u64);
        assert!(file.append(b"x").is_err(), "append after close");
        assert_eq!(file_system.file_size(&path).unwrap(), contents.len() as u64, "{setup:?}: no tail after close");
        assert!(read_file(file_system, &path).unwrap() == contents, "{setup:?}");
        check_random_reads(file_system, &path, &contents, setup);
        check_sequential_reads(file_system, &path, &contents, setup);
    });
}

fn check_random_reads(file_system: &dyn FileSystem, path: &Path, contents: &[u8], setup: Setup) {
    let file = file_system.open_random_access(path, &setup.read).unwrap();
    assert_eq!(file.size(), contents.len() as u64);
    assert_eq!(file.path(), path);
    file.prefetch(0, 1 << 40);
    file.prefetch(u64::MAX, u64::MAX);
    let length = contents.len();
    let ranges = [
        (0, 0),
        (0, 1),
        (0, 4096),
        (512, 512),
        (513, 100_000),
        (0, length),
        (length - 1, 10),
        (length, 5),
        (length - 4097, 8192),
    ];
    for (offset, wanted) in ranges {
        let mut buffer = vec![0xEE; wanted];
        let read = file.read_at(offset as u64, &mut buffer, ReadLabel::default()).unwrap();
        assert_eq!(read, wanted.min(length - offset), "{setup:?}");
        assert!(buffer[..read] == contents[offset..offset + read], "{setup:?}");
        let inside = offset + wanted <= length;
        if let Some(bytes) = file.mapping() {
            assert_eq!(bytes.get(offset..offset + wanted), inside.then(|| &contents[offset..offset + wanted]));
        }
    }
    assert_eq!(file.read_at(u64::MAX, &mut [0; 16], ReadLabel::default()).unwrap(), 0);
    assert_eq!(file.read_at(length as u64 + 100_000, &mut [0; 16], ReadLabel::default()).unwrap(), 0);
    assert!(file.mapping().is_none_or(|bytes| bytes.len() == length));
}

fn check_sequential_reads(file_system: &dyn FileSystem, path: &Path, contents: &[u8], setup: Setup) {
    let mut file = file_system.open_sequential(path, &setup.sequential).unwrap();
    let mut buffer = vec![0; 10_000];
    assert_eq!(file.read(&mut buffer[..10]).unwrap(), 10);
    assert!(buffer[..10] == contents[..10]);
    file.skip(9_001).unwrap();
    assert_eq!(file.read(&mut buffer).unwrap(), 10_000);
    assert!(buffer == contents[9_011..19_011]);
    let mut seen = 19_011;
    loop {
        let read = file.read(&mut buffer[..7777]).unwrap();
        assert!(buffer[..read] == contents[seen..seen + read], "{setup:?}");
        seen += read;
        if read == 0 {
            break;
        }
    }
    assert_eq!(seen, contents.len());
    file.skip(u64::MAX).unwrap();
    assert_eq!(file.read(&mut buffer).unwrap(), 0);
}

#[test]
fn a_reopened_file_goes_on_at_its_end() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("LOG");
        let contents = pattern(30_000, 3);
        let mut at = 0;
        for (index, step) in [5000, 7, 4096 - 911, 9000].into_iter().enumerate() {
            let mut file = if index == 0 {
                file_system.create_writable(&path, &setup.write).unwrap()
            } else {
                file_system.reopen_writable(&path, &setup.write).unwrap()
            };
            assert_eq!(file.size(), at as u64);
            file.append(&contents[at..at + step]).unwrap();
            at += step;
            // Half of them are dropped without a close, which must do the same.
            if index % 2 == 0 {
                file.close().unwrap();
            }
        }
        assert!(read_file(file_system, &path).unwrap() == contents[..at], "{setup:?}");
        drop(file_system.create_writable(&path, &setup.write).unwrap());
        assert_eq!(file_system.file_size(&path).unwrap(), 0, "creating truncates");
        let missing = file_system.reopen_writable(&dir.join("missing"), &setup.write).unwrap_err();
        assert!(missing.is_not_found(), "{missing}");
    });
}

#[test]
fn empty_files_can_be_read() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("empty");
        let mut file = file_system.create_writable(&path, &setup.write).unwrap();
        file.sync().unwrap();
        file.close().unwrap();
        let file = file_system.open_random_access(&path, &setup.read).unwrap();
        assert_eq!((file.size(), file.read_at(0, &mut [0; 8], ReadLabel::default()).unwrap()), (0, 0));
        assert_eq!(read_file(file_system, &path).unwrap(), b"");
    });
}

#[test]
fn names_behave() {
    everywhere(|file_system, dir| {
        let (a, b, c) = (dir.join("a"), dir.join("b"), dir.join("c"));
        write(file_system, &a, b"one");
        write(file_system, &b, b"two two");
        assert!(file_system.exists(&a).unwrap() && !file_system.exists(&c).unwrap());
        assert!(file_system.exists(dir).unwrap());
        assert_eq!(file_system.children(dir).unwrap(), ["a", "b"]);
        file_system.rename(&a, &b).unwrap();
        assert_eq!(file_system.children(dir).unwrap(), ["b"]);
        assert_eq!(read_file(file_system, &b).unwrap(), b"one");
        file_system.hard_link(&b, &c).unwrap();
        assert!(file_system.hard_link(&b, &c).is_err(), "a link does not replace");
        file_system.remove_file(&b).unwrap();
        assert_eq!(read_file(file_system, &c).unwrap(), b"one");
        file_system.truncate(&c, 2).unwrap();
        assert_eq!(file_system.file_size(&c).unwrap(), 2);
        file_system.truncate(&c, 4).unwrap();
        assert_eq!(read_file(file_system, &c).unwrap(), b"on\0\0");
        let nested = dir.join("x/y/z");
        file_system.create_dir_all(&nested).unwrap();
        file_system.create_dir_all(&nested).unwrap();
        assert!(file_system.remove_dir(&dir.join("x")).is_err(), "not empty");
        file_system.remove_dir(&nested).unwrap();
        assert!(!file_system.exists(&nested).unwrap());
        file_system.sync_dir(dir).unwrap();
        assert!(file_system.free_space(dir).unwrap() > 0);
        assert!(!file_system.is_read_only(dir).unwrap());
        assert!(file_system.modified_unix_seconds(&c).is_ok());
        write_file_atomically(file_system, &dir.join("CURRENT"), &dir.join("tmp"), b"MANIFEST-1\n").unwrap();
        write_file_atomically(file_system, &dir.join("CURRENT"), &dir.join("tmp"), b"MANIFEST-2\n").unwrap();
        assert_eq!(read_file(file_system, &dir.join("CURRENT")).unwrap(), b"MANIFEST-2\n");
        assert!(!file_system.exists(&dir.join("tmp")).unwrap());
        let (from, to) = ((file_system, &*dir.join("CURRENT")), (file_system, &*dir.join("copy")));
        let copied = copy_file(from, to, Some(8), &WritableOptions::default());
        assert_eq!(copied.unwrap(), 8);
        assert_eq!(read_file(file_system, &dir.join("copy")).unwrap(), b"MANIFEST");
    });
}

fn write(file_system: &dyn FileSystem, path: &Path, contents: &[u8]) {
    ferrock_vfs::write_file_synced(file_system, path, contents).unwrap();
}

#[test]
fn missing_files_are_not_found_and_named() {
    everywhere(|file_system, dir| {
        let path = dir.join("no-such-file");
        let errors = [
            file_system.open_random_access(&path, &RandomAccessOptions::default()).map(drop).unwrap_err(),
            file_system.open_sequential(&path, &SequentialOptions::default()).map(drop).unwrap_err(),
            file_system.remove_file(&path).unwrap_err(),
            file_system.rename(&path, &dir.join("other")).unwrap_err(),
            file_system.hard_link(&path, &dir.join("other")).unwrap_err(),
            file_system.file_size(&path).unwrap_err(),
            file_system.modified_unix_seconds(&path).unwrap_err(),
            file_system.truncate(&path, 0).unwrap_err(),
            file_system.children(&path).unwrap_err(),
            file_system.remove_dir(&path).unwrap_err(),
            file_system.sync_dir(&path).unwrap_err(),
            file_system.create_writable(&path.join("child"), &WritableOptions::default()).map(drop).unwrap_err(),
            file_system.lock_file(&path.join("LOCK")).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(error.is_not_found(), "{error}");
            assert!(error.to_string().contains("no-such-file"), "{error}");
        }
        assert!(file_system.open_random_access(dir, &RandomAccessOptions::default()).is_err(), "a directory");
    });
}

#[test]
fn open_handles_outlive_names() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("000009.sst");
        write(file_system, &path, b"still here");
        let file = file_system.open_random_access(&path, &setup.read).unwrap();
        file_system.remove_file(&path).unwrap();
        let mut buffer = [0; 10];
        assert_eq!(file.read_at(0, &mut buffer, ReadLabel::default()).unwrap(), 10);
        assert_eq!(&buffer, b"still here");
    });
}

#[test]
fn a_second_locker_is_refused() {
    everywhere(|file_system, dir| {
        let path = dir.join("LOCK");
        let lock = file_system.lock_file(&path).unwrap();
        assert_eq!(lock.path(), path);
        for _ in 0..2 {
            let error = file_system.lock_file(&path).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
            assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        }
        drop(lock);
        drop(file_system.lock_file(&path).unwrap());
    });
}

#[test]
fn batches_read_what_single_reads_do() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("000002.sst");
        let contents = pattern(100_000, 5);
        write(file_system, &path, &contents);
        let empty = dir.join("empty");
        write(file_system, &empty, b"");
        let file = file_system.open_random_access(&path, &setup.read).unwrap();
        let nothing = file_system.open_random_access(&empty, &setup.read).unwrap();
        // More than the depth of any queue, with overlaps, ends, and places where nothing is.
        let mut reads: Vec<RangeRead<'_>> = (0..301)
            .map(|index| match (index % 50, (index * 37) % 9000) {
                (49, length) => RangeRead::new(&nothing, 0, length),
                (48, length) => RangeRead::new(&file, u64::MAX - 5, length),
                (47, length) => RangeRead::new(&file, 99_990, length),
                (_, length) => RangeRead::new(&file, (index * 512) as u64, length),
            })
            .collect();
        let before = file_system.counters().snapshot();
        read_ranges(file_system, &mut reads, &ReadContext::default());
        let after = file_system.counters().snapshot();
        assert_eq!(after.batches - before.batches, 1);
        let mut total = 0;
        for read in &reads {
            let bytes = read.result.as_ref().unwrap().bytes();
            total += bytes.len();
            let mut single = vec![0xEE; read.length];
            assert_eq!(read.file.read_at(read.offset, &mut single, ReadLabel::default()).unwrap(), bytes.len());
            assert!(single[..bytes.len()] == *bytes, "{setup:?}");
        }
        assert!(total > 500_000);
    });
}

#[test]
fn streams_read_what_single_reads_do() {
    everywhere_with_setups(|file_system, dir, setup| {
        let path = dir.join("000002.sst");
        let contents = pattern(300_000, 7);
        write(file_system, &path, &contents);
        let file = file_system.open_random_access(&path, &setup.read).unwrap();
        // Nothing, one, some, and more than the depth of any queue; ends, and places where nothing is.
        for count in [0usize, 1, 5, 64, 301] {
            let place = |index: usize| match index % 50 {
                49 => (0, 0),
                48 => (u64::MAX - 5, 10),
                47 => (299_990, 100),
                _ => ((index * 977) as u64, 1 + (index * 37) % 9000),
            };
            let before = file_system.counters().snapshot();
            let mut stream = file_system.read_stream(&ReadContext::default());
            for index in 0..count {
                let (offset, length) = place(index);
                stream.add(&file, offset, length, ReadLabel::default(), index);
                if index % 7 == 3 {
                    stream.start();
                }
            }
            let mut seen = vec![false; count];
            while stream.take(&mut |tag, bytes| {
                let (offset, length) = place(tag);
                let start = usize::try_from(offset).unwrap().min(contents.len());
                let end = (start + length).min(contents.len());
                assert!(bytes.unwrap().bytes() == &contents[start..end], "{setup:?}: read {tag} of {count}");
                assert!(!std::mem::replace(&mut seen[tag], true), "handed out twice");
            }) {}
            assert!(seen.iter().all(|&seen| seen), "{setup:?}: {count}");
            let after = file_system.counters().snapshot();
            assert_eq!(after.batches - before.batches, u64::from(count > 0));
            assert_eq!(after.batch_requests - before.batch_requests, count as u64);
        }
        // One that is dropped with reads on their way, and another that gets the same memory.
        for started in [false, true] {
            let mut stream = file_system.read_stream(&ReadContext::default());
            (0..100).for_each(|index| stream.add(&file, index * 1001, 4096, ReadLabel::default(), 0));
            if started {
                stream.start();
                assert!(stream.take(&mut |_, bytes| assert_eq!(bytes.unwrap().len(), 4096)));
            }
            drop(stream);
            let mut stream = file_system.read_stream(&ReadContext::default());
            stream.add(&file, 5000, 300, ReadLabel::default(), 9);
            assert!(
                stream.take(&mut |tag, bytes| assert_eq!((tag, bytes.unwrap().bytes()), (9, &contents[5000..5300])))
            );
            assert!(!stream.take(&mut |_, _| panic!("nothing is left")));
        }
    });
}

#[test]
fn requests_and_bytes_are_counted() {
    everywhere(|file_system, dir| {
        let path = dir.join("000003.log");
        let options = WritableOptions { buffer_bytes: 100, ..WritableOptions::for_purpose(WritePurpose::Log) };
        let before = file_system.counters().snapshot();
        let mut file = file_system.create_writable(&path, &options).unwrap();
        for _ in 0..10 {
            file.append(&[1; 30]).unwrap();
        }
        file.sync().unwrap();
        file.sync().unwrap();
        file.close().unwrap();
        let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).unwrap();
        file.read_at(0, &mut [0; 50], ReadLabel::default()).unwrap();
        file.read_at(290, &mut [0; 50], ReadLabel::default()).unwrap();
        file_system.sync_dir(dir).unwrap();
        let after = file_system.counters().snapshot();
        let log = after.purpose(WritePurpose::Log);
        assert_eq!((log.append_requests, log.append_bytes, log.syncs, log.files_created), (10, 300, 2, 1));
        assert_eq!(log.write_bytes, 300);
        assert!(log.write_calls >= 1 && log.write_calls <= 10);
        assert_eq!(after.purpose(WritePurpose::Table), before.purpose(WritePurpose::Table));
        assert_eq!(after.read_requests - before.read_requests, 2);
        assert_eq!(after.read_bytes - before.read_bytes, 60);
        assert_eq!(after.dir_syncs - before.dir_syncs, 1);
        assert_eq!(after.opens - before.opens, 1);
        assert_eq!((after.append_bytes(), after.syncs()), (300, 2));
    });
}

#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(u64, IoPriority)>>);

impl RateLimiter for Recorder {
    fn request(&self, bytes: u64, priority: IoPriority) {
        self.0.lock().push((bytes, priority));
    }
}

#[test]
fn the_rate_limiter_is_asked_for_every_byte() {
    everywhere_with_setups(|file_system, dir, setup| {
        let recorder = Arc::new(Recorder::default());
        let mut file = file_system.create_writable(&dir.join("limited"), &setup.write).unwrap();
        file.set_rate_limiter(Some(Arc::<Recorder>::clone(&recorder)), IoPriority::Low);
        for _ in 0..5 {
            file.append(&[9; 3000]).unwrap();
        }
        file.close().unwrap();
        let asked = recorder.0.lock();
        let total: u64 = asked.iter().map(|&(bytes, _)| bytes).sum();
        assert!((15_000..15_000 + 4096).contains(&total), "{total} {setup:?}");
        assert!(asked.iter().all(|&(_, priority)| priority == IoPriority::Low));
    });
}

#[test]
fn direct_and_mapped_reads_exclude_each_other() {
    everywhere(|file_system, dir| {
        write(file_system, &dir.join("file"), b"x");
        let options = RandomAccessOptions { direct: true, mmap: true, ..Default::default() };
        let error = file_system.open_random_access(&dir.join("file"), &options).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    });
}
