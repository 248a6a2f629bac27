//! `recompress`: the size of a table if it were written with other compressions.

use crate::arguments::Recompression;
use ferrock::options::CompressionType;
use ferrock::{Result, ValueType};
use ferrock_base::InternalIterator;
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::internal_key::make_internal_key;
use ferrock_format::compression::CompressionOptions;
use ferrock_table::{BlockTable, BlockTableBuilder, TableBuilderParams, TableReadOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, WritableOptions};
use std::path::Path;
use std::sync::Arc;

/// What a compression makes of a table.
#[derive(Clone, Debug)]
pub(crate) struct Recompressed {
    pub(crate) compression: CompressionType,
    pub(crate) level: i32,
    pub(crate) file_size: u64,
    pub(crate) blocks: u64,
    /// Blocks that no compression was tried on.
    pub(crate) bypassed: u64,
    /// Blocks that compression did not make small enough.
    pub(crate) rejected: u64,
    pub(crate) micros: u64,
}

impl Recompressed {
    pub(crate) fn compressed(&self) -> u64 {
        self.blocks.saturating_sub(self.bypassed + self.rejected)
    }

    /// The line behind the level.
    pub(crate) fn line(&self) -> String {
        let percent = |part: u64| if self.blocks == 0 { 0.0 } else { part as f64 / self.blocks as f64 * 100.0 };
        let parts =
            [self.compressed(), self.bypassed, self.rejected].map(|part| format!("{part:6} ({:5.1}%)", percent(part)));
        format!(
            "Compression level: {} Size: {:10} Blocks: {:6} Time Taken: {:10} microsecs Compressed: {} \
             Not compressed (ratio): {} Not compressed (abort): {}",
            self.level, self.file_size, self.blocks, self.micros, parts[0], parts[1], parts[2]
        )
    }
}

/// Writes the table into memory with one compression.
pub(crate) fn measure(
    reader: &Arc<BlockTable>,
    request: &Recompression,
    compression: CompressionType,
    level: i32,
) -> Result<Recompressed> {
    let clock = SystemClock::default();
    let mut params = TableBuilderParams::new(reader.comparator().clone());
    params.options = Arc::new(request.table.clone());
    params.compression = compression;
    params.compression_options = CompressionOptions {
        level,
        max_dict_bytes: request.max_dict_bytes,
        zstd_max_train_bytes: request.zstd_max_train_bytes,
        max_dict_buffer_bytes: request.max_dict_buffer_bytes,
        use_zstd_dict_trainer: request.use_zstd_dict_trainer,
        strategy: request.strategy,
        max_compressed_bytes_per_kb: request.max_compressed_bytes_per_kb,
        ..CompressionOptions::default()
    };
    let file_system = MemoryFileSystem::new();
    let file = file_system.create_writable(Path::new("/recompressed.sst"), &WritableOptions::default())?;
    let mut builder = BlockTableBuilder::new(params, file)?;
    let mut iter = reader.iter(TableReadOptions { fill_cache: false, ..TableReadOptions::default() });
    iter.seek_to_first();
    while iter.valid() {
        builder.add(iter.key(), iter.value())?;
        iter.next();
    }
    iter.status()?;
    for fragment in reader.range_tombstones().iter().flat_map(|tombstones| tombstones.iter()) {
        for sequence in fragment.sequences {
            let key = make_internal_key(fragment.start, *sequence, ValueType::RangeDeletion);
            builder.add_range_tombstone(&key, fragment.end)?;
        }
    }
    let summary = builder.finish()?;
    let properties = &summary.properties;
    Ok(Recompressed {
        compression,
        level,
        file_size: summary.file_size,
        blocks: properties.num_data_blocks,
        bypassed: properties.num_data_blocks_compression_bypassed,
        rejected: properties.num_data_blocks_compression_rejected,
        micros: clock.monotonic_us(),
    })
}
