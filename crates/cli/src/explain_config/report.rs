//! What is told, as text for people and as JSON for programs.

use super::figures::{Asked, FamilyFigures, Figures, Tree};
use super::subject::{Family, Subject};
use super::warnings::Warning;
use super::words;
use crate::output::{bytes, number, table};
use ferrock::options::{SectionDifferences, differences_from_defaults};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Columns of a line.
const WIDTH: usize = 110;

fn size(count: f64) -> String {
    bytes(count as u64)
}

/// Adds a paragraph, its lines behind the first further in.
fn paragraph(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut line = first.to_owned();
    let mut is_begun = false;
    for word in text.split_whitespace() {
        if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = rest.to_owned();
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

fn heading(out: &mut String, text: &str) {
    let _ = write!(out, "\n{text}\n");
}

/// The report for people.
pub(super) fn text(subject: &Subject, figures: &Figures, asked: &Asked, warnings: &[Warning]) -> String {
    let mut out = String::new();
    let count = subject.families.len();
    let families = if count == 1 { "one family".to_owned() } else { format!("{count} families") };
    paragraph(&mut out, "", "  ", &format!("{}: {families}", subject.title));
    if let Some(data) = asked.data {
        let share =
            if count > 1 { format!(", {} for each family", size(data as f64 / count as f64)) } else { String::new() };
        let line = format!(
            "Data of {}{share}: keys of {} and values of {}, compressed to {} % where they are.",
            bytes(data),
            bytes(asked.key_size),
            bytes(asked.value_size),
            (asked.compression_ratio * 100.0).round()
        );
        paragraph(&mut out, "", "", &line);
    }
    memory(&mut out, figures, asked);
    heading(&mut out, "Database");
    for line in words::database(subject, figures) {
        paragraph(&mut out, "  ", "  ", &line);
    }
    for group in groups(subject, figures) {
        family(&mut out, &group);
    }
    heading(&mut out, "What can be lost");
    for line in words::losses(&subject.db) {
        paragraph(&mut out, "  ", "  ", &line);
    }
    differences(&mut out, subject);
    told_warnings(&mut out, warnings, count);
    if !subject.notes.is_empty() {
        heading(&mut out, "Notes on the file");
        for note in &subject.notes {
            paragraph(&mut out, "  ", "    ", note);
        }
    }
    out
}

fn memory(out: &mut String, figures: &Figures, asked: &Asked) {
    let has_data = asked.data.is_some();
    heading(out, if has_data { "Memory at most" } else { "Memory at most, beside what grows with the data (--data)" });
    let memory = &figures.memory;
    let mut rows = table(&["holder", "bytes", "follows from"], 1);
    if let Some(column) = rows.column_mut(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for (holder, count, from, needs_data) in holders(memory) {
        if has_data || !needs_data {
            rows.add_row([holder.to_owned(), size(count), from.to_owned()]);
        }
    }
    let limit = asked.memory.map(|limit| format!("--memory {}", bytes(limit))).unwrap_or_default();
    rows.add_row(["all".to_owned(), size(memory.all()), limit]);
    let _ = writeln!(out, "{rows}");
    if figures.cached_metadata > 0.0 {
        let text = format!("In the block cache {} are for indexes and filters.", size(figures.cached_metadata));
        paragraph(out, "  ", "  ", &text);
    }
}

type Holder = (&'static str, f64, &'static str, bool);

/// Holder, bytes, the options that it follows from, and whether the data says how much it is.
fn holders(memory: &super::figures::MemoryFigures) -> [Holder; 6] {
    [
        ("memtables", memory.memtables, "write_buffer_size x max_write_buffer_number, db_write_buffer_size", false),
        ("block cache", memory.cache, "the program: --cache", false),
        ("indexes and filters", memory.metadata, "cache_index_and_filter_blocks = false, max_open_files", true),
        ("open tables", memory.open_tables, "max_open_files, target_file_size_base", true),
        ("metadata of files", memory.file_metadata, "target_file_size_base", true),
        ("flushes and compactions", memory.jobs, "max_background_jobs, compaction_readahead_size, filters", false),
    ]
}

/// Families of which the same is told.
struct Group<'a> {
    names: Vec<&'a str>,
    lines: Vec<String>,
    tree: Option<&'a Tree>,
}

fn groups<'a>(subject: &'a Subject, figures: &'a Figures) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (family, its_figures) in subject.families.iter().zip(&figures.families) {
        let lines = lines(family, its_figures);
        match groups.iter_mut().find(|group| group.lines == lines) {
            Some(group) => group.names.push(&family.name),
            None => groups.push(Group { names: vec![&family.name], lines, tree: its_figures.tree.as_ref() }),
        }
    }
    groups
}

fn lines(family: &Family, figures: &FamilyFigures) -> Vec<String> {
    let mut lines = words::shape(&family.used, figures);
    lines.extend(words::waits(&family.used));
    lines.extend(figures.tree.iter().flat_map(amplifications));
    lines
}

