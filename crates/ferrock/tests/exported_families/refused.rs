//! What is refused, and leaves nothing: no family, no table, and the files from outside as they were.

use super::{EXPORT, FROM, TO, export, memory, merging, rows, source, tables_in};
use crate::common::options_on;
use ferrock::backup::Checkpoint;
use ferrock::{
    ColumnFamilyOptions, Comparator, Db, ErrorKind, ExportImportFilesMetadata, ExportedFile, ImportColumnFamilyOptions,
    SequenceNumber,
};
use ferrock_base::ValueType;
use ferrock_base::internal_key::make_internal_key;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct World {
    files: MemoryFileSystem,
    db: Db,
    metadata: ExportImportFilesMetadata,
}

impl World {
    fn new() -> Self {
        let files = memory();
        let metadata = export(&source(Arc::new(files.clone())).0, EXPORT).unwrap();
        let db = Db::open(TO, options_on(Arc::new(files.clone()))).unwrap();
        Self { files, db, metadata }
    }

    /// Imports what is changed, and expects an error that leaves nothing.
    fn refused(&self, kind: ErrorKind, text: &str, change: impl FnOnce(&mut Vec<ExportImportFilesMetadata>)) {
        self.refused_with(merging(), kind, text, change);
    }

    fn refused_with(
        &self,
        options: ColumnFamilyOptions,
        kind: ErrorKind,
        text: &str,
        change: impl FnOnce(&mut Vec<ExportImportFilesMetadata>),
    ) {
        let mut exports = vec![self.metadata.clone()];
        change(&mut exports);
        for move_files in [false, true] {
            let import = ImportColumnFamilyOptions { move_files };
            let error =
                self.db.create_column_family_with_import("new", options.clone(), &import, &exports).unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains(text), "{error}");
            assert_eq!(tables_in(&self.files, TO), Vec::<String>::new(), "{error}");
            for file in &self.metadata.files {
                assert!(self.files.exists(&file.path).unwrap(), "{error}");
            }
        }
        let names = Db::list_column_families(TO, &options_on(Arc::new(self.files.clone()))).unwrap();
        assert_eq!(names, ["default"]);
        assert!(self.db.background_error().is_none());
    }

    fn first_below(&self) -> usize {
        self.metadata.files.iter().position(|file| file.level > 0).unwrap()
    }
}

#[test]
fn metadata_that_are_wrong_are_refused() {
    let world = World::new();
    let invalid = ErrorKind::InvalidArgument;
    world.refused(invalid, "Comparator name mismatch", |exports| exports[0].comparator_name = "another".to_owned());
    world.refused(invalid, "list of files is empty", |exports| exports[0].files.clear());
    world.refused(invalid, "list of files is empty", Vec::clear);
    world.refused(invalid, "overlapping ranges", |exports| {
        let last = exports[0].files.pop().unwrap();
        let comparator_name = exports[0].comparator_name.clone();
        exports.push(ExportImportFilesMetadata { comparator_name, files: vec![last] });
    });
    world.refused(invalid, "named twice", |exports| exports.push(exports[0].clone()));
    world.refused(invalid, "raise num_levels", |exports| exports[0].files[0].level = 7);
    world.refused(invalid, "raise num_levels", |exports| exports[0].files[0].level = usize::MAX);
    world.refused(ErrorKind::Corruption, "overlap", |exports| {
        exports[0].files.iter_mut().for_each(|file| file.level = 6);
    });
    world.refused(ErrorKind::Corruption, "lies outside", |exports| {
        let file = &mut exports[0].files[world.first_below()];
        file.smallest = make_internal_key(&[9], SequenceNumber(9), ValueType::Value);
    });
    world.refused(ErrorKind::Corruption, "", |exports| exports[0].files[0].smallest = vec![1, 2, 3]);
    world.refused(ErrorKind::Corruption, "", |exports| {
        let file = &mut exports[0].files[0];
        std::mem::swap(&mut file.smallest, &mut file.largest);
    });
    world.refused(ErrorKind::Corruption, "bytes", |exports| exports[0].files[0].size_bytes += 1);
    world.refused(ErrorKind::NotSupported, "blob file", |exports| {
        exports[0].files[0].oldest_blob_file = Some(ferrock::FileNumber(9));
    });
    world.refused(ErrorKind::Io, "", |exports| exports[0].files[0].path = PathBuf::from("/data/none.sst"));
    let mut reverse = merging();
    reverse.comparator = Comparator::ReverseBytewise;
    world.refused_with(reverse, invalid, "Comparator name mismatch", |_| {});
    let mut wrong = merging();
    wrong.num_levels = 0;
    world.refused_with(wrong, invalid, "", |_| {});
    let import = ImportColumnFamilyOptions::default();
    let again =
        world.db.create_column_family_with_import("default", merging(), &import, std::slice::from_ref(&world.metadata));
    assert!(again.unwrap_err().to_string().contains("already exists"));
    // Nothing was wrong with the export itself; boundaries, numbers and epochs may be unknown.
    let mut bare = world.metadata.clone();
    bare.files = bare
        .files
        .iter()
        .map(|file| ExportedFile { path: file.path.clone(), level: file.level, ..ExportedFile::default() })
        .collect();
    let family = world.db.create_column_family_with_import("new", merging(), &import, &[bare]).unwrap();
    let source = Db::open_cf(FROM, options_on(Arc::new(world.files.clone())), vec![("default".to_owned(), merging())]);
    let source = source.unwrap().0;
    assert_eq!(rows(&world.db, &family), rows(&source, &source.default_column_family().unwrap()));
}

