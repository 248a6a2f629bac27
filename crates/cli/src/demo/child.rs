//! The parent's side of the child process: start it, listen, and kill it without warning.

use super::cost::Cost;
use super::workload::Workload;
use crate::failure::{Failure, Result};
use crate::output;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The last reports of the killed child.
pub(super) struct Killed {
    /// Keys whose writes had returned.
    pub(super) acknowledged_keys: u64,
    pub(super) cost: Cost,
}

/// Lets a child load, and sends it SIGKILL when half of the keys are acknowledged.
pub(super) fn load_and_kill(database: &Path, workload: &Workload) -> Result<Killed> {
    let mut child = Reaped(spawn(database, workload)?);
    let pipe = child.0.stdout.take().ok_or_else(|| failure("pipe", std::io::ErrorKind::BrokenPipe.into()))?;
    let bar = output::progress("load, kill -9 halfway", workload.keys);
    let mut killed = Killed { acknowledged_keys: 0, cost: Cost::default() };
    let mut is_alive = true;
    let mut lines = BufReader::new(pipe);
    let mut line = String::new();
    loop {
        line.clear();
        let read = lines.read_line(&mut line).map_err(|error| failure("pipe from the child", error))?;
        // A line without its end was cut by the kill and is ignored.
        let Some(text) = line.strip_suffix('\n').filter(|_| read > 0) else { break };
        if let Some(keys) = text.strip_prefix("acknowledged ").and_then(|keys| keys.parse().ok()) {
            killed.acknowledged_keys = keys;
            bar.set_position(keys);
        } else if let Some(cost) = Cost::from_line(text) {
            killed.cost = cost;
        }
        if is_alive && killed.acknowledged_keys >= workload.kill_at() {
            child.0.kill().map_err(|error| failure("kill the child", error))?;
            is_alive = false;
        }
    }
    bar.abandon();
    let status = child.0.wait().map_err(|error| failure("wait for the child", error))?;
    match status.code() {
        // An exit code means that it ended by itself, not by a signal.
        Some(code) => Err(failure("the loading child", std::io::Error::other(format!("ended with exit code {code}")))),
        None => Ok(killed),
    }
}

fn spawn(database: &Path, workload: &Workload) -> Result<Child> {
    let program = std::env::current_exe().map_err(|error| failure("find this program", error))?;
    Command::new(program)
        .arg("demo-writer")
        .arg("--database")
        .arg(database)
        .args(["--keys", &workload.keys.to_string()])
        .args(["--value-size", &workload.value_size_bytes.to_string()])
        .args(["--seed", &workload.seed.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failure("start the loading child", error))
}

fn failure(what: &'static str, error: std::io::Error) -> Failure {
    Failure::Io(what, error)
}

/// A child process that is killed when this is dropped.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        // Both fail if the child has ended already, which is no error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
