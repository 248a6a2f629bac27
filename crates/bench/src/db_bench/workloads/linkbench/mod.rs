//! LinkBench: the operations of a social graph's database, in the mix, with the distributions and the sizes that were
//! published with it (*LinkBench: a Database Benchmark Based on the Facebook Social Graph*, and its FBWorkload
//! settings).
//!
//! ```text
//! graph.rs          which links a node has, which node an operation is about
//! distribution.rs   out-degrees, Zipf, sizes
//! rows.rs           keys and values
//! operations.rs     the mix, and what each operation does
//! load.rs           the graph as it begins; the check of all of it
//! ```
//!
//! Its tables are key prefixes here, and its secondary index by time is not there: a list of links is read in the order
//! of its keys. A count and the link that changes it are written by one batch.

mod distribution;
mod graph;
mod load;
mod operations;
mod rows;

pub(super) use load::{link_check, link_load};
pub(super) use operations::link_bench;

pub(crate) use graph::Graph;

use crate::failure::{Failure, Result};
use crate::worker::Worker;

fn graph_of<'a>(worker: &Worker<'a>) -> Result<&'a Graph> {
    let graph = worker.shared.graph.as_ref();
    graph.ok_or_else(|| Failure::Usage(format!("{} has no graph", worker.shared.name)))
}
