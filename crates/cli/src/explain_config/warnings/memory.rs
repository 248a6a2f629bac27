//! Memtables, caches, indexes and filters against the memory there is.

use super::{OfFamily, Sink};
use crate::explain_config::figures::{Asked, Figures};
use crate::explain_config::subject::Subject;
use crate::output::bytes;

fn text(count: f64) -> String {
    bytes(count as u64)
}

pub(super) fn of_database(sink: &mut Sink<'_>, subject: &Subject, figures: &Figures, asked: &Asked) {
    let families = subject.families.len();
    let memory = &figures.memory;
    if let Some(limit) = asked.memory {
        let limit = limit as f64;
        if memory.memtables > limit / 2.0 {
            sink.add(
                "memtables-over-memory",
                "write_buffer_size",
                format!(
                    "write_buffer_size x max_write_buffer_number of {families} families is {}, more than half of \
                     --memory {}",
                    text(memory.memtables),
                    text(limit)
                ),
                "full memtables leave no room for the cache, or the process is ended for its memory",
                "db_write_buffer_size = a quarter of the memory: it bounds the memtables of all families together",
            );
        }
        if memory.all() > limit {
            sink.add(
                "memory-over-limit",
                "max_open_files",
                format!("the holders of memory come to {} at most, above --memory {}", text(memory.all()), text(limit)),
                "the process is swapped, or ended for its memory",
                "the memory_budget of a program (`MemoryBudget`), or less of the largest holder above",
            );
        }
    }
    if figures.cached_metadata > memory.cache * 0.5 {
        sink.add(
            "metadata-outgrows-cache",
            "cache_index_and_filter_blocks",
            format!(
                "indexes and filters of {} share a block cache of {}",
                text(figures.cached_metadata),
                text(memory.cache)
            ),
            "data blocks hardly stay in the cache, and lookups read indexes and filters from files again and again",
            "a block cache of twice the indexes and filters, a larger block_size, or ribbon filters",
        );
    }
    if memory.metadata > memory.cache.max((1_u64 << 30) as f64) {
        sink.add(
            "metadata-outside-cache",
            "cache_index_and_filter_blocks",
            format!(
                "cache_index_and_filter_blocks = false: open tables hold {} of indexes and filters, beside a block \
                 cache of {}",
                text(memory.metadata),
                text(memory.cache)
            ),
            "memory grows with the data, and nothing bounds it",
            "index_type = kTwoLevelIndexSearch, partition_filters = true, cache_index_and_filter_blocks = true",
        );
    }
    let (limit, many) = (subject.db.max_total_wal_size, families >= 10);
    if limit == 0 && many && figures.wal_limit > (4_u64 << 30) as f64 {
        sink.add(
            "wal-unbounded",
            "max_total_wal_size",
            format!(
                "max_total_wal_size = 0 with {families} families: four times their memtables, {}",
                text(figures.wal_limit)
            ),
            "a family that is seldom written keeps old logs; after a crash the open reads all of them",
            "max_total_wal_size = 1073741824 or what may be read at an open",
        );
    }
    if subject.db.use_direct_reads && memory.cache <= (64_u64 << 20) as f64 {
        sink.add(
            "direct-reads-small-cache",
            "use_direct_reads",
            format!("use_direct_reads = true with a block cache of {}", text(memory.cache)),
            "the system's page cache is passed by, so that nearly every block comes from the device",
            "a block cache of most of the memory, or use_direct_reads = false",
        );
    }
}

pub(super) fn of_family(sink: &mut Sink<'_>, of: &OfFamily<'_>) {
    let table = &of.options.table;
    if table.pin_l0_filter_and_index_blocks_in_cache && !of.figures.metadata_in_cache {
        sink.add(
            "pin-without-cache",
            "pin_l0_filter_and_index_blocks_in_cache",
            "pin_l0_filter_and_index_blocks_in_cache = true, and indexes and filters are not in the cache".to_owned(),
            "nothing is pinned: they are with the open tables",
            "cache_index_and_filter_blocks = true, or no pinning",
        );
    }
    let buffer = of.options.write_buffer_size as f64;
    let bound = of.db.db_write_buffer_size as f64;
    if bound > 0.0 && buffer > bound {
        sink.add(
            "memtable-above-bound",
            "write_buffer_size",
            format!("write_buffer_size = {} above db_write_buffer_size = {}", text(buffer), text(bound)),
            "memtables are flushed before they are full, into smaller tables than the size promises",
            "a write_buffer_size below db_write_buffer_size",
        );
    }
    if table.no_block_cache && !of.db.allow_mmap_reads.is_on() {
        sink.add(
            "no-block-cache",
            "no_block_cache",
            "no_block_cache = true".to_owned(),
            "every lookup reads its block from the system and decompresses it again",
            "no_block_cache = false, unless each key is read once",
        );
    }
    let used = of.figures.tree.as_ref().filter(|_| of.figures.metadata_in_cache);
    if let (Some(cache), Some(tree)) = (&of.options.block_cache, used) {
        let (needed, has) = (tree.index_bytes + tree.filter_bytes, cache.capacity() as f64);
        if needed > has && has < of.cache_bytes {
            sink.add(
                "family-cache-too-small",
                "block_cache",
                format!("indexes and filters of {} with a cache of the family's own of {}", text(needed), text(has)),
                "lookups read indexes and filters from files again and again",
                "a larger cache for the family, or the database's",
            );
        }
    }
}
