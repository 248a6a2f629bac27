//! Fields of `compression_opts`, and of the other options with fields of their own.

use crate::Effect::{self, Shown};
use crate::common::threads::RecordingSpawner;
use crate::setup::{Setup, flush_range, force_compaction, only_properties};
use ferrock_base::thread::Spawner;
use std::sync::Arc;

pub const EFFECTS: &[(&str, Effect)] = &[
    (
        "CompressionOptions.window_bits",
        Shown(|| smaller_second("kZlibCompression", ["window_bits=-9", "window_bits=-14"])),
    ),
    ("CompressionOptions.level", Shown(|| smaller_second("kZSTD", ["level=1", "level=19"]))),
    ("CompressionOptions.strategy", Shown(|| smaller_second("kZlibCompression", ["strategy=2", "strategy=0"]))),
    ("CompressionOptions.max_dict_bytes", Shown(|| differs("kZSTD", ["max_dict_bytes=0", "max_dict_bytes=8192"]))),
    (
        "CompressionOptions.zstd_max_train_bytes",
        Shown(|| differs("kZSTD", [RAW, "max_dict_bytes=4096;zstd_max_train_bytes=65536"])),
    ),
    ("CompressionOptions.parallel_threads", Shown(parallel_threads)),
    // Of `bottommost_compression_opts`, where alone it has a meaning.
    ("CompressionOptions.enabled", Shown(enabled)),
    (
        "CompressionOptions.max_dict_buffer_bytes",
        Shown(|| differs("kZSTD", [RAW, "max_dict_bytes=4096;max_dict_buffer_bytes=8192"])),
    ),
    (
        "CompressionOptions.use_zstd_dict_trainer",
        Shown(|| {
            let trained = "max_dict_bytes=4096;zstd_max_train_bytes=65536;use_zstd_dict_trainer=true";
            differs("kZSTD", [trained, "max_dict_bytes=4096;zstd_max_train_bytes=65536;use_zstd_dict_trainer=false"]);
        }),
    ),
    ("CompressionOptions.max_compressed_bytes_per_kb", Shown(max_compressed_bytes_per_kb)),
    ("CompressionOptions.checksum", Shown(|| smaller_second("kZSTD", ["checksum=true", "checksum=false"]))),
    ("MetadataCacheOptions.top_level_index_pinning", Shown(crate::table::metadata_cache_options)),
    ("MetadataCacheOptions.partition_pinning", Shown(crate::table::metadata_cache_options)),
    ("MetadataCacheOptions.unpartitioned_pinning", Shown(crate::table::metadata_cache_options)),
];

const RAW: &str = "max_dict_bytes=4096";

fn setup(kind: &str, options: &str) -> Setup {
    Setup::new().set("compression", kind).set("compression_opts", &format!("{{{options};}}"))
}

/// Bytes of the data blocks of a compacted table, and how many blocks compression was given up for.
fn sizes(setup: &Setup) -> (u64, u64) {
    let db = setup.open();
    flush_range(&db, 0..3000);
    force_compaction(&db);
    let properties = only_properties(&db);
    (properties.data_size, properties.num_data_blocks_compression_rejected)
}

fn differs(kind: &str, options: [&str; 2]) {
    let measured = options.map(|options| sizes(&setup(kind, options)));
    assert_ne!(measured[0].0, measured[1].0, "{kind}: {options:?} make no difference");
}

fn smaller_second(kind: &str, options: [&str; 2]) {
    let measured = options.map(|options| sizes(&setup(kind, options)).0);
    assert!(measured[1] < measured[0], "{kind}: {options:?}: {measured:?}");
}

fn max_compressed_bytes_per_kb() {
    let [usual, strict] = ["max_compressed_bytes_per_kb=896", "max_compressed_bytes_per_kb=1"]
        .map(|options| sizes(&setup("kZSTD", options)));
    assert!(usual.1 == 0 && strict.1 > 50 && strict.0 > usual.0, "{usual:?}, {strict:?}");
}

fn enabled() {
    let [without, with] = [false, true].map(|enabled| {
        let options = format!("{{level=19;enabled={enabled};}}");
        sizes(
            &setup("kZSTD", "level=1")
                .set("bottommost_compression", "kZSTD")
                .set("bottommost_compression_opts", &options),
        )
    });
    assert!(with.0 < without.0, "{without:?}, {with:?}");
}

/// Other threads compress the blocks of a table, and outputs end at the same keys: those of one thread, also where an
/// idle processor lends one more.
fn outputs_are_those_of_one_thread() {
    let files = ["0", "1", "2", "5"].map(|threads| {
        let setup = Setup::new()
            .set("compression", "kZSTD")
            .set("target_file_size_base", "100000")
            .set("compression_opts", &format!("{{parallel_threads={threads};}}"));
        let db = setup.open();
        (0..3).for_each(|_| flush_range(&db, 0..20_000));
        force_compaction(&db);
        let live = db.live_files().into_iter();
        live.map(|file| (file.smallest_user_key, file.largest_user_key, file.num_entries)).collect::<Vec<_>>()
    });
    assert!(files[0].len() > 5 && files.iter().all(|other| *other == files[0]), "{files:?}");
}

/// Other threads compress the blocks of a table, which has the same data.
fn parallel_threads() {
    outputs_are_those_of_one_thread();
    for name in ["compression_opts", "bottommost_compression_opts"] {
        // With 1 an idle processor would help.
        let measured = ["0", "3"].map(|threads| {
            let spawner = Arc::new(RecordingSpawner::default());
            let mut setup = Setup::new()
                .set("compression", "kZSTD")
                .set("bottommost_compression", "kZSTD")
                .set("compression_opts", "{parallel_threads=0;}")
                .set(name, &format!("{{enabled=true;parallel_threads={threads};}}"));
            setup.db.components.spawner = Some(Arc::clone(&spawner) as Arc<dyn Spawner>);
            let db = setup.open();
            flush_range(&db, 0..3000);
            force_compaction(&db);
            (spawner.count("ferrock-compress"), only_properties(&db).data_size)
        });
        let [(none, alone), (some, together)] = measured;
        // Of a flush and a compaction, or of the compaction into the last level alone.
        let tables = if name == "compression_opts" { 2 } else { 1 };
        assert!(none == 0 && some >= 2 * tables && alone == together, "{name}: {measured:?}");
    }
}
