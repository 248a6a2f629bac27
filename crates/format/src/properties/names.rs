//! Names of table properties. `rocksdb.deleted.keys` and `rocksdb.merge.operands` keep their historical spelling.

macro_rules! names {
    ($($constant:ident = $name:literal),+ $(,)?) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $constant: &str = $name;
        )+
        /// Every name this module knows.
        pub const ALL: &[&str] = &[$($constant),+];
    };
}

names! {
    ORIGINAL_FILE_NUMBER = "rocksdb.original.file.number",
    RAW_KEY_SIZE = "rocksdb.raw.key.size",
    RAW_VALUE_SIZE = "rocksdb.raw.value.size",
    DATA_SIZE = "rocksdb.data.size",
    INDEX_SIZE = "rocksdb.index.size",
    INDEX_PARTITIONS = "rocksdb.index.partitions",
    TOP_LEVEL_INDEX_SIZE = "rocksdb.top-level.index.size",
    INDEX_KEY_IS_USER_KEY = "rocksdb.index.key.is.user.key",
    INDEX_VALUE_IS_DELTA_ENCODED = "rocksdb.index.value.is.delta.encoded",
    UDI_IS_PRIMARY_INDEX = "rocksdb.udi.is.primary.index",
    NUM_ENTRIES = "rocksdb.num.entries",
    NUM_FILTER_ENTRIES = "rocksdb.num.filter_entries",
    NUM_DELETIONS = "rocksdb.deleted.keys",
    NUM_MERGE_OPERANDS = "rocksdb.merge.operands",
    NUM_RANGE_DELETIONS = "rocksdb.num.range-deletions",
    NUM_DATA_BLOCKS = "rocksdb.num.data.blocks",
    NUM_DATA_BLOCKS_COMPRESSION_REJECTED = "rocksdb.num.data.blocks.compression.rejected",
    NUM_DATA_BLOCKS_COMPRESSION_BYPASSED = "rocksdb.num.data.blocks.compression.bypassed",
    NUM_UNIFORM_BLOCKS = "rocksdb.num.uniform.blocks",
    FILTER_SIZE = "rocksdb.filter.size",
    FORMAT_VERSION = "rocksdb.format.version",
    FIXED_KEY_LENGTH = "rocksdb.fixed.key.length",
    COLUMN_FAMILY_ID = "rocksdb.column.family.id",
    COLUMN_FAMILY_NAME = "rocksdb.column.family.name",
    CREATION_TIME = "rocksdb.creation.time",
    OLDEST_KEY_TIME = "rocksdb.oldest.key.time",
    NEWEST_KEY_TIME = "rocksdb.newest.key.time",
    FILE_CREATION_TIME = "rocksdb.file.creation.time",
    SLOW_COMPRESSION_ESTIMATED_DATA_SIZE = "rocksdb.sample_for_compression.slow.data.size",
    FAST_COMPRESSION_ESTIMATED_DATA_SIZE = "rocksdb.sample_for_compression.fast.data.size",
    TAIL_START_OFFSET = "rocksdb.tail.start.offset",
    USER_DEFINED_TIMESTAMPS_PERSISTED = "rocksdb.user.defined.timestamps.persisted",
    CREATING_DB_IDENTITY = "rocksdb.creating.db.identity",
    CREATING_SESSION_IDENTITY = "rocksdb.creating.session.identity",
    CREATING_HOST_IDENTITY = "rocksdb.creating.host.identity",
    FILTER_POLICY = "rocksdb.filter.policy",
    COMPARATOR = "rocksdb.comparator",
    MERGE_OPERATOR = "rocksdb.merge.operator",
    PREFIX_EXTRACTOR_NAME = "rocksdb.prefix.extractor.name",
    PROPERTY_COLLECTORS = "rocksdb.property.collectors",
    COMPRESSION = "rocksdb.compression",
    COMPRESSION_OPTIONS = "rocksdb.compression_options",
    SEQNO_TIME_MAP = "rocksdb.seqno.time.map",
    KEY_LARGEST_SEQNO = "rocksdb.key.largest.seqno",
    KEY_SMALLEST_SEQNO = "rocksdb.key.smallest.seqno",
    DATA_BLOCK_RESTART_INTERVAL = "rocksdb.data.block.restart.interval",
    INDEX_BLOCK_RESTART_INTERVAL = "rocksdb.index.block.restart.interval",
    SEPARATE_KEY_VALUE_IN_DATA_BLOCK = "rocksdb.separate.key.value.in.data.block",
    EMBEDDED_BLOB_STATS = "rocksdb.embedded.blob.stats",
    TIMESTAMP_MIN = "rocksdb.timestamp_min",
    TIMESTAMP_MAX = "rocksdb.timestamp_max",
    INDEX_TYPE = "rocksdb.block.based.table.index.type",
    WHOLE_KEY_FILTERING = "rocksdb.block.based.table.whole.key.filtering",
    PREFIX_FILTERING = "rocksdb.block.based.table.prefix.filtering",
    DECOUPLED_PARTITIONED_FILTERS = "rocksdb.block.based.table.decoupled.partitioned.filters",
    EXTERNAL_SST_FILE_VERSION = "rocksdb.external_sst_file.version",
    EXTERNAL_SST_FILE_GLOBAL_SEQNO = "rocksdb.external_sst_file.global_seqno",
}
