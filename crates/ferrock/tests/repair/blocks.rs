//! One bit of every block of every table, filters, partitions, dictionaries and what lies between them included: the
//! report names each, and a repair keeps what it said.

use super::damage::{kind_of, may_be_lost, names_of};
use super::world::{PATH, contents_at, db_options, descriptors, examine, filled, repair};
use ferrock::{Db, FileKind};
use ferrock_base::{FileNumber, InternalComparator};
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_table::{Table, TableReaderParams};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, RandomAccessOptions, read_file, write_file_synced};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Bytes of what no list of the table tells: partitions of the index and of filters, and the footer.
const STEP_BYTES: u64 = 24;

/// Where the blocks of a table begin and end, in order: those that the table lists, and what lies between in steps; and
/// the names of its meta blocks.
fn blocks_of(files: &MemoryFileSystem, name: &str) -> (Vec<(u64, u64)>, BTreeSet<String>) {
    let path = Path::new(PATH).join(name);
    let file = files.open_random_access(&path, &RandomAccessOptions::default()).unwrap();
    let size = files.file_size(&path).unwrap();
    let mut params = TableReaderParams::new(file, Arc::new(files.clone()), InternalComparator::default());
    params.file_number = FileNumber(0);
    let table = Table::open(params).unwrap();
    let contents = table.as_block().unwrap().contents();
    let end_of = |handle: ferrock_format::handle::BlockHandle| {
        (handle.offset, handle.offset + handle.size + BLOCK_TRAILER_SIZE as u64)
    };
    let mut listed = Vec::new();
    contents
        .visit_index(&mut |_, entry| {
            listed.push(end_of(entry.handle));
            true
        })
        .unwrap();
    let meta = contents.meta_blocks().unwrap();
    listed.extend(meta.iter().map(|(_, handle)| end_of(*handle)));
    listed.sort_unstable();
    let (mut blocks, mut position) = (Vec::new(), 0);
    for (from, end) in listed.into_iter().chain([(size, size)]) {
        while position < from {
            let next = (position + STEP_BYTES).min(from);
            blocks.push((position, next));
            position = next;
        }
        if from < end {
            blocks.push((from, end));
        }
        position = end;
    }
    let names = meta.into_iter().map(|(name, _)| String::from_utf8_lossy(&name).into_owned());
    (blocks, names.collect())
}

#[test]
fn one_bit_of_every_block_is_named() {
    let (mut meta_blocks, mut flips, mut repairs) = (BTreeSet::new(), 0_u64, 0_u64);
    for seed in [42, 43, 44] {
        flip_all(seed, &mut meta_blocks, (&mut flips, &mut repairs));
    }
    let has = |part: &str| meta_blocks.iter().any(|name| name.contains(part));
    for part in ["fullfilter.", "partitionedfilter.", "compression_dict", "range_del", "properties"] {
        assert!(has(part), "{part} is not in {meta_blocks:?}");
    }
    assert!(flips > 300 && repairs > 100, "{flips} flips, {repairs} repairs");
}

fn flip_all(seed: u64, meta_blocks: &mut BTreeSet<String>, (flips, repairs): (&mut u64, &mut u64)) {
    let (template, before) = filled(seed);
    let (db, _) = Db::open_read_only(PATH, db_options(&template), Some(descriptors())).unwrap();
    let live: Vec<String> = db.live_files().iter().map(|file| file.name()).collect();
    drop(db);
    for name in names_of(&template).into_iter().filter(|name| kind_of(name) == Some(FileKind::Table)) {
        assert!(live.iter().any(|live| live.ends_with(&name)), "{name} is not in {live:?}");
        let (blocks, names) = blocks_of(&template, &name);
        meta_blocks.extend(names);
        let path = Path::new(PATH).join(&name);
        let bytes = read_file(&template, &path).unwrap();
        for (index, (from, end)) in blocks.into_iter().enumerate() {
            // Another place of each block, and another bit.
            let place = from + (index as u64 * 7) % (end - from);
            let mut changed = bytes.clone();
            changed[place as usize] ^= 1 << (index % 8);
            let files = template.crash_clone(CrashPolicy::KeepAll);
            write_file_synced(&files, &path, &changed).unwrap();
            let what = format!("seed {seed}, {name}, byte {place} of the block {from} to {end}");
            let report = examine(&files);
            let file = report.file(&name).unwrap();
            assert!(file.is_damaged(), "{what}: {file:?}");
            *flips += 1;
            if index % 3 > 0 {
                continue;
            }
            *repairs += 1;
            if !report.repair.is_possible {
                // The version in the footer is one that this build does not know.
                assert!(report.repair.note.contains("format_version"), "{what}: {}", report.repair.note);
                assert!(repair(&files).is_err(), "{what}");
                continue;
            }
            let done = repair(&files).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(done.entries, report.repair.entries_kept, "{what}");
            let after = contents_at(&files, PATH).unwrap();
            for (family, rows) in &before {
                let now = &after[family];
                for key in rows.keys().chain(now.keys()).filter(|key| rows.get(*key) != now.get(*key)) {
                    let is_named = may_be_lost(&report.repair, family, key);
                    assert!(is_named, "{what}: {family} {}; {:?}", key.escape_ascii(), report.repair.lost);
                }
            }
            assert!(!examine(&files).is_damaged(), "{what}");
        }
    }
}
