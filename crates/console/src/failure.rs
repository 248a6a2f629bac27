//! Failures of a command, and their exit codes.

use std::io::Write;
use std::process::ExitCode;

/// The reason for which a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong, or requests an unsupported feature.
    Usage(String),
    /// There is no such key, or the data is damaged.
    Data(String),
    /// The work could not be done.
    NotDone(String),
    /// The engine or a file refused.
    Engine(ferrock::Error),
    /// Standard output is gone.
    Output(std::io::Error),
}

impl From<ferrock::Error> for Failure {
    fn from(error: ferrock::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

/// Exit code for wrong data.
pub const BAD_DATA: u8 = 1;
/// Exit code of work that could not be done.
pub const NOT_DONE: u8 = 2;
/// Exit code of a wrong command line: sysexits' EX_USAGE.
pub const USAGE: u8 = 64;

/// The exit code of an error of the engine.
#[must_use]
pub fn exit_code_of(error: &ferrock::Error) -> u8 {
    if error.is_corruption() { BAD_DATA } else { NOT_DONE }
}

impl Failure {
    /// Prints the failure to standard error, and returns the exit code.
    pub fn complain(&self, tool: &str) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (format!("{message}\nTry `{tool} --help`."), USAGE),
            Self::Data(message) => (message.clone(), BAD_DATA),
            Self::NotDone(message) => (message.clone(), NOT_DONE),
            Self::Engine(error) => (error.to_string(), exit_code_of(error)),
            Self::Output(error) => (format!("standard output: {error}"), NOT_DONE),
        };
        // An error here has no reader when standard error is closed.
        let _ = writeln!(std::io::stderr(), "Failed: {message}");
        ExitCode::from(code)
    }
}
