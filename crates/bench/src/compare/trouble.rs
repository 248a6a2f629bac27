//! What ends a cell early.

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A value is wrong, or missing, or there is one too many; or the engine itself calls its data damaged.
    Wrong(String),
    /// The engine refused.
    NotDone(String),
}

/// A result of an engine.
pub(super) type Outcome<T> = Result<T, Trouble>;

/// RocksDB's message of an error.
impl From<String> for Trouble {
    fn from(message: String) -> Self {
        if message.starts_with("Corruption") { Self::Wrong(message) } else { Self::NotDone(message) }
    }
}

impl From<ferrock::Error> for Trouble {
    fn from(error: ferrock::Error) -> Self {
        if error.is_corruption() { Self::Wrong(error.to_string()) } else { Self::NotDone(error.to_string()) }
    }
}
