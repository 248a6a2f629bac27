//! Figures against what is known otherwise.

use super::figures::{Asked, Figures, Tree};
use super::subject::Subject;
use ferrock::options::apply_text;
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_plan::{Entry, Request};

const GB: u64 = 1_000_000_000;

fn asked(data: u64) -> Asked {
    Asked {
        data: Some(data),
        memory: None,
        cache: None,
        key_size: 16,
        value_size: 100,
        compression_ratio: 0.5,
        cpus: 8,
    }
}

fn subject(text: &str, families: usize) -> Subject {
    let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    apply_text(&mut db, &mut family, text).unwrap();
    let families = (0..families).map(|number| (number.to_string(), family.clone())).collect();
    Subject::new(String::new(), db, families, Vec::new())
}

fn tree(text: &str, data: u64) -> Tree {
    Figures::of(&subject(text, 1), &asked(data)).families[0].tree.clone().unwrap()
}

#[test]
fn data_is_shared_by_the_families() {
    let (one, four) = (Figures::of(&subject("", 1), &asked(80 * GB)), Figures::of(&subject("", 4), &asked(80 * GB)));
    let of =
        |figures: &Figures| figures.families.iter().map(|family| family.tree.as_ref().unwrap().data_bytes).sum::<f64>();
    assert_eq!((of(&one), of(&four)), (80e9, 80e9));
    assert!((one.memory.metadata - four.memory.metadata).abs() < 1.0, "the same data has the same indexes");
    assert_eq!(four.memory.memtables, 4.0 * one.memory.memtables, "memtables are of each family");
}

#[test]
fn levels_hold_the_data_and_follow_their_multiplier() {
    for text in ["", "level_compaction_dynamic_level_bytes=false", "max_bytes_for_level_multiplier=4;num_levels=4"] {
        for data in [GB / 100, GB, 100 * GB, 10_000 * GB] {
            let tree = tree(text, data);
            let sum: f64 = tree.levels.iter().map(|level| level.bytes).sum();
            let all = 0.5 * data as f64 + tree.index_bytes + tree.filter_bytes;
            assert!((sum / all - 1.0).abs() < 1e-6, "{text}: {sum} {all}");
            assert!(tree.levels.windows(2).all(|pair| pair[0].level + 1 == pair[1].level));
        }
    }
    let tree = tree("", 100 * GB);
    let levels: Vec<usize> = tree.levels.iter().map(|level| level.level).collect();
    assert_eq!(levels, [3, 4, 5, 6], "45 GB, 4.5 GB, 455 MB, and 45 MB, which is below max_bytes_for_level_base");
    assert!((tree.space_amplification - 1.111).abs() < 0.001);
}

#[test]
fn a_budget_has_everything_within_it() {
    let subject = subject("memory_budget=64m", 3);
    let figures = Figures::of(&subject, &asked(80 * GB));
    assert_eq!(figures.memory.all(), f64::from(64 << 20));
}

#[test]
fn a_queue_has_no_more_than_its_limit() {
    let tree = tree("compaction_style=kCompactionStyleFIFO", 100 * GB);
    assert_eq!(tree.levels[0].bytes, f64::from(1 << 30));
    assert!(tree.table_bytes > 50e9);
}

#[test]
fn odd_options_make_no_odd_figures() {
    for text in [
        "num_levels=2",
        "max_bytes_for_level_multiplier=1",
        "compaction_style=kCompactionStyleUniversal;num_levels=1",
        "compaction_style=kCompactionStyleFIFO;num_levels=1",
        "compaction_style=kCompactionStyleNone",
        "table_factory=PlainTable",
        "target_file_size_multiplier=1000000;num_levels=64",
        "target_file_size_base=18446744073709551615;max_bytes_for_level_base=18446744073709551615",
        "disable_auto_compactions=true",
    ] {
        for data in [1, GB, u64::MAX] {
            let subject = subject(text, 1);
            let figures = Figures::of(&subject, &asked(data));
            let tree = figures.families[0].tree.as_ref().unwrap();
            assert!(tree.write_amplification.is_finite() && tree.write_amplification >= 1.0, "{text} {data}: {tree:?}");
            assert!(tree.space_amplification.is_finite() && tree.space_amplification >= 1.0, "{text} {data}: {tree:?}");
            assert!(figures.memory.all().is_finite() && figures.files >= 1.0, "{text} {data}: {figures:?}");
            let warnings = super::warnings::all(&subject, &figures, &asked(data));
            let text = super::report::text(&subject, &figures, &asked(data), &warnings);
            assert!(!text.contains("NaN"), "{text}");
        }
    }
}

/// The formulas are near what `ferrock plan` simulates.
#[test]
fn figures_are_near_the_simulation() {
    let entry = Entry { key_size: 16, value_size: 100 };
    for (text, data) in [
        ("block_based_table_factory={filter_policy=bloomfilter:10}", 4 * GB),
        ("block_based_table_factory={filter_policy=bloomfilter:10;block_size=16k}", 40 * GB),
        ("block_based_table_factory={filter_policy=bloomfilter:10}", 400 * GB),
        ("write_buffer_size=2m", 40 * GB),
        ("level_compaction_dynamic_level_bytes=false", 40 * GB),
        ("compaction_style=kCompactionStyleUniversal", 8 * GB),
    ] {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        apply_text(&mut db, &mut family, text).unwrap();
        let request = Request { db, family, compression_ratio: 0.5, ..Request::new(data / entry.bytes(), entry) };
        let plan = request.run(&mut |_| {}).unwrap();
        let tree = tree(text, data);
        let near = |what: &str, formula: f64, simulated: f64, within: f64| {
            let ratio = formula / simulated;
            assert!((1.0 / within..=within).contains(&ratio), "{text}: {what}: {formula:.3} for {simulated:.3}");
        };
        // The log is not in the plan.
        near("written", tree.write_amplification - 1.0, plan.whole.write_amplification, 1.6);
        near("files", tree.files(), plan.files, 1.6);
        near("index", tree.index_bytes, plan.memory.index_bytes, 1.6);
        if tree.filter_bytes > 0.0 {
            near("filter", tree.filter_bytes, plan.memory.filter_bytes, 1.3);
        }
    }
}
