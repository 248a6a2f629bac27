//! Keys and values in order: `scan` (`key : value`) and `dump` (`key ==> value`, which `load` reads).

use crate::Result;
use crate::arguments::Request;
use crate::database::{Opened, Rows, open_for_reading};
use ferrock::ReadOptions;
use ferrock_console::histogram::Histogram;
use std::io::Write;

/// An iterator over the range that the command line names.
fn start(request: &Request, opened: &Opened) -> Result<Rows> {
    let (from, to) = request.range()?;
    let options = ReadOptions { upper_bound: to, total_order_seek: true, fill_cache: false, ..ReadOptions::default() };
    let mut iter = opened.rows(&options);
    match from {
        Some(from) => iter.seek(&from),
        None => iter.seek_to_first(),
    }
    Ok(iter)
}

pub(super) fn scan(request: &Request, out: &mut dyn Write) -> Result<()> {
    let (texts, most) = (request.texts(), request.count("max_keys")?);
    let opened = open_for_reading(request)?;
    let mut iter = start(request, &opened)?;
    let mut count = 0;
    while iter.valid() && count < most {
        out.write_all(&texts.key(iter.key()))?;
        if !request.is_set("no_value") {
            out.write_all(b" : ")?;
            out.write_all(&texts.value(iter.value()))?;
        }
        writeln!(out)?;
        count += 1;
        iter.next();
    }
    iter.status()?;
    Ok(())
}

pub(super) fn dump(request: &Request, out: &mut dyn Write) -> Result<()> {
    let (texts, most) = (request.texts(), request.count("max_keys")?);
    let counts_only = request.is_set("count_only");
    let opened = open_for_reading(request)?;
    if request.is_set("stats") {
        print_stats(&opened, out)?;
    }
    let mut iter = start(request, &opened)?;
    let (mut count, mut sizes) = (0_u64, Histogram::default());
    while iter.valid() && count < most {
        if counts_only {
            sizes.add(iter.value().len() as u64);
        } else {
            out.write_all(&texts.key(iter.key()))?;
            out.write_all(b" ==> ")?;
            out.write_all(&texts.value(iter.value()))?;
            writeln!(out)?;
        }
        count += 1;
        iter.next();
    }
    iter.status()?;
    writeln!(out, "Keys in range: {count}")?;
    if counts_only {
        writeln!(out, "Value size distribution: \n{sizes}")?;
    }
    Ok(())
}

/// Prints the statistics of the database.
pub(super) fn print_stats(opened: &Opened, out: &mut dyn Write) -> Result<()> {
    let stats = opened.db.property_cf(&opened.family, "rocksdb.stats").unwrap_or_default();
    writeln!(out, "{stats}")?;
    Ok(())
}
