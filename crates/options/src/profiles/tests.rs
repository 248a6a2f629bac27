//! Every value of every helper, and of profiles that a report is what changed.

use super::*;
use crate::{
    CompactionStyle, CompressionType, DataBlockIndexType, FilterPolicy, IndexType, TableFactory, WriteBufferManager,
    from_file, to_file,
};
use ferrock_format::options_file::OptionsFile;
use std::sync::Arc;

type Families = Vec<(String, ColumnFamilyOptions)>;

fn one(family: ColumnFamilyOptions) -> Families {
    vec![("default".to_owned(), family)]
}

/// `name=value` of all that differs from the defaults.
fn changed(db: &DbOptions, families: &Families) -> Vec<String> {
    let defaults = DbOptions::default();
    let differences = differences_between((&defaults, &[]), (db, families));
    let mut texts: Vec<String> =
        differences.into_iter().map(|row| format!("{}={}", row.name, row.after.unwrap_or_default())).collect();
    texts.sort();
    texts
}

fn of_family(set: impl FnOnce(&mut ColumnFamilyOptions)) -> Vec<String> {
    let mut family = ColumnFamilyOptions::default();
    set(&mut family);
    changed(&DbOptions::default(), &one(family))
}

fn of_database(set: impl FnOnce(&mut DbOptions)) -> Vec<String> {
    let mut db = DbOptions::default();
    set(&mut db);
    changed(&db, &Vec::new())
}

/// A family of plain tables, with table options that helpers which make new tables must not keep.
fn odd_tables() -> ColumnFamilyOptions {
    let mut family =
        ColumnFamilyOptions { table_factory: TableFactory::Plain(Arc::default()), ..ColumnFamilyOptions::default() };
    family.table.block_size = 77;
    family
}

#[test]
fn increase_parallelism_sets_jobs() {
    assert_eq!(
        of_database(|db| {
            db.increase_parallelism(16);
        }),
        ["max_background_jobs=16"]
    );
}

#[test]
fn optimize_for_point_lookup_makes_tables_anew() {
    let expected = [
        "data_block_index_type=kDataBlockBinaryAndHash",
        "filter_policy=bloomfilter:10:false",
        "memtable_prefix_bloom_size_ratio=0.020000",
        "memtable_whole_key_filtering=true",
    ];
    assert_eq!(
        of_family(|family| {
            family.optimize_for_point_lookup(8);
        }),
        expected
    );
    let again = of_family(|family| {
        *family = odd_tables();
        family.optimize_for_point_lookup(8);
        assert_eq!(family.block_cache.as_ref().unwrap().capacity(), 8 << 20);
    });
    assert_eq!(again, expected);
}

#[test]
fn optimize_level_style_compaction_divides_its_budget() {
    let expected = [
        "compression_per_level=kNoCompression:kNoCompression:kLZ4Compression:kLZ4Compression:kLZ4Compression:\
         kLZ4Compression:kLZ4Compression",
        "level0_file_num_compaction_trigger=2",
        "max_bytes_for_level_base=536870912",
        "max_write_buffer_number=6",
        "min_write_buffer_number_to_merge=2",
        // An eighth, which is also the default.
        "write_buffer_size=134217728",
    ];
    assert_eq!(
        of_family(|family| {
            family.optimize_level_style_compaction(512 << 20);
        }),
        expected
    );
    let mut family = ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::Universal;
    family.num_levels = 3;
    family.optimize_level_style_compaction(80 << 20);
    assert_eq!((family.target_file_size_base, family.compaction_style), (10 << 20, CompactionStyle::Level));
    assert_eq!(family.compression_per_level.len(), 3);
}

#[test]
fn optimize_universal_style_compaction_divides_its_budget() {
    let mut family = ColumnFamilyOptions::default();
    family.optimize_universal_style_compaction(64 << 20);
    assert_eq!(family.compaction_options_universal.compression_size_percent, 80);
    let texts = changed(&DbOptions::default(), &one(family));
    let names: Vec<&str> = texts.iter().map(|text| text.split_once('=').unwrap().0).collect();
    let expected = [
        "compaction_options_universal",
        "compaction_style",
        "max_write_buffer_number",
        "min_write_buffer_number_to_merge",
        "write_buffer_size",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        texts[1..],
        [
            "compaction_style=kCompactionStyleUniversal",
            "max_write_buffer_number=6",
            "min_write_buffer_number_to_merge=2",
            "write_buffer_size=16777216",
        ]
    );
}

