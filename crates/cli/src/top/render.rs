//! The whole view as lines: a pure function of a snapshot, what is looked at, and the size of the terminal.
//!
//! ```text
//! header     source, name, condition, how old                       always
//! banner     the connection is lost, the database does not open     in trouble
//! sections   all of them beside and below each other, or one        rows are left out until they fit
//! footer     keys                                                    where there is a height, so a terminal
//! ```

use super::layout::{self, Line, Style, wrapped};
use super::look::{Look, VIEWS, View};
use super::numbers::Numbers;
use super::sections::{self, Extent};
use super::snapshot::{Snapshot, Trouble, TroubleKind};
use super::text;

/// Columns that a section needs to be beside another one.
const SECTION: usize = 60;
/// Rows of each table that are tried, until everything fits. Where nothing does, the last ones, cut.
const ROWS: [usize; 7] = [usize::MAX, 20, 12, 8, 5, 3, 6];

/// The lines of a view, each of at most `width` columns. With a height they are at most so many, the last one tells the
/// keys; without, everything is there.
pub(crate) fn render(snapshot: &Snapshot, look: Look, width: usize, height: Option<usize>) -> Vec<Line> {
    let mut lines = header(snapshot, width);
    if let Some(trouble) = &snapshot.trouble {
        lines.extend(banner(snapshot, trouble, width));
    }
    let Some(height) = height else {
        lines.extend(body(snapshot, look, width, usize::MAX));
        return layout::within(lines, width);
    };
    let room = height.saturating_sub(lines.len() + 1);
    let tried = ROWS.iter().map(|&most| body(snapshot, look, width, most));
    let mut shown = Vec::new();
    for body in tried {
        let is_fitting = body.len() <= room;
        shown = body;
        if is_fitting {
            break;
        }
    }
    if shown.len() > room {
        shown.truncate(room.saturating_sub(1));
        shown.push(Line::new("… Tab shows one part at a time", Style::Soft));
    }
    lines.extend(shown);
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(footer(look, width));
    lines.truncate(height);
    layout::within(lines, width)
}

fn header(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    let Some(numbers) = snapshot.numbers() else {
        return vec![Line::new("ferrock top  ", Style::Title).with(&snapshot.source, Style::Plain)];
    };
    let mut lines = vec![Line::new("ferrock top  ", Style::Title).with(&numbers.name, Style::Plain)];
    let state = if numbers.is_live {
        let of = &numbers.stalls;
        let style = match of.condition.as_str() {
            "normal" => Style::Good,
            "stopped" => Style::Bad,
            _ => Style::Busy,
        };
        let mut state = Line::new(&format!("writes {}", of.condition), style);
        if of.delayed_write_rate > 0 {
            state = state.with(&format!(" to {}", text::bytes_each_second(of.delayed_write_rate as f64)), style);
        }
        state.with(&format!(", open for {}", text::span(numbers.uptime_us / 1_000_000)), Style::Plain)
    } else {
        Line::new("read from the directory", Style::Good)
    };
    lines.push(state.with(&format!(", as of {}", text::clock(numbers.as_of_us)), Style::Plain));
    if let Some(error) = &numbers.background.error {
        lines.extend(wrapped(&format!("Writes are stopped by an error: {error}"), width, Style::Bad));
    }
    if !numbers.is_live {
        let text = "Rates, stalls, jobs, memory, caches and latencies are not known here: the process that writes counts \
                    them. Ask its own inspector by its URL.";
        lines.extend(wrapped(text, width, Style::Soft));
    }
    lines
}

fn banner(snapshot: &Snapshot, trouble: &Trouble, width: usize) -> Vec<Line> {
    let title = match (trouble.kind, &snapshot.reading) {
        (TroubleKind::Connection, Some(_)) => "THE CONNECTION IS LOST.",
        (TroubleKind::Connection, None) => "THERE IS NO CONNECTION.",
        (TroubleKind::Database, _) => "THE DATABASE DOES NOT OPEN.",
    };
    let mut lines = wrapped(title, width, Style::Bad);
    lines.extend(wrapped(&trouble.message, width, Style::Plain));
    lines.extend(wrapped(&format!("What to do: {}", trouble.remedy), width, Style::Plain));
    if snapshot.reading.is_some() {
        let text = format!("Asked in vain at {}; what is below is of before.", text::clock(snapshot.time_us));
        lines.extend(wrapped(&text, width, Style::Soft));
    }
    lines
}

fn body(snapshot: &Snapshot, look: Look, width: usize, most_rows: usize) -> Vec<Line> {
    let Some(numbers) = snapshot.numbers() else { return Vec::new() };
    if look.view == View::All {
        let make = |width| all(snapshot, numbers, Extent { width, most_rows, sort: 0 });
        return layout::beside(width, SECTION, &make);
    }
    let extent = Extent { width, most_rows, sort: look.sort };
    let is_known = numbers.is_live || look.view == View::Levels;
    let section = match look.view {
        _ if !is_known => wrapped("Not known of a directory.", width, Style::Soft),
        View::All | View::Levels => sections::levels(numbers, extent),
        View::Stalls => sections::stalls(snapshot, numbers, extent),
        View::Memory => sections::memory(numbers, extent),
        View::Cache => sections::cache(snapshot, numbers, extent),
        View::Latencies => sections::latencies(snapshot, numbers, extent),
    };
    std::iter::once(Line::default()).chain(section).collect()
}

fn all(snapshot: &Snapshot, numbers: &Numbers, extent: Extent) -> Vec<Vec<Line>> {
    if !numbers.is_live {
        return vec![sections::work(numbers, extent.width), sections::levels(numbers, extent)];
    }
    vec![
        sections::throughput(snapshot, numbers, extent.width),
        sections::work(numbers, extent.width),
        sections::levels(numbers, extent),
        sections::stalls(snapshot, numbers, extent),
        sections::memory(numbers, extent),
        sections::cache(snapshot, numbers, extent),
        sections::latencies(snapshot, numbers, extent),
    ]
}

fn footer(look: Look, width: usize) -> Line {
    let mut line = Line::new("q quit  Tab/←→ ", Style::Soft);
    // Where there is no room for all names, the one that is shown.
    for (view, name) in VIEWS.iter().filter(|(view, _)| width >= 80 || *view == look.view) {
        let style = if *view == look.view { Style::Title } else { Style::Soft };
        let text = if *view == look.view { format!("[{name}] ") } else { format!("{name} ") };
        line = line.with(&text, style);
    }
    match look.view.orders() {
        [] => line,
        _ => line.with(" ↑↓ by ", Style::Soft).with(look.view.order(look.sort), Style::Title),
    }
}
