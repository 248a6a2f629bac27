//! Running other programs: every command is printed, timed and checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The target triple that sanitizers and the fuzzer run on.
pub(crate) const LINUX: &str = "x86_64-unknown-linux-gnu";

/// The workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Where builds go: CARGO_TARGET_DIR, else `target`.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A command without what cargo set for this process alone.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || matches!(&*text, "CARGO" | "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH") {
            command.env_remove(&name);
        }
    }
    command
}

/// cargo of the pinned toolchain.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command("cargo", arguments)
}

/// cargo of the nightly toolchain.
pub(crate) fn nightly_cargo(arguments: &[&str]) -> Result<Command, String> {
    let version = output(command("rustup", &["run", "nightly", "rustc", "--version"]));
    version.map_err(|error| {
        format!("this task needs the nightly toolchain ({error}); `rustup toolchain install nightly` brings it")
    })?;
    let mut nightly = command("rustup", &["run", "nightly", "cargo"]);
    nightly.env_remove("RUSTUP_TOOLCHAIN").args(arguments);
    Ok(nightly)
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("{} {}", command.get_program().to_string_lossy(), words.join(" "))
}

/// Runs a command to its end; its failure is ours.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let text = shown(&command);
    eprintln!("$ {text}");
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("cannot start `{text}`: {error}"))?;
    eprintln!("  {:.1} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("`{text}` failed ({status})")) }
}

/// Runs a command and returns what it prints; errors go to our own standard error.
pub(crate) fn output(mut command: Command) -> Result<String, String> {
    let text = shown(&command);
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot start `{text}`: {error}"))?;
    if !output.status.success() {
        // What it printed says why.
        print!("{}", String::from_utf8_lossy(&output.stdout));
        return Err(format!("`{text}` failed ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{text}` did not print text"))
}
