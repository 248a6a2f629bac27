//! The page of ferrock-inspect in a real browser: `dev/page/check.py`, with what it needs.
//!
//! Chromium comes from the system. Where it is missing and this may install packages, it is installed; where it cannot
//! be had, the task fails, so that no run without a browser looks like one in which everything was right.

use crate::Outcome;
use crate::run::{cargo, command, output, root, run as run_to_its_end, target_dir};

const PACKAGE: &str = "chromium";

pub(crate) fn run(arguments: &[String]) -> Outcome {
    if output(command("python3", &["--version"])).is_err() {
        return Err("python3 is not installed (it drives the browser)".to_owned());
    }
    install()?;
    // All packages at once: what the tests have built is used again.
    run_to_its_end(cargo(&["build", "--locked", "--workspace", "--example", "page"]))?;
    let script = root().join("dev/page/check.py");
    let mut check = command("python3", &[]);
    check.arg(script).arg("--server").arg(target_dir().join("debug/examples/page")).args(arguments);
    run_to_its_end(check)
}

fn install() -> Outcome {
    let is_there = || output(command(PACKAGE, &["--version"])).is_ok();
    if is_there() {
        return Ok(());
    }
    let install = || run_to_its_end(command("apt-get", &["install", "-y", "-q", "--no-install-recommends", PACKAGE]));
    // The list of packages may be missing or old.
    let installed =
        install().or_else(|_| run_to_its_end(command("apt-get", &["update", "-q"])).and_then(|()| install()));
    match installed {
        Ok(()) if is_there() => Ok(()),
        _ => Err(format!("{PACKAGE} is not installed (the page is looked at with it): apt-get install {PACKAGE}")),
    }
}
