//! Making backups: names, sharing, options, progress, writers meanwhile.

use crate::world::*;
use ferrock::backup::{BackupEngine, CreateBackupOptions, ShareFilesNaming};
use ferrock::{ErrorKind, WriteBatch, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn each_backup_holds_its_moment_and_shares_what_did_not_change() {
    let world = World::new();
    let engine = world.engine();
    let mut expected = Vec::new();
    for round in 0..4 {
        world.write(round * 50..round * 50 + 100, ["one", "two", "three", "four"][round]);
        if round % 2 == 0 {
            world.flush();
        }
        let options = CreateBackupOptions { app_metadata: vec![round as u8; round * 7], ..Default::default() };
        let id = engine.create_backup(&world.db, &options).unwrap();
        assert_eq!(id as usize, round + 1);
        expected.push(world.contents());
        let info = engine.backup_info(id).unwrap();
        assert_eq!(info.app_metadata, options.app_metadata);
        assert_eq!(info, engine.latest_backup_info().unwrap());
        let files = engine.backup_files(id).unwrap();
        assert_eq!(info.number_files as usize, files.len());
        assert_eq!(info.size, files.iter().map(|file| file.size).sum::<u64>());
    }
    // Rounds 1 and 3 flushed nothing: they have the tables of the round before and no others.
    let shared = |id| {
        let mut names: Vec<String> =
            engine.backup_files(id).unwrap().into_iter().map(|file| file.relative_filename).collect();
        names.retain(|name| name.starts_with("shared_checksum/"));
        names.sort();
        names
    };
    assert_eq!(shared(1), shared(2));
    assert_eq!(shared(3), shared(4));
    assert!(shared(1).iter().all(|name| shared(3).contains(name)) && shared(1).len() < shared(3).len());
    assert!(shared(1).iter().any(|name| name.ends_with(".blob")));
    // An engine that is opened later knows the same.
    let later = world.engine();
    assert_eq!(later.backup_infos(), engine.backup_infos());
    assert_eq!(files_named(&later), files_of_backups(&world.files));
    for (id, expected) in (1..).zip(&expected) {
        later.verify_backup(id, true).unwrap();
        assert_eq!(&restored(&later, &world.files, id), expected, "backup {id}");
    }
}

/// Bytes that a second backup writes.
fn bytes_of_a_second_backup(naming: Option<ShareFilesNaming>, checksums: bool) -> (u64, Vec<String>) {
    let world = World::new();
    world.write(0..200, "value");
    world.flush();
    let mut options = engine_options(&world.files);
    options.share_table_files = naming.is_some();
    options.share_files_with_checksum = checksums;
    options.share_files_with_checksum_naming = naming.unwrap_or_default();
    let engine = BackupEngine::open(options).unwrap();
    world.back_up(&engine);
    let before = files_of_backups(&world.files);
    world.files.set_tracing(true);
    world.back_up(&engine);
    let trace = world.files.trace();
    world.files.set_tracing(false);
    let appended = trace.iter().filter_map(|line| line.strip_prefix("append ")?.split_once(' '));
    let tables = appended.filter(|(name, _)| name.contains(".sst") || name.contains(".blob"));
    let bytes = tables.map(|(_, bytes)| bytes.parse::<u64>().unwrap()).sum();
    assert_eq!(restored(&engine, &world.files, 2), world.contents());
    (bytes, before)
}

#[test]
fn every_naming_shares_and_none_shares_nothing() {
    for (naming, part) in [
        (ShareFilesNaming::Checksum, "shared_checksum/"),
        (ShareFilesNaming::DbSessionId, "shared_checksum/"),
        (ShareFilesNaming::DbSessionIdAndSize, "shared_checksum/"),
    ] {
        let (bytes, names) = bytes_of_a_second_backup(Some(naming), true);
        assert_eq!(bytes, 0, "{naming:?}");
        let table = names.iter().find(|name| name.ends_with(".sst")).unwrap();
        let parts: Vec<&str> = table.strip_prefix(part).unwrap().trim_end_matches(".sst").split('_').collect();
        match naming {
            ShareFilesNaming::Checksum => assert!(parts.len() == 3 && parts[1].parse::<u32>().is_ok(), "{table}"),
            ShareFilesNaming::DbSessionId => assert!(parts.len() == 2 && parts[1].len() == 21, "{table}"),
            ShareFilesNaming::DbSessionIdAndSize => assert!(parts.len() == 3 && parts[1].len() == 21, "{table}"),
        }
        assert_eq!(ShareFilesNaming::from_bits(naming.bits()).unwrap(), naming);
    }
    let (bytes, names) = bytes_of_a_second_backup(Some(ShareFilesNaming::default()), false);
    assert_eq!(bytes, 0);
    assert!(names.iter().any(|name| name.starts_with("shared/0")), "{names:?}");
    let (bytes, names) = bytes_of_a_second_backup(None, true);
    assert!(bytes > 0);
    assert!(names.iter().all(|name| name.starts_with("private/1/")), "{names:?}");
    assert_eq!(ShareFilesNaming::from_bits(3).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn backups_under_writes_hold_a_prefix_of_them() {
    let world = World::with(|options| options.max_background_jobs = 4);
    world.write(0..50, "before");
    let mut options = engine_options(&world.files);
    options.max_background_operations = 3;
    let engine = BackupEngine::open(options).unwrap();
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut backups = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(7);
            for number in 1_u64.. {
                // The same number goes to both families.
                let mut batch = WriteBatch::new();
                for family in &world.families {
                    let value = vec![b'v'; random.below(500) as usize];
                    batch.put_cf(family.id(), format!("n{number:08}").as_bytes(), &value).unwrap();
                }
                world.db.write(batch, &WriteOptions::default()).unwrap();
                acknowledged.store(number, Ordering::Release);
                if number % 200 == 0 {
                    world.flush();
                }
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for family in &world.families {
                    world.db.compact_range_cf(family, None, None, &ferrock::CompactRangeOptions::default()).unwrap();
                }
            }
        });
        for round in 0..8 {
            let before = acknowledged.load(Ordering::Acquire);
            let options = CreateBackupOptions { flush_before_backup: round % 2 == 1, ..Default::default() };
            let id = engine.create_backup(&world.db, &options).unwrap();
            backups.push((id, before, acknowledged.load(Ordering::Acquire)));
        }
        stop.store(true, Ordering::Relaxed);
    });
    for (id, before, after) in backups {
        engine.verify_backup(id, true).unwrap();
        let contents = restored(&engine, &world.files, id);
        let numbers =
            |family: usize| -> Vec<Vec<u8>> { contents[family].keys().filter(|key| key[0] == b'n').cloned().collect() };
        assert_eq!(numbers(0), numbers(1), "backup {id}");
        let held = numbers(0).len() as u64;
        // A batch may be there before its writer knows.
        assert!((before..=after + 1).contains(&held), "backup {id}: {held} of {before} to {after}");
        let last = numbers(0).pop().map(|key| String::from_utf8(key).unwrap());
        assert_eq!(last, (held > 0).then(|| format!("n{held:08}")), "backup {id} has a gap");
    }
}

