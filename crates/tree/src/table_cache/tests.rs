use super::*;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::thread::StdSpawner;
use ferrock_base::{SequenceNumber, ValueType};
use ferrock_format::version_edit::NewFile;
use ferrock_table::{BlockTableBuilder, TableBuilderParams};
use ferrock_vfs::{FaultInjectionFileSystem, MemoryFileSystem, WritableOptions, WritePurpose};
use std::path::PathBuf;

struct Fixture {
    file_system: Arc<dyn FileSystem>,
    files: Vec<Arc<FileMetadata>>,
}

/// Tables 1 to `count`, each with its number as the only key.
fn fixture(count: u64) -> Fixture {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    file_system.create_dir_all("/db".as_ref()).unwrap();
    let files = (1..=count).map(|number| Arc::new(FileMetadata::from(write_table(&*file_system, number)))).collect();
    Fixture { file_system, files }
}

fn write_table(file_system: &dyn FileSystem, number: u64) -> NewFile {
    let path = PathBuf::from("/db").join(file_name::table(FileNumber(number)));
    let file = file_system.create_writable(&path, &WritableOptions::for_purpose(WritePurpose::Table)).unwrap();
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.db_id = "a-database".to_owned();
    params.db_session_id = "0123456789ABCDEFGHIJ".to_owned();
    params.file_number = number;
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    let key = make_internal_key(&number.to_be_bytes(), SequenceNumber(number), ValueType::Value);
    builder.add(&key, b"value").unwrap();
    let summary = builder.finish().unwrap();
    let half = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    assert_ne!(summary.unique_id, [0; 16]);
    NewFile {
        number: FileNumber(number),
        size_bytes: summary.file_size,
        smallest: key.clone(),
        largest: key,
        unique_id: Some([half(&summary.unique_id[..8]), half(&summary.unique_id[8..])]),
        ..NewFile::default()
    }
}

fn cache(fixture: &Fixture, max_open_files: i32) -> Arc<TableCache> {
    cache_of(Arc::clone(&fixture.file_system), PathBuf::from("/db").into(), max_open_files)
}

fn cache_of(file_system: Arc<dyn FileSystem>, paths: TablePaths, max_open_files: i32) -> Arc<TableCache> {
    Arc::new(TableCache::new(TableCacheParams {
        file_system,
        paths,
        comparator: InternalComparator::default(),
        mutable: MutableTableCacheParams {
            table_options: Arc::default(),
            max_pinned_l0_file_size: u64::MAX,
            block_cache: None,
            prefix_extractor: None,
            plain_options: Arc::default(),
            protects_blocks: false,
        },
        cache_usage: Default::default(),
        bloom_locality: 0,
        file_options: RandomAccessOptions::default(),
        are_compactions_direct: false,
        verify_unique_id: true,
        open_tables: Arc::new(OpenTables::new(max_open_files, None)),
        read_limiter: None,
        read_stats: Arc::default(),
        num_levels: 7,
        statistics: None,
    }))
}

fn all(cache: &Arc<TableCache>, fixture: &Fixture) -> Vec<(Arc<TableCache>, Arc<FileMetadata>)> {
    fixture.files.iter().map(|file| (Arc::clone(cache), Arc::clone(file))).collect()
}

#[test]
fn a_table_is_opened_by_its_location_alone() {
    let fixture = fixture(1);
    let mut paths = TablePaths::from(PathBuf::from("/db"));
    let empty = Arc::new(MemoryFileSystem::new());
    let local = cache_of(empty.clone(), paths.clone(), -1);
    assert!(local.get(&fixture.files[0]).is_err(), "the database's own file system has no table");
    paths.elsewhere = Some(Arc::clone(&fixture.file_system));
    let cache = cache_of(empty, paths, -1);
    cache.get(&fixture.files[0]).unwrap();
}

#[test]
fn an_unbounded_cache_opens_each_table_once() {
    let fixture = fixture(20);
    let cache = cache(&fixture, -1);
    open_all(&StdSpawner, 4, all(&cache, &fixture)).unwrap();
    for file in &fixture.files {
        assert_eq!(file.statistics().unwrap().num_entries, 1);
        let first = cache.get(file).unwrap();
        assert!(first.is_same(&cache.get(file).unwrap()));
        assert!(matches!(cache.get_ref(file).unwrap(), TableRef::Borrowed(_)));
        assert_eq!(first.file_number(), file.number);
        fixture.file_system.remove_file(first.file_path()).unwrap();
        assert!(cache.get(file).is_ok(), "still open");
    }
}

