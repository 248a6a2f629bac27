//! `ferrock top`: a view in the terminal that refreshes: reads and writes, stalls, memory, caches, levels, jobs.
//!
//! ```text
//! look.rs      which view, in which order      source.rs    URL or directory -> JSON       http.rs    the client
//! render.rs    snapshot -> lines               numbers.rs   JSON -> numbers                rates.rs   two of them
//! sections.rs  its sections                    snapshot.rs  one refresh                    layout.rs  tables, cells
//! terminal.rs  keys, size, screen              follow.rs    the loops of both kinds        text.rs    units
//! ```
//!
//! Every number is the one that an inspector serves as JSON, under its name there. On a terminal the view takes the
//! screen; elsewhere each refresh is printed behind the one before, as `top -b` does.

mod follow;
pub(crate) mod guard;
mod http;
mod layout;
mod look;
mod numbers;
mod rates;
mod render;
mod sections;
mod snapshot;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

use crate::failure::{Failure, Outcome, Result};
use clap::Args;
use ferrock_base::clock::SystemClock;
use follow::Following;
use source::Source;
use std::io::IsTerminal;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ferrock top http://127.0.0.1:8080/           an open database, by the inspector of its process
  ferrock top DIR                              a directory: levels, files, sizes; the database may be open elsewhere
  ferrock top URL --once | less                one refresh, as text
  ferrock top URL --json --interval 10         a line of JSON each 10 seconds, for a program

Keys: Tab and left/right choose a part, up/down its order, space asks at once, q quits.

A program serves its own numbers with `db.serve_inspector(\"127.0.0.1:8080\")` of the crate ferrock-inspect. A
directory, and the page of `ferrock inspect DIR`, know what is in files alone: what comes each second, stalls and
latencies are counted by the process that writes. Another machine's inspector is reached by
`ssh -L 8080:127.0.0.1:PORT HOST`; only http:// is spoken.

Where the connection is lost, or the database does not open, the view says so and goes on asking.

Exit codes: 0 the last refresh had numbers, or q was pressed; 2 it had none, or there is no such directory; 64 the
command line is wrong.";

/// Arguments of `ferrock top`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// URL of an inspector (`ferrock inspect`, or `serve_inspector` of a program), or directory of a database.
    #[arg(value_name = "DIR-OR-URL")]
    source: String,
    /// Seconds from one refresh to the next, from 0.1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// End after so many refreshes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// One refresh: `--count 1`.
    #[arg(long, conflicts_with = "count")]
    once: bool,
    /// Print one JSON object a line for each refresh.
    #[arg(long)]
    json: bool,
    /// Use no colours; so does the variable NO_COLOR.
    #[arg(long)]
    no_color: bool,
}

/// Columns of a refresh that is printed to a file or a pipe, without COLUMNS.
const PLAIN_WIDTH: usize = 80;

fn interval(text: &str) -> std::result::Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if !(0.1..=3600.0).contains(&seconds) {
        return Err(format!("it must be from 0.1 to 3600 seconds, not {text}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Runs `ferrock top`.
pub(crate) fn run(args: &TopArgs) -> Result<Outcome> {
    let is_url = args.source.contains("://");
    if !is_url && !ferrock_vfs::default_file_system().exists(args.source.as_ref())? {
        let message = "there is no such directory; the URL of an inspector begins with http://";
        return Err(Failure::NotDone(format!("{}: {message}", args.source)));
    }
    let source = Source::new(&args.source).map_err(Failure::Usage)?;
    let following = Following {
        name: args.source.clone(),
        source,
        clock: SystemClock::shared(),
        interval: args.interval,
        count: if args.once { Some(1) } else { args.count },
    };
    let (is_terminal, no_color) = (std::io::stdout().is_terminal(), std::env::var_os("NO_COLOR").is_some());
    let is_coloured = is_terminal && !args.no_color && !no_color;
    let takes_screen = is_terminal && std::io::stdin().is_terminal() && !args.json && !args.once;
    if takes_screen {
        return following.on_screen(is_coloured);
    }
    if args.json {
        return following.print(&|snapshot| snapshot.to_json().to_string());
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let width = if is_terminal { terminal::Screen::size().0 } else { columns.unwrap_or(PLAIN_WIDTH).clamp(20, 1000) };
    following.print(&|snapshot| {
        let lines = render::render(snapshot, look::Look::default(), width, None);
        let texts = lines.iter().map(|line| if is_coloured { line.coloured() } else { line.plain() });
        texts.collect::<Vec<_>>().join("\n") + "\n"
    })
}