fn family(out: &mut String, group: &Group<'_>) {
    /// Names that are listed; of more there is the number.
    const NAMES: usize = 8;
    let shown = group.names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    let more = group.names.len().saturating_sub(NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let title = if group.names.len() == 1 { "Family" } else { "Each of the families" };
    heading(out, &format!("{title} {shown}{more}"));
    if let Some(tree) = group.tree {
        let mut rows = table(&["level", "bytes", "files", "bytes of a file"], 1);
        for level in &tree.levels {
            let files = number(level.files() as u64);
            rows.add_row([
                format!("L{}", level.level),
                size(level.bytes),
                files,
                size(level.file_bytes.min(level.bytes)),
            ]);
        }
        let _ = writeln!(out, "{rows}");
    }
    for line in &group.lines {
        paragraph(out, "  ", "  ", line);
    }
}

fn amplifications(tree: &Tree) -> Vec<String> {
    vec![
        format!("Written for each byte: about {:.1}, the log included.", tree.write_amplification),
        format!(
            "Space for each byte of live data in tables: up to {:.2}, and while compactions run that of their outputs.",
            tree.space_amplification
        ),
        if tree.runs.1.is_finite() {
            format!(
                "Sorted runs that a read looks through: about {:.0}, {:.0} when writers are stopped.",
                tree.runs.0, tree.runs.1
            )
        } else {
            format!("Sorted runs that a read looks through: about {:.0}, for each table is one.", tree.runs.0)
        },
        format!(
            "Data blocks that a lookup looks into: about {:.1} of a key that is there, {:.2} of one that is not.",
            tree.blocks.0, tree.blocks.1
        ),
    ]
}

fn sections(subject: &Subject) -> Vec<SectionDifferences> {
    differences_from_defaults((&subject.db, &subject.written()))
}

fn differences(out: &mut String, subject: &Subject) {
    heading(out, "Differs from the defaults");
    let mut is_any = false;
    for section in sections(subject).iter().filter(|section| !section.options.is_empty()) {
        is_any = true;
        let _ = writeln!(out, "  {}", section.section);
        for option in &section.options {
            let value = option.after.as_deref().unwrap_or("(not there)");
            let default = match option.before.as_deref() {
                None => String::new(),
                Some("") => " (nothing)".to_owned(),
                Some(default) => format!(" ({default})"),
            };
            paragraph(out, "    ", "      ", &format!("{} = {value}{default}", option.name));
        }
    }
    if !is_any {
        out.push_str("  Nothing.\n");
    }
}

fn told_warnings(out: &mut String, warnings: &[Warning], count: usize) {
    heading(out, &format!("Warnings: {}", warnings.len()));
    for warning in warnings {
        let of = match &warning.families[..] {
            [] => String::new(),
            _ if count == 1 => String::new(),
            [one] => format!(" (family {one})"),
            many if many.len() == count => " (every family)".to_owned(),
            [first, rest @ ..] => format!(" (family {first} and {} more)", rest.len()),
        };
        let _ = writeln!(out, "  {}{of}", warning.code);
        paragraph(out, "    found  ", "           ", &warning.found);
        paragraph(out, "    then   ", "           ", &warning.effect);
        paragraph(out, "    set    ", "           ", &warning.advice);
    }
}

/// The report for programs.
pub(super) fn to_json(subject: &Subject, figures: &Figures, asked: &Asked, warnings: &[Warning]) -> Value {
    let memory = &figures.memory;
    let holders: serde_json::Map<String, Value> =
        holders(memory).into_iter().map(|(name, count, ..)| (name.replace(' ', "_"), json!(count as u64))).collect();
    let families = subject.families.iter().zip(&figures.families);
    let families: Vec<Value> = families.map(|(family, figures)| family_json(family, figures)).collect();
    let differences: Vec<Value> = sections(subject)
        .iter()
        .flat_map(|section| &section.options)
        .map(|row| {
            let section = row.section.to_string();
            json!({ "section": section, "name": row.name, "value": row.after, "default": row.before })
        })
        .collect();
    let warnings: Vec<Value> = warnings
        .iter()
        .map(|warning| {
            json!({
                "code": warning.code,
                "families": warning.families,
                "option": warning.option,
                "found": warning.found,
                "effect": warning.effect,
                "advice": warning.advice,
            })
        })
        .collect();
    json!({
        "options_of": subject.title,
        "asked": {
            "data_bytes": asked.data,
            "memory_bytes": asked.memory,
            "key_bytes": asked.key_size,
            "value_bytes": asked.value_size,
            "compression_ratio": asked.compression_ratio,
            "cpus": asked.cpus,
        },
        "memory_bytes_at_most": { "holders": holders, "all": memory.all() as u64 },
        "index_and_filter_bytes_in_cache": figures.cached_metadata as u64,
        "wal_bytes_at_most": figures.wal_limit as u64,
        "files": asked.data.map(|_| figures.files as u64),
        "families": families,
        "database": words::database(subject, figures),
        "losses": words::losses(&subject.db),
        "differences": differences,
        "warnings": warnings,
        "notes": subject.notes,
    })
}

fn family_json(family: &Family, figures: &FamilyFigures) -> Value {
    let options = &family.used;
    let tree = figures.tree.as_ref().map(|tree| {
        let levels = tree
            .levels
            .iter()
            .map(|level| json!({ "level": level.level, "bytes": level.bytes as u64, "files": level.files() as u64 }));
        json!({
            "data_bytes": tree.data_bytes as u64,
            "levels": levels.collect::<Vec<_>>(),
            "index_bytes": tree.index_bytes as u64,
            "filter_bytes": tree.filter_bytes as u64,
            "write_amplification": tree.write_amplification,
            "space_amplification": tree.space_amplification,
            "sorted_runs": tree.runs.0,
            "blocks_per_hit": tree.blocks.0,
            "blocks_per_miss": tree.blocks.1,
        })
    });
    json!({
        "name": family.name,
        "memtable_bytes_at_most": figures.memtable_bytes as u64,
        "flushed_bytes_at_most": figures.flushed_bytes as u64,
        "tree": tree,
        "writers_wait": words::waits(options),
        "shape": words::shape(options, figures),
    })
}
