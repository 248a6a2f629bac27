//! The published experiments about partitioned index and filters and about the data block hash index, so that anybody
//! can repeat them: `db_bench --experiment=NAME`.
//!
//! ```text
//! plan.rs      points, arms, cells, rows     scarce_memory.rs   partitions, with little memory
//! runner.rs    loads, opens, goes round      hash_index.rs      the hash index, all cached
//! measure.rs   one measurement               sweep.rs           the hash index, from all to little cached
//! facts.rs     what tables are made of       linkbench.rs       partitions under LinkBench's operations
//! report.rs    table, JSON, page             machine.rs         what it ran on
//! plot.rs      SVG
//! ```

mod facts;
mod hash_index;
mod linkbench;
mod machine;
mod measure;
mod plan;
mod plot;
mod report;
mod runner;
mod scarce_memory;
mod sweep;

use crate::flags::{Effect, Values};
use crate::output::Output;
use crate::settings::Settings;
use crate::{Failure, Result};
use plan::Definition;
use runner::Runner;

const DEFINITIONS: &[&Definition] =
    &[&scarce_memory::DEFINITION, &hash_index::DEFINITION, &sweep::DEFINITION, &linkbench::DEFINITION];

/// Flags of this program that mean something beside `--experiment`: every option of the engine does, too.
const ACCEPTED: &[&str] = &[
    "bloom_bits",
    "cache_numshardbits",
    "cache_size",
    "compression_type",
    "db",
    "duration",
    "experiment",
    "index_shortening_mode",
    "json",
    "key_size",
    "num",
    "out",
    "partition_index",
    "partition_index_and_filters",
    "rounds",
    "scale",
    "seed",
    "use_data_block_hash_index",
    "use_existing_db",
    "use_ribbon_filter",
    "value_size",
    "verify",
    "verify_checksum",
];

/// Runs the experiment that the flags name.
pub(crate) fn run(values: &Values, settings: &Settings) -> Result<()> {
    let definition = find(&settings.experiment)?;
    let refused = values.given().find(|(flag, _)| flag.effect == Effect::Run && !ACCEPTED.contains(&flag.name));
    if let Some((flag, _)) = refused {
        return Err(Failure::Usage(format!(
            "--{} has no meaning beside --experiment, which sets it itself",
            flag.name
        )));
    }
    let output = Output::new(settings.json);
    if cfg!(debug_assertions) {
        output.note("WARNING: Assertions are enabled; benchmarks unnecessarily slow");
    }
    let (runner, outcome) = Runner::new(definition, values, settings, output).run()?;
    report::report(&runner, &outcome)
}

fn find(name: &str) -> Result<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
        Failure::Usage(format!("--experiment={name}: there are {}", names.join(", ")))
    })
}
