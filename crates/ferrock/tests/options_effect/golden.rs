//! Databases that RocksDB wrote, for options about what is read and not written.

#[expect(dead_code, reason = "the tests of golden databases use all of it")]
#[path = "../golden/archive.rs"]
mod archive;

use crate::setup::{DIRECTORY, Setup};
use ferrock_vfs::{FileSystem, write_file_synced};
use std::path::Path;

/// Puts the files of a golden database where `setup` opens its own.
pub fn copy_to(setup: &Setup, name: &str) {
    let database = archive::databases().iter().find(|database| database.name == name).unwrap();
    setup.memory.create_dir_all(Path::new(DIRECTORY)).unwrap();
    for (file, content) in database.files() {
        write_file_synced(&setup.memory, &Path::new(DIRECTORY).join(file), content).unwrap();
    }
}
