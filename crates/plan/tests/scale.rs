//! Scaled simulations against those of every file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use ferrock_options::apply_text;
use ferrock_plan::{Entry, Order, Phase, Plan, Request, Scale};

fn request(files: u64, orders: &[Order], options: &str) -> Request {
    // Values as large as this make few entries, and it is files that count here.
    let entry = Entry { key_size: 16, value_size: 1000 };
    let keys = files * (64 << 10) / entry.bytes();
    let mut request = Request::new(keys, entry);
    request.phases = orders.iter().map(|&order| Phase { order, puts: keys }).collect();
    let text = format!(
        "write_buffer_size=64k;target_file_size_base=64k;max_bytes_for_level_base=256k;compression=kNoCompression;\
         {options}"
    );
    apply_text(&mut request.db, &mut request.family, &text).unwrap();
    request
}

fn compare(name: &str, request: &Request, most_files: u64) -> (Plan, Plan) {
    let all = Request { most_files: 1 << 40, ..request.clone() }.run(&mut |_| ()).unwrap();
    let few = Request { most_files, ..request.clone() }.run(&mut |_| ()).unwrap();
    assert!(all.scale.is_full() && !few.scale.is_full(), "{name}: {:?} {:?}", all.scale, few.scale);
    for (what, all, few, tolerance) in [
        ("WAF", all.whole.write_amplification, few.whole.write_amplification, 0.12),
        ("SAF", all.space_amplification, few.space_amplification, 0.05),
        ("bytes", all.table_bytes, few.table_bytes, 0.05),
        ("files", all.files, few.files, 0.10),
        ("index", all.memory.index_bytes, few.memory.index_bytes, 0.05),
        ("blocks per hit", all.reads.blocks_per_hit, few.reads.blocks_per_hit, 0.15),
    ] {
        println!("{name}: {what} of all {all:.3}, scaled {few:.3}");
        assert!((few / all - 1.0).abs() < tolerance, "{name}: {what} of all {all:.3}, scaled {few:.3}");
    }
    (all, few)
}

#[test]
fn levels_left_out_are_like_the_template() {
    let request = request(1000, &[Order::Random], "max_bytes_for_level_multiplier=4");
    let (all, few) = compare("leveled", &request, 300);
    assert!(few.scale.levels_left_out > 0, "{:?}", few.scale);
    let levels =
        |plan: &Plan| plan.whole.runs.iter().map(|run| run.level).filter(|&level| level > 0).collect::<Vec<_>>();
    assert_eq!(levels(&all), levels(&few));
}

#[test]
fn coarser_files_of_a_tree_with_few_levels() {
    // Three levels: the base level alone has hundreds of files.
    let request = request(1000, &[Order::Random], "num_levels=3");
    let (_, few) = compare("three levels", &request, 100);
    assert!(few.scale.coarseness > 1, "{:?}", few.scale);
}

#[test]
fn runs_go_on_doubling() {
    // Whatever is simulated, a merge of everything has just been or is soon to come: so much a figure swings.
    let request = request(4096, &[Order::Once], "compaction_style=kCompactionStyleUniversal;target_file_size_base=4m");
    let (all, few) = (
        Request { most_files: 1 << 40, ..request.clone() }.run(&mut |_| ()).unwrap(),
        Request { most_files: 100, ..request.clone() }.run(&mut |_| ()).unwrap(),
    );
    assert!(few.scale.divisor > 1, "{:?}", few.scale);
    let (all, few) = (all.whole.write_amplification, few.whole.write_amplification);
    println!("universal: WAF of all {all:.3}, scaled {few:.3}");
    assert!((few / all - 1.0).abs() < 0.15, "universal: WAF of all {all:.3}, scaled {few:.3}");
}

#[test]
fn a_queue_is_as_long_as_it_may_be() {
    let mut request = request(2000, &[Order::Once], "compaction_style=kCompactionStyleFIFO");
    request.family.settings.compaction_options_fifo.max_table_files_size = 1000 * (64 << 10);
    let plan = Request { most_files: 200, ..request }.run(&mut |_| ()).unwrap();
    assert!(plan.scale.divisor > 1);
    assert!((plan.table_bytes / (1000.0 * 65536.0) - 1.0).abs() < 0.05, "{}", plan.table_bytes);
    assert!(plan.whole.write_amplification < 1.2, "{}", plan.whole.write_amplification);
    assert!((plan.files / 1000.0 - 1.0).abs() < 0.2, "{}", plan.files);
}

#[test]
fn scales_of_small_and_of_very_large_trees() {
    let family = ferrock_options::ColumnFamilyOptions::default();
    let mut settled = family.clone();
    settled.settle_in(&ferrock_options::DbOptions::default());
    assert!(Scale::of(&settled, 100e9, 2000.0, 4000).is_full());
    let large = Scale::of(&settled, 1e15, 16e6, 4000);
    assert_eq!((large.levels_left_out, large.divisor), (3, 1000));
    assert_eq!((large.coarseness, Scale::of(&settled, 1e16, 16e7, 4000).coarseness > 1), (1, true));
}

/// Each key is put once: whatever was merged, it is there once at the end.
#[test]
fn no_key_is_lost_or_made() {
    for options in ["num_levels=4;target_file_size_base=192k", "compaction_style=kCompactionStyleUniversal"] {
        let mut request = request(500, &[Order::Once], options);
        request.entry.value_size = 100;
        request.keys = 300_000;
        request.most_files = 1 << 40;
        request.phases = vec![Phase { order: Order::Once, puts: request.keys }];
        let plan = request.run(&mut |_| ()).unwrap();
        assert_eq!(plan.scale.divisor, 1, "{options}: {:?}", plan.scale);
        let entries: f64 = plan.whole.runs.iter().map(|run| run.entries).sum();
        assert!((entries / request.keys as f64 - 1.0).abs() < 1e-3, "{options}: {entries} of {}", request.keys);
    }
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let good = request(10, &[Order::Once], "");
    let entry = |key_size, value_size| Entry { key_size, value_size };
    for (request, wanted) in [
        (Request { keys: 0, ..good.clone() }, "number of keys"),
        (Request { entry: entry(0, 1), ..good.clone() }, "a key has"),
        (Request { entry: entry(1, 1), ..good.clone() }, "more bytes to a key"),
        (Request { entry: entry(8, 1 << 30), ..good.clone() }, "not planned"),
        (Request { compression_ratio: 0.0, ..good.clone() }, "compression ratio"),
        (Request { zipf: -1.0, ..good.clone() }, "zipf"),
    ] {
        let error = request.run(&mut |_| ()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
