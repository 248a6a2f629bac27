//! Opens a damaged database in every way, reads everything in every way, and judges.

use crate::allocation::take_largest;
use crate::sample::{DIRECTORY, State, families, options};
use crate::watchdog::watch;
use ferrock::options::WalRecoveryMode;
use ferrock::{Db, DbOptions, Error, ErrorKind, Iter, ReadOptions, Result};
use ferrock_vfs::MemoryFileSystem;
use parking_lot::{Mutex, MutexGuard};

/// Largest single allocation that a sample justifies: its files are below 64 KiB, its buffers and caches are set to as
/// much, and formatted debug output, thread stacks of the test harness and growing vectors take no more than a
/// small multiple.
pub const LARGEST_ALLOCATION: usize = 1 << 20;

static TURN: Mutex<()> = Mutex::new(());

/// One case at a time: what is allocated meanwhile is its own.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// How to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the variants are how a directory is read")]
pub enum Mode {
    ReadOnly,
    /// With the OPTIONS file of the directory.
    ReadOnlyOwnOptions,
    ReadWrite,
}

/// What reading gave: per family what was read when everything was read without error.
#[derive(Debug)]
pub struct Outcome {
    pub errors: Vec<Error>,
    /// Set when both scans of both families came to their end.
    pub state: Option<State>,
}

/// What a family may hold under a key: any of these (`None`: nothing).
pub trait Allowed {
    fn allows(&self, family: usize, key: &[u8], value: Option<&[u8]>) -> bool;
}

impl Allowed for [State] {
    fn allows(&self, family: usize, key: &[u8], value: Option<&[u8]>) -> bool {
        self.iter().any(|state| state[family].get(key).map(|found| &found[..]) == value)
    }
}

/// Opens and reads. Panics on a value that no state of `allowed` has, and on an allocation out of all proportion.
pub fn examine(
    case: &str,
    file_system: &MemoryFileSystem,
    mode: Mode,
    wal_mode: WalRecoveryMode,
    allowed: &[State],
    largest: usize,
) -> Outcome {
    let _watched = watch(case);
    let mut options = options(file_system);
    options.wal_recovery_mode = wal_mode;
    take_largest();
    let outcome = open_and_read(case, options, mode, allowed);
    let taken = take_largest();
    assert!(taken <= largest, "{case}: {taken} bytes allocated at once");
    outcome
}

fn open_and_read(case: &str, options: DbOptions, mode: Mode, allowed: &[State]) -> Outcome {
    let opened = match mode {
        Mode::ReadOnly => Db::open_read_only(DIRECTORY, options, Some(families())),
        Mode::ReadOnlyOwnOptions => Db::open_read_only(DIRECTORY, options, None),
        Mode::ReadWrite => Db::open_cf(DIRECTORY, options, families()),
    };
    let (db, _) = match opened {
        Ok(opened) => opened,
        Err(error) => return Outcome { errors: vec![error], state: None },
    };
    read_everything(case, &db, allowed)
}

/// Reads a database in every way.
pub fn read_everything(case: &str, db: &Db, allowed: &[State]) -> Outcome {
    let mut errors = Vec::new();
    let mut state = State::default();
    let mut complete = true;
    for (index, family) in db.column_families().iter().enumerate() {
        let mut iter = db.iter_cf(family, &ReadOptions { total_order_seek: true, ..ReadOptions::default() });
        for backward in [false, true] {
            let (found, result) = scan(&mut iter, backward);
            for (key, value) in &found {
                assert!(allowed.allows(index, key, Some(value)), "{case}: {} is wrong", key.escape_ascii());
            }
            match result {
                Ok(()) if backward => {
                    let found: crate::sample::Contents = found.into_iter().collect();
                    let whole = !errors.is_empty() || !complete || found == state[index];
                    assert!(whole, "{case}: the two directions differ");
                }
                Ok(()) => state[index] = found.into_iter().collect(),
                Err(error) => {
                    errors.push(error);
                    complete = false;
                }
            }
        }
        let keys: Vec<&Vec<u8>> = allowed
            .iter()
            .flat_map(|state| state[index].keys())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let together = db.multi_get_cf(family, &ReadOptions::default(), &slices);
        for (key, together) in slices.iter().zip(together) {
            for got in [db.get_cf(family, &ReadOptions::default(), key), together] {
                match got {
                    Ok(value) => {
                        let value = value.as_ref().map(|value| value.as_slice());
                        assert!(allowed.allows(index, key, value), "{case}: get of {} is wrong", key.escape_ascii());
                    }
                    Err(error) => errors.push(error),
                }
            }
        }
    }
    Outcome { errors, state: complete.then_some(state) }
}

#[expect(clippy::type_complexity, reason = "pairs and a verdict")]
fn scan(iter: &mut Iter, backward: bool) -> (Vec<(Vec<u8>, Vec<u8>)>, Result<()>) {
    let mut found = Vec::new();
    if backward {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        found.push((iter.key().to_vec(), iter.value().to_vec()));
        if backward { iter.prev() } else { iter.next() }
    }
    (found, iter.status())
}

impl Outcome {
    /// Every error is of one of `kinds` and names `file`.
    pub fn assert_errors_name(&self, case: &str, file: &str, kinds: &[ErrorKind]) {
        for error in &self.errors {
            assert!(kinds.contains(&error.kind()), "{case}: {error}");
            assert!(error.to_string().contains(file), "{case}: the error does not name {file}: {error}");
        }
    }
}

/// The bit that a sweep flips at an offset: each offset another, so that every bit position has its turn.
pub fn flipped(content: &[u8], offset: usize, bit: u32) -> Vec<u8> {
    let mut damaged = content.to_vec();
    damaged[offset] ^= 1 << ((offset as u32).wrapping_mul(5).wrapping_add(bit) % 8);
    damaged
}
