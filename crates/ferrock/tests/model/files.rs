//! Where the database of a case lies, and what makes it hard to read.

use ferrock_base::ErrorKind;
use ferrock_base::clock::Clock;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FaultRuleId, FileSystem, MemoryFileSystem, OperationKind,
    PosixFileSystem, RandomAccessOptions, Trigger, write_file_synced,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Where a case wants its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory, where a process can be killed.
    Memory,
    /// In memory, read through a file system that panics when an operation reads too often. Nothing is mapped there.
    Bounded,
    /// In memory, where a process may have only so many files open at once.
    FewOpen(u8),
    /// In a directory, read by this backend, if the machine has it.
    Directory(&'static str),
}

/// What makes reading hard while a scan takes a step.
#[derive(Clone, Default)]
pub struct Straits {
    /// Reads are counted, where files are [`Bounded`](Files::Bounded).
    reads: Option<FaultInjectionFileSystem>,
    /// The block cache has only so many bytes, and reads that it lets nothing in for fail.
    pub cache: Option<(usize, Arc<TableBlockCache>)>,
}

impl Straits {
    fn counting(file_system: Arc<dyn FileSystem>) -> Self {
        Self { reads: Some(FaultInjectionFileSystem::with_clock(file_system, Arc::new(OutOfReads))), cache: None }
    }

    /// Runs `act`, which panics at the first read of a table beyond `most`. A read that only failed could be planned
    /// again without end, as one that succeeds.
    pub fn within<R>(&self, most: u64, act: impl FnOnce() -> R) -> R {
        let _bounded = self.reads.as_ref().map(|file_system| {
            let beyond = FaultRule::new(OperationKind::Read, "*.sst", Fault::Delay(Duration::ZERO));
            Bounded { rule: file_system.add_rule(beyond.when(Trigger::From(most + 1))), file_system }
        });
        let _famine = self.cache.as_ref().map(|(bytes, cache)| Famine::begin(cache, *bytes));
        act()
    }

    /// True for the error of a read that the cache lets nothing in for.
    pub fn explain(&self, error: &ferrock::Error) -> bool {
        self.cache.is_some() && error.kind() == ErrorKind::MemoryLimit
    }
}

/// A block cache with little room.
struct Famine<'a> {
    cache: &'a TableBlockCache,
    usual_bytes: usize,
}

impl<'a> Famine<'a> {
    fn begin(cache: &'a TableBlockCache, bytes: usize) -> Self {
        let usual_bytes = cache.capacity();
        cache.set_capacity(bytes);
        Self { cache, usual_bytes }
    }
}

impl Drop for Famine<'_> {
    fn drop(&mut self) {
        self.cache.set_capacity(self.usual_bytes);
    }
}

/// Ends the count of an operation.
struct Bounded<'a> {
    rule: FaultRuleId,
    file_system: &'a FaultInjectionFileSystem,
}

impl Drop for Bounded<'_> {
    fn drop(&mut self) {
        self.file_system.remove_rule(self.rule);
    }
}

/// The clock of reads that are too many, which are to be delayed.
#[derive(Debug)]
struct OutOfReads;

impl Clock for OutOfReads {
    fn monotonic_us(&self) -> u64 {
        0
    }
    fn unix_us(&self) -> u64 {
        0
    }
    fn sleep(&self, _: Duration) {
        panic!("too many reads of tables: a scan does not end");
    }
}

/// The files of a case.
pub enum Files {
    Memory(MemoryFileSystem),
    Bounded { memory: MemoryFileSystem, straits: Straits },
    FewOpen { memory: MemoryFileSystem, limit: u8, limited: FaultInjectionFileSystem },
    Directory { directory: TempDir, file_system: Arc<PosixFileSystem>, takes_direct: bool },
}

impl Files {
    pub fn new(place: Place) -> Self {
        let backend = match place {
            Place::Memory => return Self::Memory(MemoryFileSystem::new()),
            Place::Bounded => return Self::bounded(MemoryFileSystem::new()),
            Place::FewOpen(limit) => return Self::few_open(MemoryFileSystem::new(), limit),
            Place::Directory(backend) => backend,
        };
        let directory = tempfile::tempdir().unwrap();
        let file_system = Arc::new(PosixFileSystem::with_backend(Some(backend)));
        let probe = directory.path().join("probe");
        write_file_synced(&*file_system, &probe, &[0; 4096]).unwrap();
        let direct = RandomAccessOptions { direct: true, ..RandomAccessOptions::default() };
        let takes_direct = file_system.open_random_access(&probe, &direct).is_ok();
        Self::Directory { directory, file_system, takes_direct }
    }

    fn bounded(memory: MemoryFileSystem) -> Self {
        let straits = Straits::counting(Arc::new(memory.clone()));
        Self::Bounded { memory, straits }
    }

    fn few_open(memory: MemoryFileSystem, limit: u8) -> Self {
        let limited = FaultInjectionFileSystem::new(Arc::new(memory.clone()));
        limited.set_open_file_limit(Some(limit.into()));
        Self::FewOpen { memory, limit, limited }
    }

    /// Waits until the threads of a database that was closed have let go of its files, where few may be open.
    pub fn wait_until_closed(&self) {
        if let Self::FewOpen { limited, .. } = self {
            while limited.open_files() > 0 {
                std::thread::yield_now();
            }
        }
    }

    /// What scans of these files meet.
    pub fn straits(&self) -> Straits {
        match self {
            Self::Bounded { straits, .. } => straits.clone(),
            Self::Memory(_) | Self::FewOpen { .. } | Self::Directory { .. } => Straits::default(),
        }
    }

    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        match self {
            Self::Memory(memory) => Arc::new(memory.clone()),
            Self::Bounded { memory, straits } => {
                let bounded = straits.reads.clone().map(|bounded| Arc::new(bounded) as Arc<dyn FileSystem>);
                bounded.unwrap_or_else(|| Arc::new(memory.clone()))
            }
            Self::FewOpen { limited, .. } => Arc::new(limited.clone()),
            Self::Directory { file_system, .. } => Arc::clone(file_system) as Arc<dyn FileSystem>,
        }
    }

    pub fn path(&self) -> PathBuf {
        match self {
            Self::Memory(_) | Self::Bounded { .. } | Self::FewOpen { .. } => Path::new("/db").to_path_buf(),
            Self::Directory { directory, .. } => directory.path().join("db"),
        }
    }

    /// False for a choice that cannot be made here.
    pub fn take(&self, choice: &str) -> bool {
        match self {
            Self::Memory(_) | Self::Bounded { .. } | Self::FewOpen { .. } => true,
            Self::Directory { takes_direct, .. } => *takes_direct || !choice.contains("direct"),
        }
    }

    /// The files as a killed process leaves them; `None` where that cannot be had.
    pub fn after_kill(&self) -> Option<Self> {
        match self {
            Self::Memory(memory) => Some(Self::Memory(memory.crash_clone(CrashPolicy::KeepAll))),
            Self::Bounded { memory, .. } => Some(Self::bounded(memory.crash_clone(CrashPolicy::KeepAll))),
            Self::FewOpen { memory, limit, .. } => {
                Some(Self::few_open(memory.crash_clone(CrashPolicy::KeepAll), *limit))
            }
            Self::Directory { .. } => None,
        }
    }
}
