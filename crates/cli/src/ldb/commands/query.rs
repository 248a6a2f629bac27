//! `query`: commands from standard input, a line each, on one open database. What a line does wrong is printed, and the
//! next line is read.
//!
//! ```text
//! get KEY | put KEY VALUE | delete KEY | count [--from=KEY] [--to=KEY] | help
//! ```

use crate::Result;
use crate::arguments::Request;
use crate::database::{Opened, open_for_writing};
use crate::text::Texts;
use ferrock::{ReadOptions, WriteBatch, WriteOptions};
use std::io::{BufRead, Write};

const HELP: &str = "get <key>\nput <key> <value>\ndelete <key>\ncount [--from=<start_key>] [--to=<end_key>]";

pub(super) fn run(request: &Request, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let opened = open_for_writing(request)?;
    for line in input.lines() {
        let answer = answer(&opened, texts, &line?)?;
        out.write_all(&answer)?;
        writeln!(out)?;
        // A program at the other end waits for it.
        out.flush()?;
    }
    drop(opened.family);
    opened.db.close()?;
    Ok(())
}

/// What is printed for a line. An error of the command line's kind is an answer; one of the database ends the command,
/// unless it is about the arguments.
fn answer(opened: &Opened, texts: Texts, line: &str) -> Result<Vec<u8>> {
    let (mut words, mut flags) = (Vec::new(), Vec::new());
    for word in line.split(' ') {
        match word.strip_prefix("--") {
            Some(flag) => flags.push(flag.split_once('=')),
            None => words.push(word),
        }
    }
    let mut bounds = (None, None);
    for flag in flags {
        match flag {
            Some(("from", key)) => bounds.0 = Some(key),
            Some(("to", key)) => bounds.1 = Some(key),
            Some(_) => return Ok(format!("{} gets invalid arguments", words.first().unwrap_or(&"")).into_bytes()),
            None => return Ok(b"Bad command".to_vec()),
        }
    }
    let has_bounds = bounds.0.is_some() || bounds.1.is_some();
    match words[..] {
        ["help"] => Ok(HELP.as_bytes().to_vec()),
        ["count"] => count(opened, texts, bounds),
        ["get", key] if !has_bounds => get(opened, texts, key),
        ["put", key, value] if !has_bounds => write(opened, texts, key, Some(value)),
        ["delete", key] if !has_bounds => write(opened, texts, key, None),
        ["put" | "delete" | "get" | "count", ..] => Ok(format!("{} gets invalid arguments", words[0]).into_bytes()),
        [] | [""] => Ok(b"Bad command".to_vec()),
        _ => Ok(format!("Unknown command {line}").into_bytes()),
    }
}

/// The bytes of a word; text that is not hexadecimal is an answer.
macro_rules! bytes_of {
    ($read:expr) => {
        match $read {
            Ok(bytes) => bytes,
            Err(crate::Failure::Usage(text)) => return Ok(text.into_bytes()),
            Err(failure) => return Err(failure),
        }
    };
}

fn get(opened: &Opened, texts: Texts, key: &str) -> Result<Vec<u8>> {
    let bytes = bytes_of!(texts.key_from(key));
    Ok(match opened.get(&bytes)? {
        Some(value) => [&texts.key(&bytes)[..], b" ==> ", &texts.value(&value)].concat(),
        None => format!("get {key} status: NotFound: ").into_bytes(),
    })
}

fn write(opened: &Opened, texts: Texts, key: &str, value: Option<&str>) -> Result<Vec<u8>> {
    let bytes = bytes_of!(texts.key_from(key));
    let mut batch = WriteBatch::new();
    let what = match value {
        Some(value) => {
            batch.put_cf(opened.family.id(), &bytes, &bytes_of!(texts.value_from(value)))?;
            format!("put {key} => {value}")
        }
        None => {
            batch.delete_cf(opened.family.id(), &bytes)?;
            format!("delete {key}")
        }
    };
    opened.write(batch, &WriteOptions::default())?;
    Ok(format!("{what} succeeded").into_bytes())
}

fn count(opened: &Opened, texts: Texts, (from, to): (Option<&str>, Option<&str>)) -> Result<Vec<u8>> {
    let from = bytes_of!(from.map(|key| texts.key_from(key)).transpose());
    let upper_bound = bytes_of!(to.map(|key| texts.key_from(key)).transpose());
    let options = ReadOptions { upper_bound, total_order_seek: true, fill_cache: false, ..ReadOptions::default() };
    let mut rows = opened.rows(&options);
    match from {
        Some(from) => rows.seek(&from),
        None => rows.seek_to_first(),
    }
    let mut count = 0_u64;
    while rows.valid() {
        count += 1;
        rows.next();
    }
    rows.status()?;
    Ok(count.to_string().into_bytes())
}
