//! A database in memory whose options are texts and whose clock a test moves.

#[path = "quiet.rs"]
mod quiet;

use ferrock::options::apply_text;
use ferrock::{ColumnFamilyOptions, Db, DbOptions};
use ferrock_base::clock::ManualClock;
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

/// The files and the clock outlive each open.
pub struct Rig {
    pub clock: Arc<ManualClock>,
    /// Options of every open, after those that the test program has for all its databases.
    pub text: String,
    base: &'static str,
    files: MemoryFileSystem,
}

impl Rig {
    pub fn new(base: &'static str, text: &str) -> Self {
        let clock = Arc::new(ManualClock::passing_sleeps(1_700_000_000_000_000));
        Self { clock, text: text.to_owned(), base, files: MemoryFileSystem::new() }
    }

    /// Opens the database; options in `more` win over the others.
    pub fn try_open(&self, more: &str) -> ferrock::Result<Db> {
        self.try_open_with(more, |_| ())
    }

    /// As [`try_open`](Self::try_open), after `change`.
    pub fn try_open_with(&self, more: &str, change: impl FnOnce(&mut DbOptions)) -> ferrock::Result<Db> {
        let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        apply_text(&mut options, &mut family, &format!("{};{};{more}", self.base, self.text)).unwrap();
        options.components.file_system = Some(Arc::new(self.files.clone()));
        options.components.clock = Some(Arc::clone(&self.clock) as _);
        options.components.spawner = Some(quiet::NoWakeups::shared());
        change(&mut options);
        Db::open_cf("/db", options, vec![("default".to_owned(), family)]).map(|(db, _)| db)
    }

    pub fn open(&self) -> Db {
        self.try_open("").unwrap()
    }
}
