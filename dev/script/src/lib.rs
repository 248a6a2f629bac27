//! Tests as texts.
//!
//! ```text
//! # A comment.              a case ends at an empty line
//! command argument
//! data of the command
//! ----                      what follows is expected
//! what it prints
//! ```
//!
//! `UPDATE_EXPECT=1 cargo test` rewrites the expectations with what the code printed; the difference is then read in
//! the version control. A paragraph of comments alone is kept as it is.
#![warn(missing_docs)]
#![expect(clippy::panic, reason = "a test says by a panic what it found")]

pub mod history;

use std::fmt::Write as _;
use std::path::Path;

/// Compares the part of a page of documentation behind `mark` with what the code says; `path` is below the crate's
/// manifest. `FERROCK_WRITE_DOCS=1 cargo test` writes that part anew.
///
/// # Panics
/// When they differ, and when the page cannot be read or has no such mark.
#[track_caller]
pub fn check_page(manifest_dir: &str, path: &str, mark: &str, expected: &str) {
    let path = Path::new(manifest_dir).join(path);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let Some((head, found)) = page.split_once(mark) else { panic!("{} has no {mark}", path.display()) };
    if std::env::var_os("FERROCK_WRITE_DOCS").is_some() {
        #[expect(clippy::disallowed_methods, reason = "a file of the source tree, on request rewritten")]
        let written = std::fs::write(&path, format!("{head}{mark}{expected}"));
        return written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    assert!(found == expected, "{} is outdated: run this test with FERROCK_WRITE_DOCS=1", path.display());
}

/// Runs every case of the text file `path` (below the crate's manifest, `env!("CARGO_MANIFEST_DIR")`), in order. `run`
/// gets the lines of a case without comments, and returns what they print.
///
/// # Panics
/// When a case prints something else than expected, with both.
#[track_caller]
pub fn check(manifest_dir: &str, path: &str, mut run: impl FnMut(&str) -> String) {
    let path = Path::new(manifest_dir).join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut rewritten, mut failures) = (String::new(), String::new());
    for case in text.split("\n\n").map(|case| case.trim_matches('\n')).filter(|case| !case.is_empty()) {
        let (input, expected) = case.split_once("\n----").unwrap_or((case, ""));
        let (found, is_comment) = outcome(input, &mut run);
        if is_comment {
            let _ = write!(rewritten, "{input}\n\n");
            continue;
        }
        let _ = write!(rewritten, "{input}\n----\n{found}{}\n", if found.is_empty() { "" } else { "\n" });
        let expected = expected.trim_matches('\n').trim_end();
        if found != expected {
            let _ = write!(failures, "{input}\nexpected:\n{expected}\nfound:\n{found}\n\n");
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let rewritten = format!("{}\n", rewritten.trim_end());
        #[expect(clippy::disallowed_methods, reason = "a file of the source tree, on request rewritten")]
        std::fs::write(&path, rewritten).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    assert!(failures.is_empty(), "{} (UPDATE_EXPECT=1 rewrites it):\n{failures}", path.display());
}

fn outcome(input: &str, run: &mut impl FnMut(&str) -> String) -> (String, bool) {
    let commands: Vec<&str> = input.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    if commands.is_empty() {
        return (String::new(), true);
    }
    (run(&commands.join("\n")).trim_end().to_owned(), false)
}

/// The value of the argument `name=value` among the words of a line.
///
/// ```
/// assert_eq!(ferrock_script::argument("compact from=0 to=1", "to"), Some("1"));
/// ```
#[must_use]
pub fn argument<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}
