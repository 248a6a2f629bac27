//! `ferrock trace` and `ferrock replay`: what was asked of a database, told and asked again, over `ferrock::replay`.

use crate::backup::{failure, open};
use crate::failure::{Outcome, Result};
use crate::output;
use clap::Args;
use ferrock::replay::{Operation, ReplayOptions, Replayer, SeekDirection, TraceReader, TracedOperation};
use ferrock::{Error, WriteBatch};
use ferrock_base::byte_text;
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_vfs::default_file_system;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const TRACE_EXAMPLES: &str = "\
Examples:
  ferrock trace monday.trace              operations, keys and bytes by kind and column family
  ferrock trace monday.trace --operations --limit 20
                                          the first twenty, one a line
  ferrock trace monday.trace --operations --json
                                          all of them, a JSON object a line

A trace is what Db::start_trace or rocksdb_start_trace has written, or RocksDB. One of a program that was killed has no
end; that is said, and is no damage.

Exit codes: 0 the trace is sound, 1 it is damaged (what is before the damage is told), 2 it cannot be read, 64 the
command line is wrong.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  ferrock checkpoint DB COPY; ferrock replay monday.trace COPY
                                          the load of Monday again, as fast as it was, on a copy
  ferrock replay monday.trace COPY --speed 10 --threads 4
  ferrock replay monday.trace COPY --speed max --json

Batches are written: replay to a copy. The database needs column families with the ids of the traced one, as a
checkpoint or a backup from before the trace has them. It must not be open in another process. The first operation
that fails ends the replay.

Exit codes: 0 all was asked, 1 trace or database is damaged, 2 an operation could not be done, 64 the command line is
wrong.";

/// Arguments of `ferrock trace`.
#[derive(Debug, Args)]
#[command(after_help = TRACE_EXAMPLES)]
pub(crate) struct TraceArgs {
    /// The trace.
    trace: PathBuf,
    /// Print the operations instead of their counts.
    #[arg(long)]
    operations: bool,
    /// Print so many operations at most.
    #[arg(long, value_name = "N", requires = "operations")]
    limit: Option<u64>,
    /// Print the result as JSON; operations as a JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Arguments of `ferrock replay`.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The trace.
    trace: PathBuf,
    /// Directory of the database that is asked.
    db: PathBuf,
    /// How many times as fast as it was traced; `max` waits for nothing.
    #[arg(long, value_name = "N|max", default_value = "1", value_parser = parse_speed)]
    speed: f64,
    /// Threads that ask the database.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_speed(text: &str) -> std::result::Result<f64, String> {
    match text {
        "max" => Ok(f64::INFINITY),
        _ => match text.parse::<f64>() {
            Ok(speed) if speed > 0.0 => Ok(speed),
            _ => Err("a number above 0, or max".to_owned()),
        },
    }
}

/// Operations of a kind and a family.
#[derive(Default)]
struct Count {
    operations: u64,
    keys: u64,
    key_bytes: u64,
    value_bytes: u64,
}

impl Count {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.keys += 1;
        self.key_bytes += key.len() as u64;
        self.value_bytes += value.len() as u64;
    }
}

/// Runs `ferrock trace`.
pub(crate) fn trace(args: &TraceArgs) -> Result<Outcome> {
    let mut reader = TraceReader::open(&args.trace).map_err(failure)?;
    if args.operations { print_operations(args, &mut reader) } else { print_counts(args, &mut reader) }
}

fn print_operations(args: &TraceArgs, reader: &mut TraceReader) -> Result<Outcome> {
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0
        && let Some(traced) = reader.next_operation().map_err(failure)?
    {
        left -= 1;
        let after_us = traced.timestamp_us.saturating_sub(reader.start_us());
        if args.json {
            output::say(&in_json(&traced).to_string())?;
        } else {
            output::say(&format!("{:>13.6} {}", after_us as f64 / 1e6, in_words(&traced.operation)))?;
        }
    }
    Ok(Outcome::Good)
}