#[test]
fn optimize_for_small_db_has_two_halves() {
    let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 16 << 20, ..CacheOptions::default() });
    let mut db = DbOptions::default();
    db.optimize_for_small_db(Some(&cache));
    assert_eq!(changed(&db, &Vec::new()), ["max_file_opening_threads=1", "max_open_files=5000"]);
    let manager: &WriteBufferManager = db.components.write_buffer_manager.as_ref().unwrap();
    assert!(manager.cost_to_cache() && manager.buffer_size() == 0);
    let expected = [
        "cache_index_and_filter_blocks=true",
        "hard_pending_compaction_bytes_limit=1073741824",
        "index_type=kTwoLevelIndexSearch",
        "max_bytes_for_level_base=10485760",
        "soft_pending_compaction_bytes_limit=268435456",
        "target_file_size_base=2097152",
        "write_buffer_size=2097152",
    ];
    assert_eq!(
        of_family(|family| {
            family.optimize_for_small_db(None);
        }),
        expected
    );
    let again = of_family(|family| {
        *family = odd_tables();
        family.filter_policy = FilterPolicy::bloom(10.0);
        family.optimize_for_small_db(Some(&cache));
        assert!(Arc::ptr_eq(family.block_cache.as_ref().unwrap(), &cache));
    });
    assert_eq!(again, expected);
}

#[test]
fn prepare_for_bulk_load_has_two_halves() {
    let expected = ["max_background_compactions=2", "max_background_flushes=4"];
    assert_eq!(
        of_database(|db| {
            db.prepare_for_bulk_load();
        }),
        expected
    );
    let expected = [
        "disable_auto_compactions=true",
        "hard_pending_compaction_bytes_limit=0",
        "level0_file_num_compaction_trigger=1073741824",
        "level0_slowdown_writes_trigger=1073741824",
        "level0_stop_writes_trigger=1073741824",
        "max_compaction_bytes=1152921504606846976",
        "max_write_buffer_number=6",
        "num_levels=2",
        "soft_pending_compaction_bytes_limit=0",
        "target_file_size_base=268435456",
    ];
    assert_eq!(
        of_family(|family| {
            family.prepare_for_bulk_load();
        }),
        expected
    );
    let mut family = ColumnFamilyOptions::default();
    family.min_write_buffer_number_to_merge = 3;
    family.prepare_for_bulk_load();
    assert_eq!(family.min_write_buffer_number_to_merge, 1);
}

fn two_families() -> Families {
    let mut odd = odd_tables();
    odd.num_levels = 5;
    odd.compaction_style = CompactionStyle::Universal;
    vec![("default".to_owned(), ColumnFamilyOptions::default()), ("odd".to_owned(), odd)]
}

#[test]
fn a_report_is_the_difference_and_a_second_time_changes_nothing() {
    for profile in Profile::ALL {
        for mut families in [one(ColumnFamilyOptions::default()), two_families()] {
            let (mut db, before) = (DbOptions::default(), families.clone());
            let report = profile.apply(&mut db, &mut families);
            let actual = differences_between((&DbOptions::default(), &before), (&db, &families));
            let told = report.changes.iter().map(|change| &change.difference);
            let (components, told): (Vec<_>, Vec<_>) =
                told.cloned().partition(|row| row.section == OptionSection::Component);
            assert_eq!(told, actual, "{profile}");
            assert_eq!(components.len(), usize::from(db.components.block_cache.is_some()), "{profile}");
            assert!(!told.is_empty());
            let once = (db.clone(), families.clone());
            let second = profile.apply(&mut db, &mut families);
            assert_eq!(second.changes, [], "{profile}");
            assert!(second.to_string().contains("already"));
            assert!(differences_between((&once.0, &once.1), (&db, &families)).is_empty());
            let caches = [&once.0, &db].map(|db| db.components.block_cache.as_ref().map(Arc::as_ptr));
            assert_eq!(caches[0], caches[1], "{profile}: the cache stays");
        }
    }
}

/// Each setting of the lists is what the options have, so no name and no text is misspelled.
#[test]
fn every_setting_is_set() {
    for profile in Profile::ALL {
        let mut families = two_families();
        let mut db = DbOptions::default();
        profile.apply(&mut db, &mut families);
        for setting in settings::of(profile) {
            let Some(text) = setting.text else { continue };
            for (name, family) in &families {
                let found = match (setting.half, setting.name) {
                    (settings::Half::Database, name) => db.settings.get(name),
                    (settings::Half::Family, "table_factory") => Some(family.table_factory.name().to_owned()),
                    (settings::Half::Family, name) => family.settings.get(name),
                    (settings::Half::Table, "filter_policy") => Some(family.filter_policy.to_string()),
                    (settings::Half::Table, name) => family.table.get(name),
                };
                let expected = if setting.name == "table_factory" { "BlockBasedTable" } else { text };
                assert_eq!(found.as_deref(), Some(expected), "{profile}, family {name}: {}", setting.name);
            }
        }
    }
}

#[test]
fn every_change_of_the_defaults_has_its_reason() {
    for profile in Profile::ALL {
        let (mut db, mut families) = (DbOptions::default(), one(ColumnFamilyOptions::default()));
        for change in profile.apply(&mut db, &mut families).changes {
            assert!(!change.reason.is_empty() && !change.reason.contains("comes with"), "{profile}: {change:?}");
        }
    }
}

