//! Options: settings (serialisable, from option tables), components (not), and the
//! OPTIONS file that keeps the settings.

mod column_family;
mod components;
mod db;
mod operation;
pub(crate) mod passthrough;

pub use column_family::{
    BottommostCompression, ColumnFamilyOptions, ColumnFamilySettings, CompactionPriority, CompactionStyle,
    CompressionSettings,
};
pub use components::Components;
pub use db::{DbOptions, DbSettings, InfoLogLevel};
pub use operation::{
    BottommostLevelCompaction, CompactRangeOptions, FlushOptions, ReadOptions, ReadTier, WriteOptions,
};
pub use passthrough::Passthrough;
