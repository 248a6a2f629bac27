//! The child of `demo`: loads until it is killed, and says over standard output what was acknowledged. It never ends by
//! itself while its parent lives.
//!
//! ```text
//! line := "acknowledged" SP keys LF            after every batch
//!       | "cost" (SP name "=" value)* LF       now and then; what the load cost so far
//! ```

use super::cost::Cost;
use super::workload::Workload;
use crate::failure::{Failure, Outcome, Result};
use clap::Args;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Reports of the cost over the whole load.
const COST_REPORTS: u64 = 200;

/// Arguments of the child, made by the parent.
#[derive(Debug, Args)]
pub(crate) struct WriterArgs {
    #[arg(long)]
    pub(super) database: PathBuf,
    #[arg(long)]
    pub(super) keys: u64,
    #[arg(long)]
    pub(super) value_size: usize,
    #[arg(long)]
    pub(super) seed: u64,
}

/// Runs the child.
pub(crate) fn run(args: &WriterArgs) -> Result<Outcome> {
    let workload = Workload { keys: args.keys, value_size_bytes: args.value_size, seed: args.seed };
    let file_system = ferrock_vfs::default_file_system();
    let mut options = workload.db_options();
    options.components.file_system = Some(Arc::clone(&file_system));
    let start = file_system.counters().snapshot();
    let db = super::open(&args.database, options, &workload)?;
    let mut out = std::io::stdout().lock();
    let interval = (workload.keys / COST_REPORTS).max(1);
    let mut last_report = 0;
    workload.load(&db, 0..workload.hold_at(), |keys| {
        let mut line = format!("acknowledged {keys}\n");
        if keys / interval > last_report {
            last_report = keys / interval;
            line.push_str(&Cost::of(&db, &start, &file_system.counters().snapshot()).to_line());
        }
        out.write_all(line.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::Io("pipe to the parent", error))
    })?;
    // Normally the kill came long ago. On a busy machine it may be late: the end of standard input, which is the end of
    // the parent, is all that is left to wait for.
    let mut rest = Vec::new();
    std::io::stdin().lock().read_to_end(&mut rest).map_err(|error| Failure::Io("standard input", error))?;
    Ok(Outcome::NotDone)
}
