//! How long a newcomer waits: a clean release build of the library, then of everything.

use crate::Outcome;
use crate::run::{cargo, run as run_command, target_dir};
use std::time::Instant;

const LIBRARY_LIMIT_SECS: f64 = 60.0;
const WORKSPACE_LIMIT_SECS: f64 = 90.0;

fn timed_builds() -> Result<(f64, f64), String> {
    run_command(cargo(&["fetch", "--locked"]))?;
    let dir = target_dir().join("build-time");
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("cannot clear {}: {error}", dir.display()));
        }
        _ => {}
    }
    let start = Instant::now();
    let build = |arguments: &[&str]| {
        let mut build = cargo(arguments);
        build.env("CARGO_TARGET_DIR", &dir).env("CC", "no-c-compiler").env("CXX", "no-c-compiler");
        run_command(build)
    };
    build(&["build", "--release", "--locked", "-p", "ferrock"])?;
    let library = start.elapsed().as_secs_f64();
    // What the library already built counts towards the workspace.
    build(&["build", "--release", "--locked", "--workspace"])?;
    Ok((library, start.elapsed().as_secs_f64()))
}

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let enforce = arguments.iter().any(|word| word == "--enforce");
    let (library, workspace) = timed_builds()?;
    let mut slow = Vec::new();
    for (what, took, limit) in
        [("library", library, LIBRARY_LIMIT_SECS), ("workspace", workspace, WORKSPACE_LIMIT_SECS)]
    {
        let verdict = if took <= limit { "within" } else { "OVER" };
        println!("build-time: clean release build of the {what}: {took:.1} s, {verdict} the limit of {limit:.0} s");
        if took > limit {
            slow.push(what);
        }
    }
    if enforce && !slow.is_empty() {
        return Err(format!("too slow: {}", slow.join(", ")));
    }
    Ok(())
}
