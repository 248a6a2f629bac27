//! Collects what is wrong with many databases, so that one run shows all of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Findings shown of one database; the rest is counted.
const SHOWN: usize = 6;

#[derive(Default)]
pub struct Findings {
    lines: Vec<String>,
    failed_databases: usize,
}

impl Findings {
    /// Collects the findings of one database; a panic is one.
    pub fn of_database(&mut self, name: &str, check: impl FnOnce(&mut Self)) {
        let mut own = Self::default();
        let result = catch_unwind(AssertUnwindSafe(|| check(&mut own)));
        if result.is_err() {
            own.lines.push("panicked, see above".to_owned());
        }
        if own.lines.is_empty() {
            return;
        }
        self.failed_databases += 1;
        let more = own.lines.len().saturating_sub(SHOWN);
        self.lines.extend(own.lines.into_iter().take(SHOWN).map(|line| format!("{name}: {line}")));
        if more > 0 {
            self.lines.push(format!("{name}: and {more} more"));
        }
    }

    pub fn add(&mut self, finding: impl Into<String>) {
        self.lines.push(finding.into());
    }

    pub fn check(&mut self, is_right: bool, finding: impl FnOnce() -> String) {
        if !is_right {
            self.lines.push(finding());
        }
    }

    pub fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: &T, wanted: &T) {
        self.check(got == wanted, || format!("{what}: {got:?}, wanted {wanted:?}"));
    }

    /// The value, or a finding.
    pub fn ok<T>(&mut self, what: &str, result: ferrock::Result<T>) -> Option<T> {
        result.map_err(|error| self.lines.push(format!("{what}: {error}"))).ok()
    }

    pub fn assert_none(self) {
        assert!(self.lines.is_empty(), "{} databases failed:\n{}", self.failed_databases, self.lines.join("\n"));
    }
}
