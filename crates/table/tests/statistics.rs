//! What is counted agrees with what the writer recorded and with what a plain walk finds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{open_by_itself, scan};
use ferrock_base::internal_key::user_key;
use ferrock_format::handle::BlockHandle;
use ferrock_table::{TableReadOptions, TableStatistics};
use ferrock_vfs::{FileSystem, default_file_system};
use std::path::Path;
use std::sync::Arc;

#[test]
fn of_every_fixture() {
    let file_system: Arc<dyn FileSystem> = default_file_system();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (mut sums, mut tables, mut file_bytes) = (TableStatistics::default(), 0, 0);
    let mut names = file_system.children(&directory).unwrap();
    names.sort();
    for name in names.iter().filter(|name| name.ends_with(".sst")) {
        let Ok(reader) = open_by_itself(&file_system, &directory.join(name), None, |_| {}) else { continue };
        let properties = reader.properties();
        let found = reader.contents().statistics().unwrap_or_else(|error| panic!("{name}: {error}"));
        tables += 1;
        file_bytes += found.file_bytes;
        let entries = scan(&reader, TableReadOptions::default()).unwrap();
        assert_eq!(found.data.entries as usize, entries.len(), "{name}");

        let mut handles: Vec<BlockHandle> = Vec::new();
        reader
            .contents()
            .visit_index(&mut |_, entry| {
                handles.push(entry.handle);
                true
            })
            .unwrap();
        assert_eq!((found.data.blocks.count, found.index.entries), (handles.len() as u64, handles.len() as u64));
        let stored: u64 = handles.iter().map(|handle| handle.size + 5).sum();
        assert_eq!(found.data.blocks.stored_bytes, stored, "{name}");
        // What lies between blocks is padding.
        assert!(stored <= properties.data_size, "{name}");
        if properties.num_data_blocks > 0 {
            assert_eq!(found.data.blocks.count, properties.num_data_blocks, "{name}");
        }

        let index = &found.index;
        assert_eq!(index.partitioned_tables, u64::from(properties.index_type == Some(2)), "{name}");
        if index.partitioned_tables == 1 {
            assert_eq!(index.partitions.count, properties.index_partitions, "{name}");
            assert_eq!(index.top_level.uncompressed_bytes, properties.top_level_index_size, "{name}");
        }
        let whole = index.partitions.uncompressed_bytes + index.top_level.uncompressed_bytes;
        // Of a hash search index, the property counts the prefixes too.
        let whole = if properties.index_type == Some(1) { properties.index_size } else { whole };
        assert!(whole.abs_diff(properties.index_size) <= 5 * (index.partitions.count + 1), "{name}: {whole}");
        assert!(index.fewest_entries <= index.most_entries && index.most_entries <= index.entries, "{name}");
        let filter = &found.filter;
        if filter.tables == 1 && filter.partitioned_tables == 0 {
            assert_eq!(filter.partitions.uncompressed_bytes, properties.filter_size, "{name}");
        }

        let (mut keys, mut falling, mut collided) = (0, 0, 0);
        for handle in &handles {
            let block = reader.contents().read_data_block(*handle).unwrap();
            let Some(buckets) = block.hash_index_buckets() else { continue };
            assert!(buckets.single + buckets.collided <= buckets.total, "{name}");
            collided += buckets.collided as u64;
            let mut iter = ferrock_format::block::DataBlockIter::new(&block, reader.comparator().clone(), None);
            let mut found: Vec<Vec<u8>> = Vec::new();
            ferrock_base::InternalIterator::seek_to_first(&mut iter);
            while ferrock_base::InternalIterator::valid(&iter) {
                found.push(user_key(ferrock_base::InternalIterator::key(&iter)).to_vec());
                ferrock_base::InternalIterator::next(&mut iter);
            }
            found.dedup();
            keys += found.len() as u64;
            falling += found.iter().filter(|key| block.hash_index_falls_back(key)).count() as u64;
        }
        let hash = &found.hash_index;
        assert_eq!((hash.keys, hash.keys_falling_back, hash.collided_buckets), (keys, falling, collided), "{name}");
        assert!(hash.blocks > 0 || !name.contains("datahash"), "{name}");
        sums.merge(&found);
    }
    assert!(tables > 25, "{tables} tables");
    assert_eq!((sums.tables, sums.file_bytes), (tables, file_bytes));
    assert!(sums.filter.formats.legacy_bloom > 0 && sums.filter.formats.ribbon > 0, "{sums:?}");
    assert!(sums.filter.partitioned_tables > 0 && sums.index.partitioned_tables > 0, "{sums:?}");
    assert!(sums.index.most_entries > 1 && sums.data.blocks.smallest_bytes < sums.data.blocks.largest_bytes);
}
