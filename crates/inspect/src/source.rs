//! What is looked at: a database that this process has open, or a directory that it only reads.
//!
//! A directory is opened read-only, which sees the files of one moment. So it is opened again when a request finds
//! that its MANIFEST or its logs changed, by one thread at a time; the others answer from the view that is there. A
//! view stays for [`SHORTEST_VIEW`] at least, and for [`OPENS_TO_VIEW`] times as long as its open took, so that looking
//! at a large database costs a tenth of one processor at most.
//!
//! Where it does not open, the error is kept in place of the view, and tried again by the same rules: a database that
//! is repaired meanwhile appears by itself.

use ferrock::{Db, DbOptions, Error, WeakDb, options};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_format::file_name::{self, FileKind};
use ferrock_vfs::{FileSystem, read_file};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// For how long a view stays at least, in microseconds.
const SHORTEST_VIEW: u64 = 1_000_000;
/// A view stays this many times as long as its open took.
const OPENS_TO_VIEW: u64 = 10;

/// The database, as a request finds it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) db: ferrock::Result<Db>,
    /// The database is open in this process: its counters go on.
    pub(crate) is_live: bool,
    /// When it was as it is shown, in microseconds since 1970.
    pub(crate) as_of_us: u64,
}

/// Where views come from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) file_system: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Live(WeakDb),
    Directory { current: Mutex<Opened>, opening: Mutex<()> },
}

/// A view of a directory.
#[derive(Clone, Debug)]
struct Opened {
    view: View,
    state: DirectoryState,
    /// When another open may begin, in monotonic microseconds.
    next_us: u64,
}

/// What CURRENT says, and names, sizes and seconds of change of the MANIFEST, logs and OPTIONS: when they are the same,
/// so is the database.
type DirectoryState = (Vec<u8>, Vec<(String, u64, u64)>);

impl Source {
    /// A database that is open. It may be closed and dropped while this is there.
    pub(crate) fn live(db: &Db) -> Self {
        // Its LOG and OPTIONS are where its tables are, which may be memory.
        Self::new(db.path(), db.file_system(), Kind::Live(db.downgrade()))
    }

    /// A directory, opened now.
    pub(crate) fn directory(path: &Path) -> Self {
        let file_system = ferrock_vfs::default_file_system();
        let opened = open(path, &*file_system, &*SystemClock::shared());
        Self::new(path, file_system, Kind::Directory { current: Mutex::new(opened), opening: Mutex::default() })
    }

    fn new(path: &Path, file_system: Arc<dyn FileSystem>, kind: Kind) -> Self {
        Self { path: path.to_path_buf(), file_system, clock: SystemClock::shared(), kind }
    }

    /// The database now.
    pub(crate) fn view(&self) -> View {
        match &self.kind {
            Kind::Live(db) => {
                let db = db.upgrade().ok_or_else(|| {
                    let message = "the database was closed; open it again, and serve that";
                    Error::new(ferrock::ErrorKind::Aborted, message).in_file(&self.path)
                });
                View { db, is_live: true, as_of_us: self.clock.unix_us() }
            }
            Kind::Directory { current, opening } => self.look_again(current, opening),
        }
    }

    fn look_again(&self, current: &Mutex<Opened>, opening: &Mutex<()>) -> View {
        let shown = current.lock().clone();
        let Some(_opens) = opening.try_lock() else { return shown.view };
        if self.clock.monotonic_us() < shown.next_us || state_of(&*self.file_system, &self.path) == shown.state {
            return shown.view;
        }
        let opened = open(&self.path, &*self.file_system, &*self.clock);
        let view = opened.view.clone();
        *current.lock() = opened;
        view
    }
}

fn open(path: &Path, file_system: &dyn FileSystem, clock: &dyn Clock) -> Opened {
    // What changes during the open is seen by the next look.
    let state = state_of(file_system, path);
    let (begin_us, as_of_us) = (clock.monotonic_us(), clock.unix_us());
    let mut options = DbOptions::default();
    if let Ok(Some(own)) = options::load_latest(file_system, path) {
        options.wal_recovery_mode = own.db.wal_recovery_mode;
    }
    // Without families the directory's own options are taken.
    let db = Db::open_read_only(path, options, None).map(|(db, _)| db);
    let end_us = clock.monotonic_us();
    let next_us = end_us + SHORTEST_VIEW.max(OPENS_TO_VIEW * end_us.saturating_sub(begin_us));
    Opened { view: View { db, is_live: false, as_of_us }, state, next_us }
}

/// Empty where the directory cannot be listed.
fn state_of(file_system: &dyn FileSystem, path: &Path) -> DirectoryState {
    let is_counted = |name: &String| {
        let kind = file_name::parse(name).map(|parsed| parsed.kind);
        matches!(kind, Some(FileKind::Manifest | FileKind::Log | FileKind::Options))
    };
    let names = file_system.children(path).unwrap_or_default().into_iter().filter(is_counted);
    let mut files: Vec<_> = names
        .map(|name| {
            let file = path.join(&name);
            let size_bytes = file_system.file_size(&file).unwrap_or(0);
            (name, size_bytes, file_system.modified_unix_seconds(&file).unwrap_or(0))
        })
        .collect();
    files.sort();
    (read_file(file_system, &path.join(file_name::CURRENT)).unwrap_or_default(), files)
}