fn in_words(operation: &Operation) -> String {
    let text = |key: &[u8]| byte_text::from_bytes(key).into_owned();
    match operation {
        Operation::Write { batch } => match WriteBatch::from_data(batch.clone()) {
            Ok(batch) => format!("write      {} entries, {} bytes", batch.count(), batch.byte_size()),
            Err(error) => format!("write      damaged: {error}"),
        },
        Operation::Get { family, key } => format!("get        family {family} {}", text(key)),
        Operation::Seek { direction, family, key, lower, upper } => {
            let name = if *direction == SeekDirection::Forward { "seek      " } else { "seek-prev " };
            let bound = |bound: &Option<Vec<u8>>| bound.as_deref().map_or_else(String::new, text);
            let bounds = match (lower, upper) {
                (None, None) => String::new(),
                _ => format!(" within [{}, {})", bound(lower), bound(upper)),
            };
            format!("{name} family {family} {}{bounds}", text(key))
        }
        Operation::MultiGet { keys } => {
            let keys: Vec<_> = keys.iter().map(|(family, key)| format!("family {family} {}", text(key))).collect();
            format!("multi-get  {}", keys.join(", "))
        }
    }
}

fn in_json(traced: &TracedOperation) -> Value {
    let text = |key: &[u8]| byte_text::from_bytes(key).into_owned();
    let mut value = match &traced.operation {
        Operation::Write { batch } => {
            let entries = WriteBatch::from_data(batch.clone()).map(|batch| batch.count()).ok();
            json!({ "operation": "write", "entries": entries, "bytes": batch.len() })
        }
        Operation::Get { family, key } => json!({ "operation": "get", "family": family, "key": text(key) }),
        Operation::Seek { direction, family, key, lower, upper } => json!({
            "operation": if *direction == SeekDirection::Forward { "seek" } else { "seek_for_prev" },
            "family": family,
            "key": text(key),
            "lower": lower.as_deref().map(text),
            "upper": upper.as_deref().map(text),
        }),
        Operation::MultiGet { keys } => {
            let keys: Vec<_> = keys.iter().map(|(family, key)| json!([family, text(key)])).collect();
            json!({ "operation": "multi_get", "keys": keys })
        }
    };
    value["timestamp_us"] = traced.timestamp_us.into();
    value["offset"] = traced.offset.into();
    value
}

