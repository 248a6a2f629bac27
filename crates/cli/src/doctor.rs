//! `ferrock doctor` and `ferrock repair`, over `ferrock::repair`.

use crate::backup::failure;
use crate::failure::{Outcome, Result};
use crate::output;
use clap::Args;
use ferrock::DbOptions;
use ferrock::repair::{Examination, ExaminationProgress, FileReport, Finding, Remedy, Repair, Report, Use};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::path::PathBuf;

const DOCTOR_EXAMPLES: &str = "\
Examples:
  ferrock doctor /var/lib/app/db          what is damaged, and what each way to mend it would lose
  ferrock doctor DB --all                 sound files too
  ferrock doctor DB --json | jq .remedies.repair
                                          for a program

Every file is read, to the last block and record, and nothing is written, not even a lock: it may run beside the process
that has the database open (a file that this one removes meanwhile may be reported as missing: look again).

Exit codes: 0 nothing is damaged, 1 something is, 2 the directory cannot be looked at, 64 the command line is wrong.";

const REPAIR_EXAMPLES: &str = "\
Examples:
  ferrock doctor /var/lib/app/db          first: what would be lost?
  ferrock repair /var/lib/app/db --into /var/lib/app/repaired
                                          a repaired copy; the damaged database stays as it is
  ferrock repair /var/lib/app/db          in place; what is replaced goes to DB/lost

Damaged tables are written anew without what is damaged, logs become tables, and a new MANIFEST names what is there.
Where data is lost, older versions of the same keys may become visible again. RocksDB opens the outcome. Interrupted, it
can be run again.

Exit codes: 0 the database is repaired and nothing was lost, 1 it is repaired and data was lost, 2 it could not be
repaired, 64 the command line is wrong.";

/// Keys ranges and findings that are shown of each list; `--json` has all.
const SHOWN: usize = 12;

/// Arguments of `ferrock doctor`.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Directory of the database.
    db: PathBuf,
    /// Show sound files too.
    #[arg(long)]
    all: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `ferrock repair`.
#[derive(Debug, Args)]
#[command(after_help = REPAIR_EXAMPLES)]
pub(crate) struct RepairArgs {
    /// Directory of the database.
    db: PathBuf,
    /// Make a repaired copy in this directory, which must not exist.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Directory of the logs, where the OPTIONS file names another than that of the database.
    #[arg(long, value_name = "DIR")]
    wal_dir: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What moves a bar as files are read.
fn mover(bar: &ProgressBar) -> impl FnMut(ExaminationProgress) {
    |progress| {
        bar.set_length(progress.bytes);
        bar.set_position(progress.bytes_done);
    }
}

/// Runs `ferrock doctor`.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Outcome> {
    let bar = output::byte_progress("Reading");
    let mut move_bar = mover(&bar);
    let examined = Examination::new(DbOptions::default()).progress(&mut move_bar).run(&args.db);
    bar.finish_and_clear();
    let report = examined.map_err(failure)?;
    if args.json {
        output::say_json(&report_json(&report))?;
    } else {
        say_report(&report, args.all)?;
    }
    Ok(if report.is_damaged() { Outcome::BadData } else { Outcome::Good })
}

/// Runs `ferrock repair`.
pub(crate) fn repair(args: &RepairArgs) -> Result<Outcome> {
    let mut options = DbOptions::default();
    if let Some(directory) = &args.wal_dir {
        options.wal_dir = directory.display().to_string();
    }
    let bar = output::byte_progress("Reading");
    let mut move_bar = mover(&bar);
    let mut repair = Repair::new(options).progress(&mut move_bar);
    if let Some(copy) = &args.into {
        repair = repair.into_copy(copy);
    }
    let repaired = repair.run(&args.db);
    bar.finish_and_clear();
    let done = repaired.map_err(failure)?;
    let has_lost = done.found.repair.entries_lost > 0 || !done.found.repair.lost.is_empty();
    if args.json {
        output::say_json(&json!({
            "tables": done.tables,
            "tables_written": done.tables_written,
            "entries": done.entries,
            "entries_from_logs": done.entries_from_logs,
            "last_sequence": done.last_sequence.0,
            "moved": done.moved,
            "found": report_json(&done.found),
        }))?;
    } else {
        let place = args.into.as_ref().unwrap_or(&args.db).display();
        output::say(&format!(
            "{place} is repaired: {} tables, {} of them written anew, {} entries, {} of them from logs",
            output::number(done.tables),
            output::number(done.tables_written),
            output::number(done.entries),
            output::number(done.entries_from_logs),
        ))?;
        if !done.moved.is_empty() {
            output::say(&format!("{} files went to {place}/lost", done.moved.len()))?;
        }
        say_losses(&done.found.repair)?;
    }
    Ok(if has_lost { Outcome::BadData } else { Outcome::Good })
}

