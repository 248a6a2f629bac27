//! Commands on single keys: get, put, delete and similar ones.

use super::several_keys;
use crate::arguments::Request;
use crate::database::{open_for_reading, open_for_writing};
use crate::{Failure, Result};
use ferrock::{WriteBatch, WriteOptions};
use std::io::Write;

pub(super) fn get(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let key = texts.key_from(&request.arguments[0])?;
    let opened = open_for_reading(request)?;
    match opened.get(&key)? {
        Some(value) => {
            out.write_all(&texts.value(&value))?;
            writeln!(out)?;
            Ok(())
        }
        None => Err(Failure::Data(format!("Get failed: NotFound: key {}", request.arguments[0]))),
    }
}

pub(super) fn multi_get(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    several_keys::read(request, out, |opened, key| Ok(opened.get(key)?.map(|value| texts.value(&value))))
}

pub(super) fn write(request: &Request, out: &mut dyn Write) -> Result<()> {
    let texts = request.texts();
    let arguments = &request.arguments;
    let is_pairs = request.command == "batchput";
    if is_pairs && !arguments.len().is_multiple_of(2) {
        return Err(Failure::Usage("batchput takes keys and values: the last key has no value".to_owned()));
    }
    // Arguments are checked before anything is opened or created.
    let key = |index: usize| texts.key_from(&arguments[index]);
    let value = |index: usize| texts.value_from(&arguments[index]);
    let mut pairs = Vec::new();
    match request.command {
        "delete" | "singledelete" => pairs.push((key(0)?, Vec::new())),
        "deleterange" => pairs.push((key(0)?, key(1)?)),
        _ => {
            for index in (0..arguments.len()).step_by(2) {
                pairs.push((key(index)?, value(index + 1)?));
            }
        }
    }
    let opened = open_for_writing(request)?;
    let family = opened.family.id();
    let mut batch = WriteBatch::new();
    for (key, value) in &pairs {
        match request.command {
            "delete" => batch.delete_cf(family, key)?,
            "singledelete" => batch.single_delete_cf(family, key)?,
            "deleterange" => batch.delete_range_cf(family, key, value)?,
            "merge" => batch.merge_cf(family, key, value)?,
            _ => batch.put_cf(family, key, value)?,
        }
    }
    let options = WriteOptions { disable_wal: request.is_set("disable_wal"), ..WriteOptions::default() };
    opened.write(batch, &options)?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "OK")?;
    Ok(())
}
