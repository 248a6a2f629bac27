//! `ferrock explain-config`: what an option set means, in plain words and numbers.
//!
//! ```text
//! mod.rs      arguments --> subject.rs   the option set: a file, a profile, a text
//!                           figures.rs   what it comes to: memory, levels, amplification
//!                           warnings/    what is likely to be a mistake
//!                           words.rs     sentences: when writers wait, what lost power loses
//!                           report.rs    tables and JSON
//! ```

mod figures;
mod report;
mod subject;
#[cfg(test)]
mod tests;
mod warnings;
mod words;

use crate::failure::{Failure, Outcome, Result};
use crate::output::{self, parse_bytes};
use clap::Args;
use figures::{Asked, Figures};
use std::path::PathBuf;
use subject::{Sources, Subject};

const EXAMPLES: &str = "\
Examples:
  ferrock explain-config /var/lib/app/db        what the options of a database mean (its newest OPTIONS file)
  ferrock explain-config OPTIONS-000007 --data 500GB --memory 16GB
                                                how many levels and files, does it fit into the memory?
  ferrock explain-config --profile write-heavy --data 1TB
                                                what a profile means for a terabyte
  ferrock explain-config DIR --profile flash    the options of a database with a profile set on top
  ferrock explain-config DIR --options 'write_buffer_size=256MB;max_write_buffer_number=6' --memory 4GB
                                                try a change before it is made
  ferrock explain-config DIR --strict --json | jq '.warnings[].code'
                                                for a check in a pipeline: exit code 3 if there are warnings

It tells, for the database and for each family: memory at most by holder, levels, files, what is written, kept and read
for each byte (about, by formulas: `ferrock plan` simulates), when writers slow down and stop, what a lost power can
lose, what differs from the defaults, and warnings: what was found, what happens, what to set.

--data and --memory are for the whole database: each family is taken to have an equal share of the data. An OPTIONS file
does not say how large the block cache is: --cache does, and without it that of the profile, or 32 MiB, is taken.

Sizes: KB, MB, GB, TB and PB are powers of 1000, KiB to PiB of 1024. --options takes sizes as RocksDB does.

Profiles: balanced, point-lookup, write-heavy, scan, tiny, flash, bulk-load. docs/profiles.md says what they set and
why. Nothing is written, and no database is opened.

Exit codes: 0 explained, 1 the OPTIONS file is damaged, 2 it cannot be read, 3 with --strict: there are warnings, 64 the
command line or an option is wrong.";

/// Arguments of `ferrock explain-config`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// Directory of a database, whose newest OPTIONS file is taken, or an OPTIONS file.
    #[arg(required_unless_present_any = ["profile", "options"])]
    path: Option<PathBuf>,
    /// Options of a profile: over those of PATH, or over the defaults.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Options over the others, for all families, as RocksDB writes them: `name=value;name={name=value;...}`.
    #[arg(long, value_name = "TEXT")]
    options: Option<String>,
    /// Bytes of live keys and values of all families together, as 500GB or 2TiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    data: Option<u64>,
    /// Bytes of memory that the database may take, all families together.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Bytes of the block cache.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    cache: Option<u64>,
    /// Bytes of a key.
    #[arg(long, value_name = "SIZE", default_value = "16", value_parser = parse_bytes)]
    key_size: u64,
    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "100", value_parser = parse_bytes)]
    value_size: u64,
    /// Share of bytes that compression leaves.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    compression_ratio: f64,
    /// Processors of the machine; by default this one's.
    #[arg(long, value_name = "N")]
    cpus: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Exit with 3 if there are warnings.
    #[arg(long)]
    strict: bool,
}

impl ExplainArgs {
    fn asked(&self) -> Result<Asked> {
        let usage = |message: &str| Failure::Usage(message.to_owned());
        if !(0.0..=1.0).contains(&self.compression_ratio) || self.compression_ratio == 0.0 {
            return Err(usage("--compression-ratio must be above 0 and at most 1"));
        }
        if self.key_size == 0 {
            return Err(usage("--key-size must be above 0"));
        }
        if self.cpus == Some(0) || self.memory == Some(0) || self.data == Some(0) {
            return Err(usage("--data, --memory and --cpus must be above 0"));
        }
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Asked {
            data: self.data,
            memory: self.memory,
            cache: self.cache,
            key_size: self.key_size,
            value_size: self.value_size,
            compression_ratio: self.compression_ratio,
            cpus: self.cpus.unwrap_or(here),
        })
    }
}

/// Runs `ferrock explain-config`.
pub(crate) fn run(args: &ExplainArgs) -> Result<Outcome> {
    let asked = args.asked()?;
    let sources =
        Sources { path: args.path.as_deref(), profile: args.profile.as_deref(), options: args.options.as_deref() };
    let subject = Subject::load(sources)?;
    let figures = Figures::of(&subject, &asked);
    let warnings = warnings::all(&subject, &figures, &asked);
    if args.json {
        output::say_json(&report::to_json(&subject, &figures, &asked, &warnings))?;
    } else {
        output::say(report::text(&subject, &figures, &asked, &warnings).trim_end())?;
    }
    Ok(if args.strict && !warnings.is_empty() { Outcome::Warned } else { Outcome::Good })
}
