//! Output: results on standard output, progress on standard error, if it is a terminal.

use ferrock_console::failure::Result;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Where lines go.
pub(crate) struct Output {
    is_json: bool,
    bar: ProgressBar,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        let bar = if std::io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {msg:<40} [{bar:30}] {human_pos:>11} / {human_len}  {eta}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { is_json, bar }
    }

    /// A line of the result for people.
    pub(crate) fn say(&self, line: &str) -> Result<()> {
        if self.is_json {
            return Ok(());
        }
        self.bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{line}").and_then(|()| out.flush())
        })?;
        Ok(())
    }

    /// Shows progress; an empty text clears it.
    pub(crate) fn working(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// The bar of work whose length is known.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
