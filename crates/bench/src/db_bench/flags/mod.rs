//! The flags: one table, used for parsing, `--help`, the print of values in effect, and the refusal of unknown flags.
//!
//! ```text
//! run.rs       flags of this program               engine.rs    RocksDB's flag -> the engine's option of another name
//! elsewhere.rs unsupported or retired flags        + every option of the engine under its own name
//! parse.rs     command line -> Values              help.rs      Values -> text
//! ```
//!
//! A flag takes effect or is refused; only flags that no release implements any more are ignored, with a message.

mod elsewhere;
mod engine;
mod help;
mod parse;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use help::{effective, help};
pub(crate) use parse::{Parsed, Setting, Values, parse};

use ferrock::options::{
    BlockBasedTableOptions, COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT, ColumnFamilySettings, DB_OPTIONS_WITHOUT_EFFECT,
    DbSettings, DefaultText, OptionInfo,
};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--flag`, `--noflag`, `--flag=false`.
    Bool,
    /// Digits, optionally with `k`, `m`, `g` or `t` (powers of 1024) at the end.
    Integer,
    /// A decimal fraction.
    Number,
    /// Anything.
    Text,
}

/// Which of the engine's option tables has an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Db,
    Family,
    Table,
}

/// The effect of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// This program reads it.
    Run,
    /// Sets the engine's option of that name.
    Option(Scope, &'static str),
    /// Belongs to an option of the engine that has no effect yet: the default is accepted, other values are refused, or
    /// ignored if they only ask for a way of working.
    Inert(Scope, &'static str),
    /// Unsupported: the default is accepted, other values are refused for this reason.
    Refused(&'static str),
    /// Retired, for this reason: reported and ignored.
    Gone(&'static str),
}

/// A row of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    name: &'static str,
    kind: Kind,
    /// Empty for [`Effect::Option`]: the engine's.
    default: &'static str,
    help: &'static str,
    effect: Effect,
}

/// A flag.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: String,
    pub(crate) help: String,
    pub(crate) effect: Effect,
    /// True if the default is this program's, not the engine's.
    pub(crate) has_own_default: bool,
}

/// Every flag, by name.
pub(crate) fn table() -> &'static [Flag] {
    static TABLE: OnceLock<Vec<Flag>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows = run::ROWS.iter().chain(engine::ROWS).chain(elsewhere::REFUSED).chain(elsewhere::GONE);
        let mut flags: Vec<Flag> = rows.map(from_row).collect();
        let known: BTreeSet<&str> = flags.iter().map(|flag| flag.name).collect();
        let mut derived = Vec::new();
        for (scope, table) in OPTION_TABLES {
            derived.extend(table.iter().filter(|info| !known.contains(info.name)).map(|info| from_info(*scope, info)));
        }
        for (scope, table) in WITHOUT_EFFECT {
            derived.extend(table.iter().filter(|(name, _)| !known.contains(name)).map(|row| from_default(*scope, row)));
        }
        flags.extend(derived);
        flags.sort_by_key(|flag| flag.name);
        flags
    })
}

const OPTION_TABLES: &[(Scope, &[OptionInfo])] = &[
    (Scope::Db, DbSettings::TABLE),
    (Scope::Family, ColumnFamilySettings::TABLE),
    (Scope::Table, BlockBasedTableOptions::TABLE),
];
const WITHOUT_EFFECT: &[(Scope, &[DefaultText])] =
    &[(Scope::Db, DB_OPTIONS_WITHOUT_EFFECT), (Scope::Family, COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT)];

/// The flag of that name.
pub(crate) fn find(name: &str) -> Option<&'static Flag> {
    let table = table();
    table.binary_search_by_key(&name, |flag| flag.name).ok().map(|index| &table[index])
}

fn option_info(scope: Scope, name: &str) -> Option<&'static OptionInfo> {
    OPTION_TABLES
        .iter()
        .filter(|(known, _)| *known == scope)
        .flat_map(|(_, table)| *table)
        .find(|info| info.name == name)
}

fn default_without_effect(scope: Scope, name: &str) -> Option<&'static str> {
    let tables = WITHOUT_EFFECT.iter().filter(|(known, _)| *known == scope);
    tables.flat_map(|(_, table)| *table).find(|(known, _)| *known == name).map(|(_, default)| *default)
}

fn from_row(row: &Row) -> Flag {
    let info = match row.effect {
        Effect::Option(scope, name) => option_info(scope, name),
        _ => None,
    };
    let engine_default = match row.effect {
        Effect::Inert(scope, name) => default_without_effect(scope, name).map(str::to_owned),
        _ => info.map(|info| (info.default_text)()),
    };
    let help = if row.help.is_empty() { info.map_or("", |info| info.doc) } else { row.help };
    Flag {
        name: row.name,
        kind: row.kind,
        default: if row.default.is_empty() { engine_default.unwrap_or_default() } else { row.default.to_owned() },
        help: help.split_whitespace().collect::<Vec<_>>().join(" "),
        effect: row.effect,
        has_own_default: !row.default.is_empty() && info.is_some(),
    }
}

fn from_info(scope: Scope, info: &'static OptionInfo) -> Flag {
    let kind = match info.type_name {
        "bool" => Kind::Bool,
        "f64" => Kind::Number,
        "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => Kind::Integer,
        _ => Kind::Text,
    };
    Flag {
        name: info.name,
        kind,
        default: (info.default_text)(),
        help: info.doc.split_whitespace().collect::<Vec<_>>().join(" "),
        effect: Effect::Option(scope, info.name),
        has_own_default: false,
    }
}

fn from_default(scope: Scope, (name, default): &'static DefaultText) -> Flag {
    let kind = match *default {
        "true" | "false" => Kind::Bool,
        text if text.parse::<i64>().is_ok() => Kind::Integer,
        text if text.parse::<f64>().is_ok() => Kind::Number,
        _ => Kind::Text,
    };
    Flag {
        name,
        kind,
        default: (*default).to_owned(),
        help: "Not built yet; only the default is accepted.".to_owned(),
        effect: Effect::Inert(scope, name),
        has_own_default: false,
    }
}

/// The known flag nearest to an unknown name.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let best = table().iter().map(|flag| (distance(name, flag.name), flag.name)).min()?;
    (best.0 <= (name.len() / 3).max(2)).then_some(best.1)
}

/// Edits (insert, delete, replace) that turn one name into the other.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let replace = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
