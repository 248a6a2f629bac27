//! An engine that does something wrong, to show that it is found: tests ask for it.

use super::target::{Cursor, Lengths, Target};
use super::trouble::Outcome;
use clap::ValueEnum;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What goes wrong, at the hundredth call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Fault {
    /// A get gives a value of which one bit is another.
    WrongValue,
    /// A get gives nothing.
    MissingValue,
    /// That put and all behind it do nothing.
    LostWrite,
    /// The process dies.
    Crash,
    /// A call never returns.
    Hang,
}

impl Fault {
    /// Its name on a command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The call that goes wrong.
const AT: u64 = 100;

/// A target with a fault.
pub(super) struct Faulty {
    pub(super) target: Box<dyn Target>,
    pub(super) fault: Fault,
    pub(super) gets: AtomicU64,
    pub(super) puts: AtomicU64,
}

impl Faulty {
    pub(super) fn new(target: Box<dyn Target>, fault: Fault) -> Self {
        Self { target, fault, gets: AtomicU64::new(0), puts: AtomicU64::new(0) }
    }

    /// Whether this call is the one; does what ends the process.
    fn is_due(&self, calls: &AtomicU64) -> bool {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call < AT || (call > AT && self.fault != Fault::LostWrite) {
            return false;
        }
        match self.fault {
            Fault::Crash => std::process::abort(),
            Fault::Hang => loop {
                std::thread::park_timeout(Duration::from_secs(3600));
            },
            Fault::WrongValue | Fault::MissingValue | Fault::LostWrite => true,
        }
    }
}

impl Target for Faulty {
    fn put(&self, key: &[u8], value: &[u8], is_synced: bool) -> Outcome<()> {
        if self.is_due(&self.puts) && self.fault == Fault::LostWrite {
            return Ok(());
        }
        self.target.put(key, value, is_synced)
    }
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Outcome<bool> {
        let is_due = self.is_due(&self.gets);
        if is_due && self.fault == Fault::MissingValue {
            return Ok(false);
        }
        let found = self.target.get(key, value)?;
        if is_due
            && self.fault == Fault::WrongValue
            && let Some(last) = value.last_mut()
        {
            *last ^= 1;
        }
        Ok(found)
    }
    fn multi_get(&self, keys: &[&[u8]], values: &mut Vec<u8>, lengths: &mut Lengths) -> Outcome<()> {
        self.target.multi_get(keys, values, lengths)
    }
    fn rows(&self) -> Box<dyn Cursor + '_> {
        self.target.rows()
    }
    fn flush(&self) -> Outcome<()> {
        self.target.flush()
    }
    fn compact(&self) -> Outcome<()> {
        self.target.compact()
    }
    fn wait(&self) -> Outcome<()> {
        self.target.wait()
    }
}
