//! Where the database of a case lies.

use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, PosixFileSystem, RandomAccessOptions, write_file_synced};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Where a case wants its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory, where a process can be killed.
    Memory,
    /// In a directory, read by this backend, if the machine has it.
    Directory(&'static str),
}

/// The files of a case.
pub enum Files {
    Memory(MemoryFileSystem),
    Directory { directory: TempDir, file_system: Arc<PosixFileSystem>, takes_direct: bool },
}

impl Files {
    pub fn new(place: Place) -> Self {
        let Place::Directory(backend) = place else { return Self::Memory(MemoryFileSystem::new()) };
        let directory = tempfile::tempdir().unwrap();
        let file_system = Arc::new(PosixFileSystem::with_backend(Some(backend)));
        let probe = directory.path().join("probe");
        write_file_synced(&*file_system, &probe, &[0; 4096]).unwrap();
        let direct = RandomAccessOptions { direct: true, ..RandomAccessOptions::default() };
        let takes_direct = file_system.open_random_access(&probe, &direct).is_ok();
        Self::Directory { directory, file_system, takes_direct }
    }

    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        match self {
            Self::Memory(memory) => Arc::new(memory.clone()),
            Self::Directory { file_system, .. } => Arc::clone(file_system) as Arc<dyn FileSystem>,
        }
    }

    pub fn path(&self) -> PathBuf {
        match self {
            Self::Memory(_) => Path::new("/db").to_path_buf(),
            Self::Directory { directory, .. } => directory.path().join("db"),
        }
    }

    /// False for a choice that cannot be made here.
    pub fn take(&self, choice: &str) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Directory { takes_direct, .. } => *takes_direct || !choice.contains("direct"),
        }
    }

    /// The files as a killed process leaves them; `None` where that cannot be had.
    pub fn after_kill(&self) -> Option<Self> {
        match self {
            Self::Memory(memory) => Some(Self::Memory(memory.crash_clone(CrashPolicy::KeepAll))),
            Self::Directory { .. } => None,
        }
    }
}