#[test]
fn a_bounded_cache_keeps_its_bound_and_what_is_used() {
    let fixture = fixture(20);
    let cache = cache(&fixture, 5);
    let hot = &fixture.files[0];
    let table = cache.get(hot).unwrap();
    for file in &fixture.files[1..] {
        assert_eq!(cache.get(file).unwrap().file_number(), file.number);
        assert!(cache.get(hot).unwrap().is_same(&table), "used all the time, so never evicted");
        assert!(cache.params.open_tables.len() <= 5);
    }
    assert_eq!(cache.params.open_tables.len(), 5);
    assert!(cache.get_if_open(&fixture.files[1]).is_none());
    for file in &fixture.files {
        cache.evict(file.number);
        assert!(cache.get_if_open(file).is_none());
    }
    assert!(cache.params.open_tables.is_empty());
    assert!(cache.get(hot).is_ok());
}

#[test]
fn a_large_bounded_cache_is_sharded_and_bounded() {
    let fixture = fixture(200);
    let cache = cache(&fixture, 64);
    open_all(&StdSpawner, 4, all(&cache, &fixture)).unwrap();
    assert_eq!(cache.params.open_tables.len(), 64);
    for file in fixture.files.iter().rev() {
        assert_eq!(cache.get(file).unwrap().file_number(), file.number);
    }
    assert_eq!(cache.params.open_tables.len(), 64);
}

#[test]
fn the_first_error_in_order_is_reported_and_names_the_file() {
    let fixture = fixture(9);
    for number in [7, 3] {
        let path = PathBuf::from("/db").join(file_name::table(FileNumber(number)));
        fixture.file_system.remove_file(&path).unwrap();
    }
    let cache = cache(&fixture, -1);
    let error = open_all(&StdSpawner, 3, all(&cache, &fixture)).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("000003.sst"), "{error}");
    assert!(cache.get_if_open(&fixture.files[8]).is_some(), "the others were opened");
}

#[test]
#[cfg(unix)]
fn a_table_that_nothing_uses_is_closed_for_want_of_descriptors() {
    let mut fixture = fixture(5);
    let limited = FaultInjectionFileSystem::new(Arc::clone(&fixture.file_system));
    limited.set_open_file_limit(Some(2));
    fixture.file_system = Arc::new(limited.clone());
    let cache = cache(&fixture, 4);
    fixture.files.iter().for_each(|file| drop(cache.get(file).unwrap()));
    assert_eq!(limited.open_files(), 2);
    let _in_use = (cache.get(&fixture.files[0]).unwrap(), cache.get(&fixture.files[1]).unwrap());
    let error = cache.get(&fixture.files[2]).unwrap_err();
    assert!(error.is_out_of_descriptors() && error.to_string().contains("ulimit -n"), "{error}");
}

#[test]
fn the_wrong_file_is_noticed() {
    let fixture = fixture(2);
    let cache = cache(&fixture, -1);
    let path = |number| PathBuf::from("/db").join(file_name::table(FileNumber(number)));
    fixture.file_system.rename(&path(2), &path(1)).unwrap();
    let error = cache.get(&fixture.files[0]).unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("000001.sst"), "{error}");
    let lenient = TableCache::new(TableCacheParams { verify_unique_id: false, ..cache.params.clone() });
    assert!(lenient.get(&fixture.files[0]).is_ok());
    let elsewhere = NewFile { path_id: 1, ..fixture.files[0].recorded().clone() };
    // A directory behind the last is the last; a table that is not there lies in one that the options do not name.
    assert!(lenient.get(&FileMetadata::from(elsewhere.clone())).is_ok());
    let gone = NewFile { number: FileNumber(7), ..elsewhere };
    let error = lenient.get(&FileMetadata::from(gone)).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("db_paths"), "{error}");
}

#[test]
fn the_old_name_of_tables_is_known() {
    let fixture = fixture(1);
    let dir = PathBuf::from("/db");
    let (new, old) = (file_name::table(FileNumber(1)), file_name::legacy_table(FileNumber(1)));
    fixture.file_system.rename(&dir.join(new), &dir.join(old)).unwrap();
    assert!(cache(&fixture, -1).get(&fixture.files[0]).is_ok());
}
