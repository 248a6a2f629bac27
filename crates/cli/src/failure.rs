//! What came of a command, and its exit code.

use ferrock_console::failure;
use std::fmt;
use std::process::ExitCode;

/// The result of a completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    BadData,
    NotDone,
    /// All is well but for warnings, which are asked to count.
    Warned,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Good => 0,
            Outcome::BadData => 1,
            Outcome::NotDone => 2,
            Outcome::Warned => 3,
        })
    }
}

/// The reason for which a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The data is not what it must be, or cost more to read than it may.
    Data(String),
    /// The work could not be done.
    NotDone(String),
    /// The engine or a file refused.
    Engine(ferrock::Error),
    /// A pipe or a child process failed.
    Io(&'static str, std::io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => write!(f, "{message}\nTry `ferrock --help`."),
            Self::Data(message) | Self::NotDone(message) => write!(f, "{message}"),
            Self::Engine(error) => write!(f, "{error}"),
            Self::Io(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl From<failure::Failure> for Failure {
    fn from(failure: failure::Failure) -> Self {
        match failure {
            failure::Failure::Usage(message) => Self::Usage(message),
            failure::Failure::Data(message) => Self::Data(message),
            failure::Failure::NotDone(message) => Self::NotDone(message),
            failure::Failure::Engine(error) if error.is_corruption() => Self::Data(error.to_string()),
            failure::Failure::Engine(error) => Self::Engine(error),
            failure::Failure::Output(error) => Self::Io("standard output", error),
        }
    }
}

impl From<ferrock::Error> for Failure {
    fn from(error: ferrock::Error) -> Self {
        Self::Engine(error)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;
