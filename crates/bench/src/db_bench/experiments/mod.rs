//! The published experiments about partitioned index and filters, the data block hash index, and plain tables, so that
//! any user can repeat them: `db_bench --experiment=NAME`.
//!
//! ```text
//! plan.rs      points, arms, cells, rows     scarce_memory.rs   partitions, with little memory
//! runner.rs    loads, opens, goes round      hash_index.rs      the hash index, all cached
//! measure.rs   one measurement               sweep.rs           the hash index, from all to little cached
//! facts.rs     contents of tables            linkbench.rs       partitions under LinkBench's operations
//! report.rs    table, JSON, page             flash_and_ram.rs   plain tables, all in memory
//! ```

mod facts;
mod flash_and_ram;
mod hash_index;
mod linkbench;
mod measure;
mod plan;
mod report;
mod runner;
mod scarce_memory;
mod sweep;

use crate::failure::{Failure, Result};
use crate::flags::{Effect, Values};
use crate::output::Output;
use crate::settings::Settings;
use plan::Definition;
use runner::Runner;

const DEFINITIONS: &[&Definition] = &[
    &scarce_memory::DEFINITION,
    &hash_index::DEFINITION,
    &sweep::DEFINITION,
    &linkbench::DEFINITION,
    &flash_and_ram::DEFINITION,
];

/// Flags of this program that have an effect together with `--experiment`; so has every option of the engine.
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
    "rounds",
    "scale",
    "seed",
    "use_existing_db",
    "use_ribbon_filter",
    "value_size",
    "verify",
    "verify_checksum",
];

/// Flags that select the subject of the experiments: given with one, they would make all arms alike.
const STUDIED: &[&str] = &["data_block_index_type", "index_type", "partition_filters", "partition_from_level"];

/// The flags that an experiment's arms set themselves.
fn set_by_arms(definition: &Definition, scale: f64) -> Vec<&'static str> {
    let mut names = STUDIED.to_vec();
    for arm in (definition.points)(plan::Scale(scale)).iter().flat_map(|point| &point.arms) {
        names.extend(arm.flags.iter().map(|(name, _)| *name));
        names.extend(arm.cache_percent.map(|_| "cache_size"));
    }
    names
}

/// Runs the experiment that the flags name.
pub(crate) fn run(values: &Values, settings: &Settings) -> Result<()> {
    let definition = find(&settings.experiment)?;
    let of_arms = set_by_arms(definition, settings.scale);
    let refused = values
        .given()
        .find(|(flag, _)| of_arms.contains(&flag.name) || flag.effect == Effect::Run && !ACCEPTED.contains(&flag.name));
    if let Some((flag, _)) = refused {
        return Err(Failure::Usage(format!(
            "--{} has no meaning beside --experiment, which sets it itself",
            flag.name
        )));
    }
    if settings.use_existing_db && definition.changes_data {
        return Err(Failure::Usage(format!("--use_existing_db: {} changes its databases", definition.name)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::parse_list;
    use crate::flags::{Parsed, parse};
    use crate::options;
    use plan::Scale;

    #[test]
    fn what_an_experiment_studies_cannot_be_given() {
        for (experiment, flag) in [
            ("hash-index", "--use_data_block_hash_index"),
            ("hash-index", "--data_block_index_type=kDataBlockBinaryAndHash"),
            ("hash-index", "--value_size=7"),
            ("hash-index-sweep", "--cache_size=1000"),
            ("scarce-memory", "--partition_index"),
            ("scarce-memory", "--index_type=kTwoLevelIndexSearch"),
            ("linkbench", "--use_existing_db"),
        ] {
            let values = values(&format!("--experiment={experiment} --db=nowhere {flag}"));
            let settings = Settings::new(&values).unwrap();
            let error = run(&values, &settings).unwrap_err();
            assert!(matches!(&error, Failure::Usage(_)), "{flag}");
        }
    }

    fn values(line: &str) -> Values {
        match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Parsed::Run(values)) => values,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_arm_is_a_command_line_at_every_scale() {
        for definition in DEFINITIONS {
            for scale in [0.0001, 0.01, 1.0, 20.0] {
                let defaults = (definition.defaults)(Scale(scale));
                for point in (definition.points)(Scale(scale)) {
                    assert!(point.arms.len() > 1 && !point.cells.is_empty(), "{}", definition.name);
                    for arm in &point.arms {
                        let values = values("").between(&defaults, &arm.flags).unwrap();
                        let settings = Settings::new(&values).unwrap();
                        options::build(&values).unwrap();
                        assert!(!settings.use_existing_db && settings.verify, "{}", definition.name);
                        let again = self::values(&values.command_line());
                        assert_eq!(again.command_line(), values.command_line());
                    }
                    let warm_up = point.warm_up.iter().map(|warm_up| warm_up.benchmark);
                    let names = point.cells.iter().map(|cell| cell.benchmark).chain(warm_up);
                    for name in names.chain(definition.finally.iter().copied()) {
                        assert!(parse_list(name).is_ok(), "{name}");
                    }
                }
            }
            assert_eq!(find(definition.name).unwrap().name, definition.name);
        }
    }

    #[test]
    fn what_is_given_lies_between_defaults_and_what_makes_the_arm() {
        let (given, defaults) =
            (values("--num=7 --block_size=1k"), [("num", "5".to_owned()), ("value_size", "3".to_owned())]);
        let values = given.between(&defaults, &[("block_size", "2k".to_owned())]).unwrap();
        assert_eq!(values.command_line(), "--block_size=2048 --num=7 --value_size=3");
        assert!(given.between(&[("nonsense", "1".to_owned())], &[]).unwrap_err().contains("unknown flag --nonsense"));
        assert!(given.between(&[("row_cache_size", "1".to_owned())], &[]).is_err(), "what is not here is refused");
        assert!(find("scarce").is_err());
    }
}
