//! The counts that differ, with their reasons. Those about batches, filters, scans, range deletions and blob files were
//! tried: with that part of the history left out the counts are the same, or differ by what the reason says.

/// Names of counts, and why they differ.
pub const KNOWN: &[(&str, &str)] = &[
    ("block-cache-pinned-usage, family 0", PINNED),
    ("block-cache-pinned-usage, family 1", PINNED),
    ("cur-size-active-mem-table, family 0", ARENA),
    ("cur-size-active-mem-table, family 1", ARENA),
    ("cur-size-all-mem-tables, family 0", ARENA),
    ("cur-size-all-mem-tables, family 1", ARENA),
    ("size-all-mem-tables, family 0", ARENA),
    ("size-all-mem-tables, family 1", ARENA),
    ("estimate-live-data-size, family 0", PROPERTIES),
    ("estimate-live-data-size, family 1", PROPERTIES),
    ("estimate-table-readers-mem, family 0", MEMORY),
    ("estimate-table-readers-mem, family 1", MEMORY),
    ("live-sst-files-size, family 0", PROPERTIES),
    ("live-sst-files-size, family 1", PROPERTIES),
    ("total-sst-files-size, family 0", PROPERTIES),
    ("total-sst-files-size, family 1", PROPERTIES),
    ("min-log-number-to-keep, family 0", NUMBERS),
    ("min-log-number-to-keep, family 1", NUMBERS),
    ("rocksdb.blobdb.blob.file.bytes.read", "RocksDB counts headers and footers, too"),
    (
        "rocksdb.blobdb.blob.file.read.micros, values",
        "RocksDB reads neighbouring values of a batch at once, and counts headers and footers",
    ),
    ("rocksdb.block.cache.add", RANGES),
    ("rocksdb.block.cache.bytes.read", MEMORY),
    ("rocksdb.block.cache.bytes.write", MEMORY),
    ("rocksdb.block.cache.data.add", RANGES),
    ("rocksdb.block.cache.data.bytes.insert", MEMORY),
    ("rocksdb.block.cache.data.hit", BATCHES),
    ("rocksdb.block.cache.hit", BATCHES),
    ("rocksdb.block.checksum.compute.count", OPENS),
    ("rocksdb.bloom.filter.full.positive", FILTERS),
    ("rocksdb.bloom.filter.full.true.positive", FILTERS),
    ("rocksdb.bloom.filter.prefix.checked", FILTERS),
    ("rocksdb.bloom.filter.useful", FILTERS),
    ("rocksdb.compact.read.bytes", "the size of the inputs; RocksDB counts what it reads of them"),
    ("rocksdb.compact.write.bytes", PROPERTIES),
    ("rocksdb.compaction.key.drop.new", "RocksDB counts what a range deletion hides here, too"),
    ("rocksdb.compaction.key.drop.obsolete", "RocksDB counts a range deletion that goes here, too"),
    ("rocksdb.file.read.compaction.micros, values", READS),
    ("rocksdb.file.read.flush.micros, values", READS),
    ("rocksdb.files.deleted.immediately", "every file of the directory, logs and OPTIONS files, too"),
    ("rocksdb.flush.memtable.memory.bytes, sum", ARENA),
    ("rocksdb.flush.memtable.total.data.size.bytes, sum", "keys and values; RocksDB adds their lengths"),
    ("rocksdb.flush.write.bytes", PROPERTIES),
    ("rocksdb.last.level.read.bytes", OF_TABLES),
    ("rocksdb.last.level.read.count", OF_TABLES),
    ("rocksdb.last.level.seek.data", NOT_COUNTED),
    ("rocksdb.last.level.seek.data.useful.no.filter", NOT_COUNTED),
    ("rocksdb.memtable.garbage.bytes.at.flush", EMPTY),
    ("rocksdb.memtable.payload.bytes.at.flush", EMPTY),
    ("rocksdb.multiget.io.batch.size, sum", BATCH_READS),
    ("rocksdb.multiget.io.batch.size, values", BATCH_READS),
    ("rocksdb.no.file.opens", OPENS),
    ("rocksdb.non.last.level.read.bytes", OF_TABLES),
    ("rocksdb.non.last.level.read.count", OF_TABLES),
    ("rocksdb.non.last.level.seek.data", NOT_COUNTED),
    ("rocksdb.non.last.level.seek.data.useful.no.filter", NOT_COUNTED),
    ("rocksdb.num.level.read.per.multiget, sum", ONE_BY_ONE),
    ("rocksdb.num.level.read.per.multiget, values", ONE_BY_ONE),
    ("rocksdb.num.sst.read.per.level, sum", ONE_BY_ONE),
    ("rocksdb.num.sst.read.per.level, values", ONE_BY_ONE),
    ("rocksdb.number.iter.skip", STEPS),
    ("rocksdb.number.superversion_acquires", PINS),
    ("rocksdb.number.superversion_releases", PINS),
    ("rocksdb.read.block.get.micros, values", OPENS),
    ("rocksdb.read.num.merge_operands, sum", LOOKUPS),
    ("rocksdb.read.num.merge_operands, values", LOOKUPS),
    ("rocksdb.sst.batch.size, sum", ONE_BY_ONE),
    ("rocksdb.sst.batch.size, values", ONE_BY_ONE),
    ("rocksdb.sst.read.micros, values", OF_TABLES),
    ("rocksdb.table.open.io.micros, values", OPENS),
];

const ARENA: &str = "memory of another arena";
const BATCHES: &str = "each key of a batch looks its block up; RocksDB does so once for neighbours";
const BATCH_READS: &str =
    "of blocks of tables, all of which are in the cache here; RocksDB counts values of blob files, too";
const EMPTY: &str = "RocksDB leaves out a flush that leaves no table";
const FILTERS: &str = "where there are few files RocksDB asks the filters of those whose range lacks the key, too";
const LOOKUPS: &str = "of lookups alone; RocksDB counts the merges of scans, too";
const MEMORY: &str = "what blocks take in memory here, where blocks of an index are decoded";
const NOT_COUNTED: &str = "not counted";
const NUMBERS: &str = "numbers of files are given out in another order";
const OF_TABLES: &str =
    "of tables, the end of each at once; RocksDB counts the reads of blob files, too, and reads block by block";
const ONE_BY_ONE: &str = "keys of a batch go through their tables one by one, in rounds of reads";
const OPENS: &str = "a flush opens its table to check it, and then for readers";
const PINNED: &str = "a database pins nothing by itself";
const PINS: &str = "a read takes its thread's reference";
const PROPERTIES: &str = "properties that RocksDB writes";
const RANGES: &str = "RocksDB keeps the block of range deletions in the cache";
const READS: &str = "the end of a table, and many blocks of a compaction, are one read; RocksDB reads block by block";
const STEPS: &str = "an iterator passes hidden entries, and goes backward, in another way";
