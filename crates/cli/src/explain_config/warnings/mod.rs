//! What is likely to be a mistake: options that work against each other, against the data, or against the machine.
//!
//! ```text
//! memory.rs    memtables, cache, index and filter      shape.rs   level 0, levels, runs, files
//! reads.rs     filters, blocks, ways to read           safety.rs  what can be lost, what nothing stops
//! ```
//!
//! A rule looks at the options as they are used (in their bounds), at what was adjusted, and at the figures. It says
//! what was found, what happens, and what to set. None applies to the defaults by themselves; some need `--data` or
//! `--memory`.

mod memory;
mod reads;
mod safety;
mod shape;
#[cfg(test)]
mod tests;

use super::figures::{Asked, FamilyFigures, Figures};
use super::subject::Subject;
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_base::option_table::Adjustment;

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// A name that stays the same, for programs.
    pub(super) code: &'static str,
    /// Families that it is about; none: the database.
    pub(super) families: Vec<String>,
    /// The option that is to be looked at.
    pub(super) option: &'static str,
    /// What was found: options, values, bounds.
    pub(super) found: String,
    /// What happens.
    pub(super) effect: String,
    /// What to set.
    pub(super) advice: String,
}

/// What the rules of one family look at.
struct OfFamily<'a> {
    db: &'a DbOptions,
    /// As used.
    options: &'a ColumnFamilyOptions,
    figures: &'a FamilyFigures,
    /// The block cache.
    cache_bytes: f64,
}

/// Gathers warnings of one place.
struct Sink<'a> {
    name: Option<&'a str>,
    all: &'a mut Vec<Warning>,
}

impl Sink<'_> {
    fn add(&mut self, code: &'static str, option: &'static str, found: String, effect: &str, advice: &str) {
        let (effect, advice) = (effect.to_owned(), advice.to_owned());
        let same = self.all.iter_mut().find(|known| {
            known.code == code && known.found == found && known.effect == effect && known.advice == advice
        });
        match (same, self.name) {
            // Many families often have the same options.
            (Some(known), Some(name)) => known.families.push(name.to_owned()),
            _ => {
                let families = self.name.map(ToOwned::to_owned).into_iter().collect();
                self.all.push(Warning { code, families, option, found, effect, advice });
            }
        }
    }
}

/// Every warning, those of the database first.
pub(super) fn all(subject: &Subject, figures: &Figures, asked: &Asked) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut sink = Sink { name: None, all: &mut all };
    refused(&mut sink, subject.refused.as_deref());
    adjusted(&mut sink, &subject.adjusted);
    memory::of_database(&mut sink, subject, figures, asked);
    shape::of_database(&mut sink, subject, figures);
    reads::of_database(&mut sink, subject, figures);
    safety::of_database(&mut sink, subject, figures, asked);
    for (family, its_figures) in subject.families.iter().zip(&figures.families) {
        let mut sink = Sink { name: Some(&family.name), all: &mut all };
        let of = OfFamily {
            db: &subject.db,
            options: &family.used,
            figures: its_figures,
            cache_bytes: figures.memory.cache,
        };
        refused(&mut sink, family.refused.as_deref());
        adjusted(&mut sink, &family.adjusted);
        memory::of_family(&mut sink, &of);
        shape::of_family(&mut sink, &of);
        reads::of_family(&mut sink, &of);
        safety::of_family(&mut sink, &of);
    }
    all
}

fn refused(sink: &mut Sink<'_>, why: Option<&str>) {
    if let Some(why) = why {
        sink.add(
            "refused",
            "",
            why.to_owned(),
            "the database does not open with these options",
            "one of the options named",
        );
    }
}

/// Values out of their bounds, or out of their order.
fn adjusted(sink: &mut Sink<'_>, adjustments: &[Adjustment]) {
    for adjustment in adjustments {
        let (code, option, effect) = match &adjustment.violation.name[..] {
            "level0_slowdown_writes_trigger" => (
                "level0-slowdown-below-trigger",
                "level0_slowdown_writes_trigger",
                "writers would be slowed down before a compaction of level 0 is due, so another value is used",
            ),
            "level0_stop_writes_trigger" => (
                "level0-stop-below-slowdown",
                "level0_stop_writes_trigger",
                "writers would be stopped before they are slowed down, so another value is used",
            ),
            _ => ("adjusted", "", "the value is not used as it is written"),
        };
        sink.add(code, option, adjustment.to_string(), effect, "the value that is used, or others that go together");
    }
}