#[test]
fn without_logs_everything_is_flushed() {
    for atomic_flush in [false, true] {
        let world = World::new();
        world.write(0..60, "logged");
        let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        world.db.put_cf(&world.families[1], b"unlogged", b"value", &unlogged).unwrap();
        let mut options = engine_options(&world.files);
        options.backup_log_files = false;
        let engine = BackupEngine::open(options).unwrap();
        let options = CreateBackupOptions { atomic_flush, ..Default::default() };
        let id = engine.create_backup(&world.db, &options).unwrap();
        let files = engine.backup_files(id).unwrap();
        assert!(files.iter().all(|file| !file.relative_filename.ends_with(".log")), "{files:?}");
        assert_eq!(restored(&engine, &world.files, id), world.contents());
    }
}

#[test]
fn progress_is_told_and_a_stop_ends_it() {
    let world = World::new();
    world.write(0..400, "value");
    world.flush();
    let mut options = engine_options(&world.files);
    options.callback_trigger_interval_size = 1000;
    options.io_buffer_size = 512;
    options.max_background_operations = 2;
    let engine = Arc::new(BackupEngine::open(options.clone()).unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let create = CreateBackupOptions {
        progress: Some(Arc::new(move |progress| seen.lock().unwrap().push(progress))),
        ..Default::default()
    };
    for _ in 0..2 {
        let id = engine.create_backup(&world.db, &create).unwrap();
        let told = std::mem::take(&mut *told.lock().unwrap());
        let last = told.last().unwrap();
        let info = engine.backup_info(id).unwrap();
        assert_eq!((last.files_done, last.files), (u64::from(info.number_files), u64::from(info.number_files)));
        assert_eq!((last.bytes_done, last.bytes), (info.size, info.size));
        assert!(told.windows(2).all(|pair| pair[0].bytes_done <= pair[1].bytes_done));
    }
    let before = files_of_backups(&world.files);
    let stopping = Arc::clone(&engine);
    world.write(400..500, "more");
    world.flush();
    let create =
        CreateBackupOptions { progress: Some(Arc::new(move |_| stopping.stop_backup())), ..Default::default() };
    let error = engine.create_backup(&world.db, &create).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
    let error = engine.create_backup(&world.db, &CreateBackupOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "a stop is for good: {error}");
    assert_eq!(files_of_backups(&world.files), before, "nothing of it is left");
    let engine = BackupEngine::open(options).unwrap();
    assert_eq!(world.back_up(&engine), 3);
    assert_eq!(restored(&engine, &world.files, 3), world.contents());
}

#[test]
fn a_limiter_is_asked_for_what_is_written_and_nothing_else() {
    #[derive(Debug, Default)]
    struct Counting(AtomicU64);
    impl ferrock_vfs::RateLimiter for Counting {
        fn request(&self, bytes: u64, _: ferrock_vfs::IoPriority) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    let world = World::new();
    world.write(0..100, "value");
    world.flush();
    let (backing, restoring) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
    let mut options = engine_options(&world.files);
    options.backup_rate_limiter = Some(Arc::clone(&backing) as _);
    options.restore_rate_limiter = Some(Arc::clone(&restoring) as _);
    let engine = BackupEngine::open(options).unwrap();
    let id = world.back_up(&engine);
    let size = engine.backup_info(id).unwrap().size;
    // CURRENT is written and not copied.
    assert_eq!(backing.0.load(Ordering::Relaxed), size - 16);
    engine.verify_backup(id, true).unwrap();
    restored(&engine, &world.files, id);
    // OPTIONS is rewritten and not copied.
    let files = engine.backup_files(id).unwrap();
    let options = files.iter().find(|file| file.relative_filename.contains("OPTIONS")).unwrap().size;
    assert_eq!(restoring.0.load(Ordering::Relaxed), size - options);
    assert_eq!(backing.0.load(Ordering::Relaxed), size - 16);
}

#[test]
fn engines_see_what_others_wrote_before_they_write() {
    let world = World::new();
    world.write(0..10, "value");
    let (first, second) = (world.engine(), world.engine());
    assert_eq!(world.back_up(&first), 1);
    assert_eq!(world.back_up(&second), 2);
    assert_eq!(world.back_up(&first), 3);
    second.delete_backup(3).unwrap();
    second.delete_backup(1).unwrap();
    assert_eq!(world.back_up(&first), 4, "an engine gives no number twice");
    let ids: Vec<u32> = world.engine().backup_infos().iter().map(|info| info.backup_id).collect();
    assert_eq!(ids, [2, 4]);
    let lock = world.files.lock_file(&path_of("BACKUP_LOCK")).unwrap();
    let error = first.garbage_collect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    drop(lock);
    first.garbage_collect().unwrap();
}

#[test]
fn engines_that_read_change_nothing_and_see_as_many_as_they_want() {
    let world = World::new();
    let missing = BackupEngine::open_read_only(engine_options(&world.files)).unwrap_err();
    assert!(missing.is_not_found() || missing.kind() == ErrorKind::NotFound, "{missing}");
    world.write(0..10, "value");
    let engine = world.engine();
    for _ in 0..4 {
        world.back_up(&engine);
    }
    let mut options = engine_options(&world.files);
    options.max_valid_backups_to_open = 2;
    let reader = BackupEngine::open_read_only(options.clone()).unwrap();
    let ids: Vec<u32> = reader.backup_infos().iter().map(|info| info.backup_id).collect();
    assert_eq!(ids, [3, 4]);
    assert_eq!(reader.backup_info(1).unwrap_err().kind(), ErrorKind::NotFound);
    for error in [
        reader.create_backup(&world.db, &CreateBackupOptions::default()).unwrap_err(),
        reader.delete_backup(3).unwrap_err(),
        reader.purge_old_backups(0).unwrap_err(),
        reader.garbage_collect().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    }
    options.destroy_old_data = true;
    assert_eq!(BackupEngine::open_read_only(options.clone()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(restored(&reader, &world.files, 4), world.contents());
    let engine = BackupEngine::open(options).unwrap();
    assert_eq!((engine.backup_infos().len(), files_of_backups(&world.files).len()), (0, 0));
    assert_eq!(world.back_up(&engine), 1);
}

#[test]
fn removing_leaves_what_others_need_and_what_is_not_ours() {
    let world = World::new();
    let engine = world.engine();
    for round in 0..4 {
        world.write(round * 20..round * 20 + 40, "value");
        world.flush();
        world.back_up(&engine);
    }
    for name in ["notes.txt", "meta/notes", "shared_checksum/README", "private/2/notes", "private/x"] {
        ferrock_vfs::write_file_synced(&world.files, &path_of(name), b"mine").unwrap();
    }
    ferrock_vfs::write_file_synced(&world.files, &path_of("shared_checksum/.000099_1_2.sst.tmp"), b"left").unwrap();
    ferrock_vfs::write_file_synced(&world.files, &path_of("shared_checksum/000099_1_2.sst"), b"12").unwrap();
    let report = engine.garbage_collect().unwrap();
    assert_eq!((report.files, report.bytes), (2, 6), "{report:?}");
    let report = engine.delete_backup(2).unwrap();
    assert_eq!(report.backups, [2]);
    assert_eq!(engine.delete_backup(2).unwrap_err().kind(), ErrorKind::NotFound);
    let report = engine.purge_old_backups(1).unwrap();
    assert_eq!((&report.backups[..], report.kept_for.len()), (&[1, 3][..], 0));
    let mut expected = files_named(&engine);
    expected.extend(["notes.txt", "shared_checksum/README", "private/2/notes", "private/x"].map(str::to_owned));
    expected.sort();
    assert_eq!(files_of_backups(&world.files), expected);
    assert!(world.files.exists(&path_of("meta/notes")).unwrap());
    assert!(!world.files.exists(Path::new("/data/backups/private/1")).unwrap());
    assert_eq!(restored(&engine, &world.files, 4), world.contents());
    assert_eq!(engine.purge_old_backups(0).unwrap().backups, [4]);
    assert_eq!(engine.latest_backup_info().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn options_out_of_their_bounds_are_named() {
    let world = World::new();
    let refused = |change: fn(&mut ferrock::backup::BackupEngineOptions), part: &str| {
        let mut options = engine_options(&world.files);
        change(&mut options);
        let error = BackupEngine::open(options).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(|options| options.backup_dir = "".into(), "backup_dir");
    refused(|options| options.max_background_operations = 0, "from 1 to 1024");
    refused(|options| options.max_background_operations = 2000, "from 1 to 1024");
    refused(|options| options.io_buffer_size = 2 << 30, "at most 1073741824");
    refused(|options| options.schema_version = 0, "schema_version");
    refused(|options| options.schema_version = 3, "schema_version");
    refused(|options| options.current_temperatures_override_manifest = true, "temperatures");
    let engine = world.engine();
    let options = CreateBackupOptions { app_metadata: vec![0; (1 << 20) + 1], ..Default::default() };
    let error = engine.create_backup(&world.db, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let options = CreateBackupOptions { app_metadata: vec![255; 1 << 20], ..Default::default() };
    let id = engine.create_backup(&world.db, &options).unwrap();
    assert_eq!(world.engine().backup_info(id).unwrap().app_metadata.len(), 1 << 20);
}

/// Two databases took in the files of one writer in different orders: number, size and writer are the same.
#[test]
fn tables_from_outside_are_told_apart_by_their_contents() {
    let files = new_files();
    let options = db_options(&files);
    let mut writer = ferrock::SstFileWriter::new(&options, family_options());
    let tables = ["/data/a.sst", "/data/b.sst"];
    for table in tables {
        writer.open(table).unwrap();
        let tag = &table[6..7];
        (0..10).for_each(|number| writer.put(format!("{tag}{number}").as_bytes(), tag.as_bytes()).unwrap());
        writer.finish().unwrap();
    }
    assert_eq!(files.file_size(Path::new(tables[0])).unwrap(), files.file_size(Path::new(tables[1])).unwrap());
    let engine = BackupEngine::open(engine_options(&files)).unwrap();
    let mut expected = Vec::new();
    for (path, order) in [("/data/one", [0, 1]), ("/data/two", [1, 0])] {
        let (db, families) = open_at(path, options.clone()).unwrap();
        for index in order {
            db.ingest_external_file(&[tables[index]], &ferrock::IngestExternalFileOptions::default()).unwrap();
        }
        let id = engine.create_backup(&db, &CreateBackupOptions::default()).unwrap();
        expected.push((id, contents_of(&db, &families)));
    }
    for (id, contents) in expected {
        engine.verify_backup(id, true).unwrap();
        assert_eq!(restored(&engine, &files, id), contents, "backup {id}");
    }
}
