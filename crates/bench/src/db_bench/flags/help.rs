//! The table as text: `--help`, and the values in effect.

use super::{Effect, Flag, Kind, table};
use crate::wrap::wrap;
use std::fmt::Write as _;

const INTRODUCTION: &str = "\
db_bench measures the engine, with the flags and the output of RocksDB's db_bench. Values follow from their keys and
are checked when they are read; a wrong one ends the run with exit code 1.

Examples:
  db_bench --benchmarks=fillseq,readrandom --num=1000000
  db_bench --benchmarks=readrandom[W1-X5] --use_existing_db --db=/data/bench --threads=8 --histogram
  db_bench --benchmarks=fillrandom,stats --value_size=1k --compression_type=zstd --json

Flags are written --flag=value, --flag value, or for a Boolean --flag and --noflag; one dash does as well.

Exit codes:
  0   all is well
  1   the data is not what it must be: a value was wrong
  2   the work could not be done (the database does not open, no space, no permission)
  64  the command line is wrong, or asks for what is not here
";

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str(&crate::benchmarks::help());
    let is_run = |flag: &&Flag| flag.effect == Effect::Run;
    let is_option = |flag: &&Flag| matches!(flag.effect, Effect::Option(..));
    let is_refused = |flag: &&Flag| matches!(flag.effect, Effect::Refused(_) | Effect::Inert(..));
    section(&mut text, "Flags of this program:", table().iter().filter(is_run));
    section(&mut text, "Flags that set one option of the engine:", table().iter().filter(is_option));
    list(
        &mut text,
        "Flags of RocksDB that are not here: only their default is accepted:",
        table().iter().filter(is_refused),
    );
    let is_gone = |flag: &&Flag| matches!(flag.effect, Effect::Gone(_));
    section(
        &mut text,
        "Flags whose behaviour is gone everywhere: reported and ignored:",
        table().iter().filter(is_gone),
    );
    text
}

fn section<'a>(text: &mut String, title: &str, flags: impl Iterator<Item = &'a Flag>) {
    let _ = writeln!(text, "\n{title}");
    for flag in flags {
        let kind = match flag.kind {
            Kind::Bool => "bool",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Text => "text",
        };
        let (meaning, default) = match flag.effect {
            Effect::Gone(reason) => (reason, String::new()),
            _ => (&flag.help[..], format!(" type: {kind} default: {:?}", flag.default).replace('"', "")),
        };
        wrap(text, &format!("--{} ({}){default}", flag.name, meaning.trim_end_matches('.')), "  ", "      ");
    }
}

fn list<'a>(text: &mut String, title: &str, flags: impl Iterator<Item = &'a Flag>) {
    let _ = writeln!(text, "\n{title}");
    let words: Vec<String> = flags.map(|flag| format!("--{}={}", flag.name, flag.default)).collect();
    wrap(text, &words.join(" "), "  ", "  ");
}

/// The values in effect, from `(title, [(name, value)])`.
pub(crate) fn effective(groups: &[(&str, Vec<(String, String)>)]) -> String {
    let mut text = String::new();
    for (title, pairs) in groups {
        let _ = writeln!(text, "{title}:");
        let words = pairs.iter().map(|(name, value)| {
            let value = if value.contains(char::is_whitespace) { format!("{value:?}") } else { value.clone() };
            format!("{name}={value}")
        });
        wrap(&mut text, &words.collect::<Vec<_>>().join(" "), "  ", "  ");
    }
    text
}
