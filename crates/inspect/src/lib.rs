//! A page to look at a database: levels, files, memory, stalls, caches, options and LOG, live, in a browser.
//!
//! ```text
//! Source   an open `Db`, or a directory that is only read      numbers.rs, files.rs, settings.rs   JSON of it
//! Server   HTTP/1.1 on a loopback address, GET and HEAD        page.html                           the page
//! ```
//!
//! | path | answer |
//! |---|---|
//! | `/` | the page; it needs nothing but this server |
//! | `/api/metrics` | all numbers: levels, families, memory, stalls, caches, debt, statistics |
//! | `/api/files?cf=NAME&level=N&offset=N&limit=N` | tables, 100 or `limit` (at most 1,000) from `offset` on |
//! | `/api/file?number=N` | a table, with its properties |
//! | `/api/blocks?number=N` | a table's data blocks: how many, and a histogram of their sizes in the file |
//! | `/api/options` | options that differ from their defaults |
//! | `/api/log` | the last 64 KiB of the LOG, also of one in `db_log_dir` |
//! | `/metrics` | the page that Prometheus scrapes |
//!
//! Errors are JSON, `{"error": {"kind", "message", ..}}`: status 400 and 404 for what is asked wrongly, 503 for a
//! database that does not open or was closed.
//!
//! **What it guards against.** Nothing can be changed through it. It listens where it is told to, and there is no
//! password: keys and the LOG can be read by every process that reaches the address, so it should be a loopback one.
//! Requests must name this server (`Host`), heads have 8 KiB at most, threads are eight, and answers are bounded.
//!
//! Not taken: a crate for HTTP. `tiny_http` starts a thread for each connection that finds none idle and reads header
//! lines of any length, so both bounds would have to be made around it; what is spoken here is 200 lines.
#![warn(missing_docs)]

mod answer;
mod files;
mod numbers;
mod request;
mod server;
mod settings;
mod source;

use answer::Answer;
use ferrock::{Db, Error, Result};
use request::{Refusal, Request};
use serde_json::{Value, json};
use server::Server;
use source::Source;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Serves until it is dropped.
///
/// ```
/// use ferrock_inspect::ServeInspector;
///
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// let db = ferrock::Db::open(directory.path(), options)?;
/// let inspector = db.serve_inspector("127.0.0.1:0")?;
/// println!("look at {}", inspector.url());
/// drop(inspector); // connections are closed, threads have ended
/// db.close()?;
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Debug)]
pub struct Inspector {
    server: Server,
    source: Arc<Source>,
}

impl Inspector {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The URL of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address())
    }

    /// Why the database cannot be shown now; `None` where it can. The page shows the same.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.source.view().db.err()
    }

    fn start(source: Source, address: &str) -> Result<Self> {
        let source = Arc::new(source);
        let shown = Arc::clone(&source);
        let server = Server::start(address, Box::new(move |request: &Request| answer_to(&shown, request)))?;
        Ok(Self { server, source })
    }
}

/// Serves an open database at `address`, as `127.0.0.1:0`; port 0 is any that is free. The server does not keep the
/// database open: once that was closed, answers say so.
///
/// # Errors
/// `Io` when the address is not this machine's or its port is taken.
pub fn serve(db: &Db, address: &str) -> Result<Inspector> {
    Inspector::start(Source::live(db), address)
}

/// Serves what is in a directory, which is only read: no process needs to have the database open, and one may. It is
/// opened again when it has changed. A database that does not open is served, too: the page has the error, the options
/// and the LOG; see [`Inspector::error`].
///
/// # Errors
/// `Io` when the address is not this machine's or its port is taken.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// let inspector = ferrock_inspect::serve_directory(directory.path(), "127.0.0.1:0")?;
/// assert!(inspector.error().is_none());
/// # Ok::<(), ferrock::Error>(())
/// ```
pub fn serve_directory(directory: impl AsRef<Path>, address: &str) -> Result<Inspector> {
    Inspector::start(Source::directory(directory.as_ref()), address)
}

/// What `/api/metrics` says of a directory, without a server.
///
/// # Errors
/// Those of `Db::open_read_only`.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// let numbers = ferrock_inspect::metrics_of_directory(directory.path())?;
/// assert_eq!(numbers["families"][0]["name"], "default");
/// # Ok::<(), ferrock::Error>(())
/// ```
pub fn metrics_of_directory(directory: impl AsRef<Path>) -> Result<Value> {
    DirectoryView::new(directory).metrics()
}

/// A directory that is looked at again and again: it is opened read-only, and opened again when it has changed, by the
/// rules of [`serve_directory`].
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// let view = ferrock_inspect::DirectoryView::new(directory.path());
/// assert_eq!(view.metrics()?["is_live"], false);
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Debug)]
pub struct DirectoryView {
    source: Source,
}

impl DirectoryView {
    /// Opens the directory; an error comes with the numbers.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Self { source: Source::directory(directory.as_ref()) }
    }

    /// What `/api/metrics` says of it now.
    ///
    /// # Errors
    /// Those of `Db::open_read_only`. The next call may find the directory mended.
    pub fn metrics(&self) -> Result<Value> {
        let view = self.source.view();
        let metrics = view.db.clone()?.metrics();
        Ok(numbers::metrics(&view, &metrics))
    }
}

/// An error as `/api/metrics` tells it: `{"error": {"kind", "message", "file", "offset", "remedy"}}`.
#[must_use]
pub fn error_json(error: &Error) -> Value {
    json!({ "error": numbers::error(error) })
}

/// [`serve`] as a method of `Db`.
pub trait ServeInspector {
    /// See [`serve`].
    ///
    /// # Errors
    /// As for [`serve`].
    fn serve_inspector(&self, address: &str) -> Result<Inspector>;
}

impl ServeInspector for Db {
    fn serve_inspector(&self, address: &str) -> Result<Inspector> {
        serve(self, address)
    }
}

fn answer_to(source: &Source, request: &Request) -> std::result::Result<Answer, Refusal> {
    let query = &request.query;
    let path = request.path.as_str();
    if !matches!(path, "/api/files" | "/api/file" | "/api/blocks") {
        query.check_names(&[])?;
    }
    // These need no database.
    match path {
        "/" => return Ok(Answer::page()),
        "/api/log" => return Ok(Answer::json(&settings::log(source))),
        "/api/options" => return Ok(Answer::json(&settings::changed(source, &source.view()))),
        "/api/metrics" | "/api/files" | "/api/file" | "/api/blocks" | "/metrics" => {}
        _ => return Err(Refusal::new("404 Not Found", "nothing is here; the page is at /")),
    }
    let view = source.view();
    let db = match &view.db {
        Ok(db) => db,
        Err(error) => return Ok(Answer::unavailable(&error_json(error))),
    };
    Ok(match path {
        "/api/files" => Answer::json(&files::page(db, query)?),
        "/api/file" => Answer::json(&files::one(db, query)?),
        "/api/blocks" => Answer::json(&files::blocks(db, query)?),
        "/metrics" => Answer::prometheus(ferrock::metrics::prometheus(&db.metrics())),
        _ => Answer::json(&numbers::metrics(&view, &db.metrics())),
    })
}
