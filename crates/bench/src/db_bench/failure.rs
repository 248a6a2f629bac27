//! Why a run failed.

/// The reason for which a run failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong, or requests an unsupported feature.
    Usage(String),
    /// The data is wrong.
    Wrong(String),
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

pub(crate) type Result<T> = std::result::Result<T, Failure>;
