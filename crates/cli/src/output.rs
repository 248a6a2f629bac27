//! Output of all commands: results as tables or JSON on standard output, progress and errors on standard error.
//!
//! Progress bars appear on a terminal only; a log file or a program sees none of them.

use crate::failure::{Failure, Result};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Prints one line of the result.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").map_err(|error| Failure::Io("standard output", error))
}

/// Prints the result as JSON.
pub(crate) fn say_json(value: &Value) -> Result<()> {
    say(&format!("{value:#}"))
}

/// Prints an error for the user.
pub(crate) fn complain(message: &str) {
    // An error here has no reader when standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "ferrock: {message}");
}

/// Prints progress for the user.
pub(crate) fn note(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// An empty table; every column but the first `left_columns` is aligned to the right.
pub(crate) fn table(header: &[&str], left_columns: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    for column in table.column_iter_mut().skip(left_columns) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A bar over `total` keys, hidden if standard error is not a terminal.
pub(crate) fn progress(what: &'static str, total: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:<28} [{bar:40}] {human_pos:>11} / {human_len} keys  {per_sec}");
    let bar = ProgressBar::new(total).with_message(what);
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style.progress_chars("=> ")))
}

/// A bar over bytes, whose number is told later; hidden if standard error is not a terminal.
pub(crate) fn byte_progress(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{msg:<12} [{bar:40}] {binary_bytes:>11} / {binary_total_bytes}  {binary_bytes_per_sec}",
    );
    let bar = ProgressBar::new(0).with_message(what);
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style.progress_chars("=> ")))
}

/// A number of bytes with its unit.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A number of bytes with its unit: B, KB, MB, GB, TB, PB by thousands, KiB to PiB by 1024.
pub(crate) fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.replace('_', "").parse().map_err(|_| format!("{text:?} does not begin with a number"))?;
    let unit = unit.trim().to_ascii_uppercase();
    let (prefix, base) = match unit.strip_suffix("IB") {
        Some(prefix) => (prefix, 1024.0_f64),
        None => (unit.strip_suffix('B').unwrap_or(&unit), 1000.0),
    };
    let power = ["", "K", "M", "G", "T", "P", "E"].iter().position(|known| *known == prefix);
    let power = power.ok_or_else(|| format!("{text:?}: the unit is none of B, KB, MB, GB, TB, PB, KiB, ... PiB"))?;
    let bytes = number * base.powi(power as i32);
    if bytes.is_finite() && bytes < 1e19 { Ok(bytes as u64) } else { Err(format!("{text:?} is too large")) }
}

/// A number with its thousands apart.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration with its unit.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_for_people() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 40), "5.0 TiB");
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(number).each_ref().map(String::as_str)
        );
        assert_eq!(seconds(Duration::from_millis(1234)), "1.23 s");
    }

    #[test]
    fn a_table_has_its_header_and_rows() {
        let mut table = table(&["level", "files"], 1);
        table.add_row(["L0", "3"]);
        let text = table.to_string();
        assert!(text.contains("level") && text.contains("L0") && text.contains('3'), "{text}");
    }
    #[test]
    fn bytes_with_units() {
        for (text, bytes) in [
            ("0", 0),
            ("100", 100),
            ("100TB", 100_000_000_000_000),
            ("1.5 GiB", 3 << 29),
            ("2k", 2000),
            ("32MiB", 32 << 20),
            ("1pb", 1_000_000_000_000_000),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "10XB", "-1", "1e30EB", "12 parsecs"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
