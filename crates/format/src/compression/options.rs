//! `compression_opts`: level, strategy and dictionary of compression.

/// The `level` that asks for each algorithm's own default.
pub const DEFAULT_COMPRESSION_LEVEL: i32 = 32767;

/// RocksDB's `CompressionOptions`, field by field, with its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib only: minus the base-2 logarithm of the window. Negative because blocks
    /// hold raw deflate; readers inflate with a window of 14 bits.
    pub window_bits: i32,
    /// The algorithm's level, [`DEFAULT_COMPRESSION_LEVEL`] for its default.
    /// For LZ4 a negative level is an acceleration factor.
    pub level: i32,
    /// zlib only: 0 default, 1 filtered, 2 Huffman only, 3 run lengths, 4 fixed codes.
    pub strategy: i32,
    /// Size limit of the dictionary of a table; 0 for none.
    pub max_dict_bytes: u32,
    /// Sample bytes given to the dictionary trainer; 0 takes the samples themselves as dictionary.
    pub zstd_max_train_bytes: u32,
    /// Threads that pack and write one table's blocks; 1: one, and another where a processor is idle; 0: one (read by
    /// the table builder).
    pub parallel_threads: u32,
    /// Whether `bottommost_compression_opts` applies (read by the engine).
    pub enabled: bool,
    /// Data buffered before the dictionary is made; 0 for the whole table (read by the table builder).
    pub max_dict_buffer_bytes: u64,
    /// Whether training selects content (true) or only adds entropy tables to the samples.
    pub use_zstd_dict_trainer: bool,
    /// A compressed block is kept if it takes at most this many bytes per KiB of input.
    pub max_compressed_bytes_per_kb: i32,
    /// zstd only: append the content checksum to each frame.
    pub checksum: bool,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        Self {
            window_bits: -14,
            level: DEFAULT_COMPRESSION_LEVEL,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            parallel_threads: 1,
            enabled: false,
            max_dict_buffer_bytes: 0,
            use_zstd_dict_trainer: true,
            max_compressed_bytes_per_kb: 1024 * 7 / 8,
            checksum: false,
        }
    }
}

impl CompressionOptions {
    /// The most bytes (size prefix included) that a compressed form of `raw_size` bytes may take.
    #[must_use]
    pub fn max_compressed_size(&self, raw_size: usize) -> usize {
        let per_kb = u64::try_from(self.max_compressed_bytes_per_kb.clamp(0, 1024)).unwrap_or(0);
        let limit = (raw_size as u128 * u128::from(per_kb)) >> 10;
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}
