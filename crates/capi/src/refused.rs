//! Values that setters refuse, for the open to tell.

use ferrock::{Error, Result};
use std::collections::BTreeMap;

/// Values that were set and cannot be had, by option: the next open fails with the first.
#[derive(Clone, Default)]
pub(crate) struct Refused(BTreeMap<&'static str, Error>);

impl Refused {
    /// Notes what came of setting an option; a good value takes back a bad one.
    pub(crate) fn note(&mut self, option: &'static str, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.0.remove(option),
            Err(error) => self.0.insert(option, error),
        };
    }

    /// # Errors
    /// The first refused value.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.values().next().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// For a value that RocksDB has and this engine does not have yet.
pub(crate) fn not_built(option: &str, value: impl std::fmt::Display) -> Error {
    Error::not_supported(format!("{option} = {value} is not built yet"))
}

/// For a number that stands for nothing.
pub(crate) fn out_of_range(option: &str, value: impl std::fmt::Display, bound: &str) -> Error {
    Error::invalid_argument(format!("{option} = {value} is out of {bound}"))
}