#[test]
fn profiles_go_together_and_through_a_file() {
    for profile in Profile::ALL {
        let (mut db, mut families) = (DbOptions::default(), one(ColumnFamilyOptions::default()));
        profile.apply(&mut db, &mut families);
        assert_eq!(db.violations(), []);
        assert_eq!(db.clone().adjust(), [], "{profile}");
        crate::combinations::check_db(&db).unwrap();
        for (_, family) in &families {
            assert_eq!(family.violations(), []);
            assert_eq!(family.clone().settle_in(&db), [], "{profile}: nothing is adjusted");
            assert!(family.unsupported().is_empty() && family.without_effect().is_empty());
            crate::combinations::check_family(&db, family).unwrap();
        }
        let text = to_file(&db, &families).format().unwrap();
        let loaded = from_file(&OptionsFile::parse(text.as_bytes()).unwrap());
        assert_eq!(loaded.notes, Vec::<String>::new(), "{profile}");
        let back = (&loaded.db, &loaded.column_families[..]);
        assert_eq!(differences_between((&db, &families), back), [], "{profile}");
    }
}

#[test]
fn a_cache_or_a_budget_that_is_there_stays() {
    let own = TableBlockCache::new(CacheOptions::default());
    let mut db = DbOptions::default();
    db.components.block_cache = Some(Arc::clone(&own));
    let report = Profile::Balanced.apply_to_database(&mut db);
    assert!(Arc::ptr_eq(db.components.block_cache.as_ref().unwrap(), &own));
    assert!(report.changes.iter().all(|change| change.difference.section == OptionSection::Database));
    let mut db = DbOptions::default();
    db.components.memory_budget = Some(crate::MemoryBudget::new(64 << 20));
    Profile::Balanced.apply_to_database(&mut db);
    assert!(db.components.block_cache.is_none());
    crate::combinations::check_db(&db).unwrap();
}

#[test]
fn halves_alone_are_halves_of_the_whole() {
    for profile in Profile::ALL {
        let (mut db, mut families) = (DbOptions::default(), one(ColumnFamilyOptions::default()));
        let whole = profile.apply(&mut db, &mut families);
        let mut halves = profile.apply_to_database(&mut DbOptions::default()).changes;
        halves.extend(profile.apply_to_family("default", &mut ColumnFamilyOptions::default()).changes);
        halves.sort_by_key(|change| change.difference.section == OptionSection::Component);
        assert_eq!(halves, whole.changes, "{profile}");
        let made = (DbOptions::for_profile(profile), one(ColumnFamilyOptions::for_profile(profile)));
        assert_eq!(differences_between((&made.0, &made.1), (&db, &families)), []);
    }
    assert_eq!(DbOptions::for_little_memory().max_open_files, 64);
    assert!(DbOptions::for_flash().use_direct_io_for_flush_and_compaction);
    assert_eq!(DbOptions::for_bulk_load().max_background_flushes, 4);
    assert_eq!(ColumnFamilyOptions::for_little_memory().write_buffer_size, 2 << 20);
    assert_eq!(ColumnFamilyOptions::for_flash().table.index_type, IndexType::TwoLevelIndexSearch);
    assert!(ColumnFamilyOptions::for_bulk_load().disable_auto_compactions);
}

#[test]
fn profiles_are_what_they_say() {
    let family = |profile| ColumnFamilyOptions::for_profile(profile);
    assert_eq!(family(Profile::WriteHeavy).compaction_style, CompactionStyle::Universal);
    assert_eq!(family(Profile::PointLookup).table.data_block_index_type, DataBlockIndexType::BinaryAndHash);
    assert_eq!(family(Profile::Balanced).bottommost_compression.0, Some(CompressionType::Zstd));
    // The sums that the purposes tell.
    for (profile, mib) in [(Profile::WriteHeavy, 768), (Profile::Flash, 512), (Profile::BulkLoad, 384)] {
        let family = family(profile);
        let most = family.write_buffer_size * usize::try_from(family.max_write_buffer_number).unwrap();
        assert_eq!(most, mib << 20, "{profile}");
        assert!(profile.purpose().contains(&format!("{mib} MiB")));
    }
    // Writers do wait when all memtables are full.
    assert!(Profile::BulkLoad.purpose().contains("waits for compactions"));
}

#[test]
fn names_are_read_as_they_are_written() {
    for profile in Profile::ALL {
        assert_eq!(profile.to_string().parse::<Profile>().unwrap(), profile);
        assert!(profile.purpose().ends_with('.'), "{profile}");
    }
    assert_eq!("WriteHeavy".parse::<Profile>().unwrap(), Profile::WriteHeavy);
    assert_eq!("point_lookup".parse::<Profile>().unwrap(), Profile::PointLookup);
    let error = "fast".parse::<Profile>().unwrap_err();
    assert!(error.message().contains("bulk-load"), "{error}");
}