fn print_counts(args: &TraceArgs, reader: &mut TraceReader) -> Result<Outcome> {
    let mut counts: BTreeMap<(&str, u32), Count> = BTreeMap::new();
    let (mut operations, mut last_us) = (0_u64, reader.start_us());
    let damage = loop {
        match reader.next_operation() {
            Ok(Some(traced)) => {
                operations += 1;
                last_us = last_us.max(traced.timestamp_us);
                if let Err(error) = count(&mut counts, &traced.operation) {
                    break Some(error.in_file(&args.trace).at_offset(traced.offset));
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let span = Duration::from_micros(last_us - reader.start_us());
    if args.json {
        let rows = counts.iter().map(|((kind, family), count)| {
            json!({
                "operation": kind, "family": family, "operations": count.operations, "keys": count.keys,
                "key_bytes": count.key_bytes, "value_bytes": count.value_bytes,
            })
        });
        output::say_json(&json!({
            "operations": operations,
            "seconds": span.as_secs_f64(),
            "start_us": reader.start_us(),
            "is_complete": reader.is_complete(),
            "damage": damage.as_ref().map(Error::to_string),
            "by_kind": rows.collect::<Vec<_>>(),
        }))?;
    } else {
        let mut table = output::table(&["operation", "family", "operations", "keys", "key bytes", "value bytes"], 1);
        for ((kind, family), count) in &counts {
            let numbers = [count.operations, count.keys, count.key_bytes, count.value_bytes].map(output::number);
            table.add_row([vec![(*kind).to_owned(), family.to_string()], numbers.to_vec()].concat());
        }
        output::say(&table.to_string())?;
        let end = if reader.is_complete() || damage.is_some() { "" } else { "; the trace has no end" };
        output::say(&format!("{} operations in {}{end}", output::number(operations), output::seconds(span)))?;
    }
    damage.map_or(Ok(Outcome::Good), |error| Err(failure(error)))
}

/// Adds an operation. Records of a batch count by their kinds; the batch itself in each family that it writes to.
fn count(counts: &mut BTreeMap<(&'static str, u32), Count>, operation: &Operation) -> ferrock::Result<()> {
    match operation {
        Operation::Write { batch } => {
            let batch = WriteBatch::from_data(batch.clone())?;
            let mut families = Vec::new();
            for record in batch.iter() {
                let Some((family, kind, key, value)) =
                    record?.as_entry().map(|(family, kind, key, value)| (family, kind_of(kind), key, value))
                else {
                    continue;
                };
                let count = counts.entry((kind, family)).or_default();
                count.add(key, value);
                if !families.contains(&(kind, family)) {
                    families.push((kind, family));
                    count.operations += 1;
                }
            }
            if families.is_empty() {
                counts.entry(("empty batch", 0)).or_default().operations += 1;
            }
        }
        Operation::Get { family, key } => {
            let count = counts.entry(("get", *family)).or_default();
            count.operations += 1;
            count.add(key, b"");
        }
        Operation::Seek { direction, family, key, .. } => {
            let name = if *direction == SeekDirection::Forward { "seek" } else { "seek_for_prev" };
            let count = counts.entry((name, *family)).or_default();
            count.operations += 1;
            count.add(key, b"");
        }
        Operation::MultiGet { keys } => {
            let mut families = Vec::new();
            for (family, key) in keys {
                let count = counts.entry(("multi_get", *family)).or_default();
                count.add(key, b"");
                if !families.contains(family) {
                    families.push(*family);
                    count.operations += 1;
                }
            }
        }
    }
    Ok(())
}

fn kind_of(kind: ferrock::ValueType) -> &'static str {
    use ferrock::ValueType;
    match kind {
        ValueType::Value => "put",
        ValueType::Deletion => "delete",
        ValueType::SingleDeletion => "single_delete",
        ValueType::RangeDeletion => "delete_range",
        ValueType::Merge => "merge",
        ValueType::WideColumnEntity => "put_entity",
        _ => "other record",
    }
}

/// Runs `ferrock replay`.
pub(crate) fn replay(args: &ReplayArgs) -> Result<Outcome> {
    let reader = TraceReader::open(&args.trace).map_err(failure)?;
    let size = default_file_system().file_size(&args.trace).unwrap_or(0);
    let (db, families) = open(&args.db)?;
    let bar = output::byte_progress("Replay");
    bar.set_length(size);
    let moved = bar.clone();
    let mut replayer = Replayer::new(&db, reader).with_progress(move |bytes| moved.set_position(bytes));
    let options = ReplayOptions { threads: args.threads.into(), fast_forward: args.speed };
    let clock = SystemClock::default();
    let begun_us = clock.monotonic_us();
    let replayed = replayer.replay(&options);
    let took = Duration::from_micros(clock.monotonic_us() - begun_us);
    bar.finish_and_clear();
    let report = replayed.map_err(failure)?;
    drop((replayer, families));
    db.close().map_err(failure)?;
    if args.json {
        output::say_json(&json!({
            "operations": report.operations(), "writes": report.writes,
            "gets": report.gets, "gets_found": report.gets_found,
            "seeks": report.seeks, "seeks_found": report.seeks_found,
            "multi_gets": report.multi_gets, "multi_get_keys": report.multi_get_keys,
            "is_complete": report.is_complete, "seconds": took.as_secs_f64(),
        }))?;
    } else {
        let number = output::number;
        output::say(&format!(
            "{} operations in {}: {} writes, {} gets ({} found), {} seeks ({} found), {} multi-gets of {} keys{}",
            number(report.operations()),
            output::seconds(took),
            number(report.writes),
            number(report.gets),
            number(report.gets_found),
            number(report.seeks),
            number(report.seeks_found),
            number(report.multi_gets),
            number(report.multi_get_keys),
            if report.is_complete { "" } else { "; the trace has no end" },
        ))?;
    }
    Ok(Outcome::Good)
}
