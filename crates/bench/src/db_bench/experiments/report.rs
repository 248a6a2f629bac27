//! The report of an experiment: a table and sentences on standard output, one JSON object, and with `--out` a page, a
//! plot and the JSON in files.

use super::measure::Figure;
use super::plan::{Outcome, Row};
use super::runner::Runner;
use crate::failure::{Failure, Result};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use ferrock_bench::machine;
use ferrock_bench::plot::{self, digits};
use ferrock_vfs::{default_file_system, write_file_synced};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints and writes everything.
pub(super) fn report(runner: &Runner<'_>, outcome: &Outcome) -> Result<()> {
    let definition = runner.definition;
    let conclusions = (definition.conclude)(outcome);
    runner.output.say(&format!("{}\n{}", definition.title, terminal_table(runner, outcome)))?;
    for conclusion in &conclusions {
        runner.output.say(conclusion)?;
    }
    let document = document(runner, outcome, &conclusions);
    if runner.settings.json {
        runner.output.json(&document)?;
    }
    if let Some(directory) = &runner.settings.out {
        let file_system = default_file_system();
        file_system.create_dir_all(directory)?;
        let write = |extension: &str, text: &str| -> Result<()> {
            let path = directory.join(format!("{}.{extension}", definition.name));
            write_file_synced(&*file_system, &path, text.as_bytes())?;
            runner.output.note(&format!("{}: written", path.display()));
            Ok(())
        };
        write("json", &format!("{document:#}\n"))?;
        write("svg", &plot::draw(&(definition.plots)(outcome)).map_err(Failure::Output)?)?;
        write("md", &page(runner, outcome, &conclusions))?;
    }
    Ok(())
}

fn header(runner: &Runner<'_>) -> Vec<String> {
    let mut header = vec!["point".to_owned(), "cell".to_owned(), "arm".to_owned()];
    header.extend(runner.definition.figures.iter().map(|figure| figure.title().to_owned()));
    header.push("ratio".to_owned());
    header.push("lowest .. highest".to_owned());
    header.extend(runner.definition.facts.iter().map(|(_, title)| (*title).to_owned()));
    header
}

fn cells(runner: &Runner<'_>, row: &Row) -> Vec<String> {
    let mut cells = vec![row.point.clone(), row.cell.name(), row.arm.clone()];
    let figure = |figure: &Figure| row.median(*figure).map_or("-".to_owned(), digits);
    cells.extend(runner.definition.figures.iter().map(figure));
    let [median, least, greatest] = row.ratio();
    cells.push(format!("{median:.3}"));
    cells.push(format!("{least:.3} .. {greatest:.3}"));
    for (name, title) in runner.definition.facts {
        let unit = if title.ends_with(" MB") { 1e6 } else { 1.0 };
        cells.push(row.facts.get(name).map_or("-".to_owned(), |value| digits(value / unit)));
    }
    cells
}

fn terminal_table(runner: &Runner<'_>, outcome: &Outcome) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header(runner));
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in &outcome.rows {
        table.add_row(cells(runner, row));
    }
    table
}

/// The command that repeats the experiment, without this machine's directories.
fn command(runner: &Runner<'_>) -> String {
    let given =
        runner.values.given().filter(|(flag, _)| !["db", "out", "json", "use_existing_db"].contains(&flag.name));
    let flags = given.map(|(flag, text)| format!(" --{}={text}", flag.name));
    format!("db_bench{} --db=DIR --out=docs/benchmarks", flags.collect::<String>())
}

/// The flags of an arm, without the directory.
fn arm_flags(command: &str) -> String {
    let words = command.split(' ').filter(|word| {
        !["--db=", "--out=", "--experiment=", "--json", "--use_existing_db", "--scale=", "--rounds="]
            .iter()
            .any(|left_out| word.starts_with(left_out))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn document(runner: &Runner<'_>, outcome: &Outcome, conclusions: &[String]) -> Value {
    let rows = outcome.rows.iter().map(|row| {
        let [median, least, greatest] = row.ratio();
        let medians = Figure::ALL.iter().map(|figure| (figure.key().to_owned(), json!(row.median(*figure))));
        json!({
            "point": row.point,
            "x": row.x,
            "benchmark": row.cell.benchmark,
            "threads": row.cell.threads,
            "arm": row.arm,
            "median": medians.collect::<serde_json::Map<_, _>>(),
            "ratio": {"median": median, "lowest": least, "highest": greatest},
            "tables": row.facts,
            "rounds": row.samples.iter().map(super::measure::Sample::json).collect::<Vec<_>>(),
        })
    });
    let arms = outcome
        .commands
        .iter()
        .map(|(point, arm, command)| json!({"point": point, "arm": arm, "flags": arm_flags(command)}));
    json!({
        "experiment": runner.definition.name,
        "command": command(runner),
        "machine": machine::describe(),
        "scale": runner.settings.scale,
        "rounds": runner.rounds(),
        "seconds": runner.cell_seconds(),
        "arms": arms.collect::<Vec<_>>(),
        "values_checked": outcome.values_checked(),
        "rows": rows.collect::<Vec<_>>(),
        "conclusions": conclusions,
    })
}

/// The page in Markdown.
fn page(runner: &Runner<'_>, outcome: &Outcome, conclusions: &[String]) -> String {
    let definition = runner.definition;
    let mut page = format!("# {}\n\n{}\n\n", definition.title, definition.about);
    let _ = writeln!(page, "    {}\n", command(runner));
    let _ = writeln!(
        page,
        "Scale {}, {} rounds of {} s, {} values read and checked. Ran on: {}.\n",
        runner.settings.scale,
        runner.rounds(),
        runner.cell_seconds(),
        digits(outcome.values_checked() as f64),
        machine::describe()
    );
    let _ = writeln!(page, "![plot]({}.svg)\n", definition.name);
    let header = header(runner);
    let _ = writeln!(page, "| {} |", header.join(" | "));
    let _ = writeln!(page, "|---|---|---|{}", "--:|".repeat(header.len() - 3));
    for row in &outcome.rows {
        let _ = writeln!(page, "| {} |", cells(runner, row).join(" | "));
    }
    page.push_str(
        "\nMedians of the rounds; `ratio` is operations a second over those of the point's first arm, round by round: the median, \
         the lowest and the highest. CPU is that of the whole process, the checks of the values included.\n\n",
    );
    for conclusion in conclusions {
        let _ = writeln!(page, "- {conclusion}");
    }
    let _ = writeln!(
        page,
        "\nFlags of the arms (`db_bench` with them and another `--benchmarks` does the same by hand):\n"
    );
    for (point, arm, command) in &outcome.commands {
        let _ = writeln!(page, "- {point}, {arm}: `{}`", arm_flags(command));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_not_in_the_flags() {
        assert_eq!(arm_flags("--db=/x --num=5 --json --scale=2 --sync"), "--num=5 --sync");
    }
}