fn say_report(report: &Report, all: bool) -> Result<()> {
    let damaged = report.files.iter().filter(|file| file.is_damaged()).count();
    output::say(&format!(
        "{}: {} files, {} damaged; families {}",
        report.directory.display(),
        report.files.len(),
        damaged,
        report.families.join(", ")
    ))?;
    for finding in &report.findings {
        output::say(&format!("  {}", finding_text(finding)))?;
    }
    for file in report.files.iter().filter(|file| all || (!file.findings.is_empty() && file.used != Use::Unneeded)) {
        output::say(&format!("{}{}", file.path.display(), about(file)))?;
        for finding in file.findings.iter().take(SHOWN) {
            output::say(&format!("  {}", finding_text(finding)))?;
        }
        say_more(file.findings.len(), "findings")?;
    }
    if !report.is_damaged() {
        return output::say("Nothing is damaged.");
    }
    for (name, remedy) in remedies(report) {
        let possible = if remedy.is_possible { "" } else { " (not possible)" };
        output::say(&format!("{name}{possible}: {}", remedy.note))?;
        if remedy.is_possible {
            output::say(&format!("  keeps {} entries", output::number(remedy.entries_kept)))?;
            say_losses(remedy)?;
        }
    }
    Ok(())
}

fn say_losses(remedy: &Remedy) -> Result<()> {
    if remedy.entries_lost > 0 {
        output::say(&format!("  loses {} entries that are known", output::number(remedy.entries_lost)))?;
    }
    for range in remedy.lost.iter().take(SHOWN) {
        output::say(&format!("  loses in {range}"))?;
    }
    say_more(remedy.lost.len(), "ranges")
}

fn say_more(count: usize, what: &str) -> Result<()> {
    match count.checked_sub(SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => output::say(&format!("  and {more} {what} more (--json has all)")),
    }
}

fn finding_text(finding: &Finding) -> String {
    let offset = finding.offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
    format!("{}{offset}: {}", finding.problem.name(), finding.message)
}

fn about(file: &FileReport) -> String {
    let family = file.family.as_ref().map(|family| format!(", family {family}")).unwrap_or_default();
    let level = file.level.map(|level| format!(", level {level}")).unwrap_or_default();
    let size = file.size_bytes.map(|size| format!(", {}", output::bytes(size))).unwrap_or_default();
    format!(": {}{family}{level}{size}, {} intact entries", file.used.name(), output::number(file.intact_entries))
}

fn remedies(report: &Report) -> [(&'static str, &Remedy); 4] {
    [
        ("repair", &report.repair),
        ("point-in-time recovery", &report.point_in_time),
        ("unsafe_remove_sst_file", &report.remove_tables),
        ("best_efforts_recovery", &report.best_efforts),
    ]
}

fn report_json(report: &Report) -> Value {
    let remedy = |remedy: &Remedy| {
        let key = |key: &Option<Vec<u8>>| key.as_ref().map(|key| ferrock_console::text::hexadecimal(key));
        let lost = remedy
            .lost
            .iter()
            .map(|range| json!({"family": range.family, "from": key(&range.from), "to": key(&range.to)}));
        json!({
            "possible": remedy.is_possible,
            "note": remedy.note,
            "entries_kept": remedy.entries_kept,
            "entries_lost": remedy.entries_lost,
            "lost": lost.collect::<Vec<_>>(),
        })
    };
    let findings = |findings: &[Finding]| {
        let one = |f: &Finding| json!({"problem": f.problem.name(), "offset": f.offset, "message": f.message});
        findings.iter().map(one).collect::<Vec<_>>()
    };
    let files = report.files.iter().map(|file| {
        json!({
            "path": file.path.display().to_string(),
            "size_bytes": file.size_bytes,
            "used": file.used.name(),
            "family": file.family,
            "level": file.level,
            "intact_entries": file.intact_entries,
            "damaged": file.is_damaged(),
            "findings": findings(&file.findings),
        })
    });
    json!({
        "directory": report.directory.display().to_string(),
        "damaged": report.is_damaged(),
        "db_id": report.db_id,
        "families": report.families,
        "findings": findings(&report.findings),
        "files": files.collect::<Vec<_>>(),
        "remedies": {
            "repair": remedy(&report.repair),
            "point_in_time": remedy(&report.point_in_time),
            "unsafe_remove_sst_file": remedy(&report.remove_tables),
            "best_efforts_recovery": remedy(&report.best_efforts),
        },
    })
}
