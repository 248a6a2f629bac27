//! What one refresh shows: the numbers, what came each second, and what is wrong.

use super::numbers::Numbers;
use super::rates::Rates;
use serde_json::{Value, json};

/// One refresh.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The URL, or the directory, as it was given.
    pub(crate) source: String,
    /// When it was asked for, in microseconds since 1970.
    pub(crate) time_us: u64,
    /// The last answer; older than this refresh where there is trouble.
    pub(crate) reading: Option<Reading>,
    pub(crate) rates: Option<Rates>,
    pub(crate) trouble: Option<Trouble>,
}

/// An answer: as it came, and as it was understood.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) value: Value,
    pub(crate) numbers: Numbers,
}

/// Why this refresh has no numbers of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) kind: TroubleKind,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// The server does not answer, or is none.
    Connection,
    /// The database does not open, or was closed.
    Database,
}

impl Snapshot {
    /// The first refresh, or the one behind `before`.
    pub(crate) fn next(before: Option<&Self>, source: &str, time_us: u64, answer: Result<Reading, Trouble>) -> Self {
        let source = source.to_owned();
        let last = before.and_then(|before| before.reading.as_ref());
        match answer {
            Ok(reading) => {
                let rates = Rates::of(last.map(|last| &last.numbers), &reading.numbers);
                Self { source, time_us, reading: Some(reading), rates, trouble: None }
            }
            Err(trouble) => {
                // What was before is shown still, but it is not what comes each second now.
                Self { source, time_us, reading: last.cloned(), rates: None, trouble: Some(trouble) }
            }
        }
    }

    pub(crate) fn numbers(&self) -> Option<&Numbers> {
        self.reading.as_ref().map(|reading| &reading.numbers)
    }

    /// One object for programs. Numbers of before are not repeated where there is trouble.
    pub(crate) fn to_json(&self) -> Value {
        let reading = self.reading.as_ref().filter(|_| self.trouble.is_none());
        let error = self.trouble.as_ref().map(|trouble| {
            let kind = match trouble.kind {
                TroubleKind::Connection => "connection",
                TroubleKind::Database => "database",
            };
            json!({ "kind": kind, "message": trouble.message, "remedy": trouble.remedy })
        });
        json!({
            "source": self.source,
            "time_us": self.time_us,
            "error": error,
            "rates": self.rates.as_ref().zip(self.numbers()).map(|(rates, numbers)| rates.to_json(numbers)),
            "metrics": reading.map(|reading| &reading.value),
        })
    }
}