#[test]
fn a_damaged_table_is_refused_wherever_the_damage_is() {
    let world = World::new();
    let path = world.metadata.files[world.first_below()].path.clone();
    let whole = read_file(&world.files, &path).unwrap();
    let import = ImportColumnFamilyOptions::default();
    let mut taken = 0;
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        world.files.remove_file(&path).unwrap();
        write_file_synced(&world.files, &path, &damaged).unwrap();
        let exports = std::slice::from_ref(&world.metadata);
        match world.db.create_column_family_with_import("new", merging(), &import, exports) {
            Err(error) => assert_eq!(tables_in(&world.files, TO), Vec::<String>::new(), "{at}: {error}"),
            // A byte that is not checked, such as padding: then what is read is whole.
            Ok(family) => {
                taken += 1;
                world.db.verify_checksum().unwrap();
                assert!(!rows(&world.db, &family).is_empty());
                world.db.drop_column_family(&family).unwrap();
                drop(family);
                world.db.wait_for_background_work().unwrap();
            }
        }
    }
    assert!(taken < whole.len() / 4, "{taken} of {}", whole.len());
}

#[test]
fn tables_with_references_to_blob_files_are_not_exported() {
    let files = memory();
    let mut options = merging();
    options.enable_blob_files = true;
    let families = vec![("default".to_owned(), options)];
    let db = Db::open_cf(FROM, options_on(Arc::new(files.clone())), families).unwrap().0;
    db.put(b"key", &[7; 1000]).unwrap();
    db.flush().unwrap();
    let error = export(&db, EXPORT).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.to_string().contains("blob"), "{error}");
    assert!(!files.exists(Path::new(EXPORT)).unwrap() && !files.exists(Path::new("/data/export.tmp")).unwrap());
    // Metadata that do not tell do not help.
    let family = db.default_column_family().unwrap();
    let mut told = db.column_family_files(&family).unwrap();
    told[0].oldest_blob_file = None;
    let comparator_name = family.comparator().name().to_owned();
    let exports = [ExportImportFilesMetadata { comparator_name, files: told }];
    let import = ImportColumnFamilyOptions::default();
    let error = db.create_column_family_with_import("new", merging(), &import, &exports).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.to_string().contains("blob"), "{error}");
    let moved = ImportColumnFamilyOptions { move_files: true };
    let error = db.create_column_family_with_import("new", merging(), &moved, &exports).unwrap_err();
    assert!(error.to_string().contains("directory of the database"), "{error}");
}

#[test]
fn an_export_needs_a_directory_of_its_own_and_a_database_that_is_open() {
    let files = memory();
    let (db, _) = source(Arc::new(files.clone()));
    files.create_dir_all(Path::new(EXPORT)).unwrap();
    let error = export(&db, EXPORT).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("exists"), "{error}");
    let family = db.default_column_family().unwrap();
    let other = db.create_column_family("other", merging()).unwrap();
    db.drop_column_family(&other).unwrap();
    Checkpoint::new(&db).export_column_family(&other, "/data/dropped").unwrap_err();
    assert!(!files.exists(Path::new("/data/dropped")).unwrap());
    Checkpoint::new(&db).export_column_family(&family, "/data/fine").unwrap();
    assert!(!tables_in(&files, "/data/fine").is_empty());
}
