//! Commands that read several keys: a line for each, whether or not it is there. `multi_get`, `multi_get_entity`.
//!
//! ```text
//! KEY ==> VALUE
//! Key not found: KEY
//! ```
//!
//! A key that cannot be read is told of on standard error, the others are read, and the command fails.

use crate::arguments::Request;
use crate::database::{Opened, open_for_reading};
use crate::{Failure, Result};
use ferrock::Error;
use std::io::Write;

/// Reads the keys that are the arguments; `read` gives what is printed of one that is there.
pub(super) fn read(
    request: &Request,
    out: &mut dyn Write,
    read: impl Fn(&Opened, &[u8]) -> std::result::Result<Option<Vec<u8>>, Error>,
) -> Result<()> {
    let texts = request.texts();
    let keys = request.arguments.iter().map(|key| texts.key_from(key)).collect::<Result<Vec<_>>>()?;
    let opened = open_for_reading(request)?;
    let mut failed = None;
    for key in &keys {
        let shown = texts.key(key);
        match read(&opened, key) {
            Ok(Some(value)) => out.write_all(&[&shown[..], b" ==> ", &value, b"\n"].concat())?,
            Ok(None) => out.write_all(&[b"Key not found: ", &shown[..], b"\n"].concat())?,
            Err(error) => {
                out.flush()?;
                // An error here has no reader when standard error is closed.
                let _ = writeln!(std::io::stderr(), "Status for key {}: {error}", String::from_utf8_lossy(&shown));
                failed = Some(Failure::Engine(error));
            }
        }
    }
    failed.map_or(Ok(()), Err)
}
