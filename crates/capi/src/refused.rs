//! Values that setters refuse. A setter of C cannot return an error, so the next open returns it.

use ferrock::{Error, Result};
use std::collections::BTreeMap;

/// Refused values, by option. The next open fails with the first.
#[derive(Clone, Default)]
pub(crate) struct Refused(BTreeMap<&'static str, Error>);

impl Refused {
    /// Records the outcome of a setter. A good value clears the refusal of an earlier one.
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

/// The error for a value that RocksDB has and this engine does not have yet.
pub(crate) fn not_built(option: &str, value: impl std::fmt::Display) -> Error {
    Error::not_supported(format!("{option} = {value} is not built yet"))
}

/// The error for a number that is no value of the option.
pub(crate) fn out_of_range(option: &str, value: impl std::fmt::Display, bound: &str) -> Error {
    Error::invalid_argument(format!("{option} = {value} is out of {bound}"))
}
