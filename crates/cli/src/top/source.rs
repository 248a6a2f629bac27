//! Where the numbers come from: an inspector by its URL, or a directory that is only read.

use super::http::{Unanswered, Url, foreign};
use super::numbers::Numbers;
use super::snapshot::{Reading, Trouble, TroubleKind};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_inspect::DirectoryView;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Answers with the numbers, each time that it is asked.
#[derive(Debug)]
pub(crate) enum Source {
    Server { url: Url, clock: Arc<dyn Clock> },
    Directory(DirectoryView),
}

impl Source {
    /// `text` is a URL, or the path of a directory.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Ok(Self::Server { url: Url::parse(text)?, clock: SystemClock::shared() });
        }
        Ok(Self::Directory(DirectoryView::new(Path::new(text))))
    }

    /// The numbers now.
    pub(crate) fn read(&self) -> Result<Reading, Trouble> {
        match self {
            Self::Server { url, clock } => ask(url, &**clock),
            Self::Directory(view) => match view.metrics() {
                Ok(value) => {
                    let trouble = |message| database(message, "use `ferrock top` and the inspector of one version");
                    let numbers = Numbers::parse(&value).map_err(trouble)?;
                    Ok(Reading { value, numbers })
                }
                Err(error) => Err(told(&ferrock_inspect::error_json(&error))
                    .unwrap_or_else(|| database(error.to_string(), "see what the error says of the file"))),
            },
        }
    }
}

fn ask(url: &Url, clock: &dyn Clock) -> Result<Reading, Trouble> {
    let answer = url.get("/api/metrics", clock).map_err(lost)?;
    let value: Value = match serde_json::from_slice(&answer.body) {
        Ok(value) => value,
        Err(error) => return Err(lost(foreign(url, &format!("status {}, and no JSON: {error}", answer.status)))),
    };
    match answer.status {
        200 => match Numbers::parse(&value) {
            Ok(numbers) => Ok(Reading { value, numbers }),
            Err(why) => Err(lost(foreign(url, &why))),
        },
        503 => Err(told(&value).unwrap_or_else(|| lost(foreign(url, "status 503 without the error of a database")))),
        status => {
            let message = value["error"]["message"].as_str().unwrap_or("no reason was given");
            Err(lost(foreign(url, &format!("status {status}: {message}"))))
        }
    }
}

fn lost(why: Unanswered) -> Trouble {
    Trouble { kind: TroubleKind::Connection, message: why.message, remedy: why.remedy }
}

fn database(message: String, remedy: &str) -> Trouble {
    Trouble { kind: TroubleKind::Database, message, remedy: remedy.to_owned() }
}

/// The error of a database as an inspector tells it.
fn told(value: &Value) -> Option<Trouble> {
    let error = value.get("error")?;
    Some(database(error.get("message")?.as_str()?.to_owned(), error.get("remedy")?.as_str()?))
}
