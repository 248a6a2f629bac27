//! Options: settings (serialisable, from option tables), components (not), and the
//! OPTIONS file that keeps the settings.

mod adjust;
mod column_family;
mod components;
mod db;
pub(crate) mod db_path;
pub(crate) mod dump;
mod operation;
pub(crate) mod passthrough;
mod persist;
mod text;

pub use crate::write_buffer_manager::WriteBufferManager;
pub(crate) use column_family::CompactionShape;
pub use column_family::{
    BottommostCompression, ColumnFamilyOptions, ColumnFamilySettings, CompactionPriority, CompactionStyle,
    CompressionSettings,
};
pub use components::Components;
pub use db::{DbOptions, DbSettings, InfoLogLevel};
pub use db_path::DbPath;
pub use ferrock_base::compaction_filter::CompactionFilter;
pub use ferrock_base::merge::MergeOperator;
pub use ferrock_base::option_table::{OptionInfo, OptionValue};
pub use ferrock_base::prefix::PrefixExtractor;
pub use ferrock_cache::CacheOptions;
pub use ferrock_format::compression::CompressionType;
pub use ferrock_format::filter::FilterPolicy;
pub use ferrock_format::log::WalRecoveryMode;
pub use ferrock_table::{BlockBasedTableOptions, CacheUsageOptions, ChargeDecision, TableBlockCache};
pub use operation::{
    BottommostLevelCompaction, CompactRangeOptions, FlushOptions, LimitReads, ReadOptions, ReadTier, WriteOptions,
};
pub use passthrough::{
    COLUMN_FAMILY_OPTIONS as COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT, DB_OPTIONS as DB_OPTIONS_WITHOUT_EFFECT,
    DefaultText, Passthrough,
};
pub(crate) use persist::notes_of;
pub use persist::{LoadedOptions, from_file, load_latest, to_file};
pub use text::apply_text;
