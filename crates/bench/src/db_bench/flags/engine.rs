//! Flags that set one option of the engine under another name or with another default. Options that are called as their
//! flag, with the engine's default, need no row here.

use super::{Effect, Kind, Row, Scope};

const fn db(name: &'static str, kind: Kind, default: &'static str, option: &'static str) -> Row {
    Row { name, kind, default, help: "", effect: Effect::Option(Scope::Db, option) }
}

const fn family(name: &'static str, kind: Kind, default: &'static str, option: &'static str) -> Row {
    Row { name, kind, default, help: "", effect: Effect::Option(Scope::Family, option) }
}

const fn table(name: &'static str, kind: Kind, default: &'static str, option: &'static str) -> Row {
    Row { name, kind, default, help: "", effect: Effect::Option(Scope::Table, option) }
}

const fn without_effect(name: &'static str, kind: Kind, scope: Scope, option: &'static str) -> Row {
    let help = "Not built yet; only the default is accepted.";
    Row { name, kind, default: "", help, effect: Effect::Inert(scope, option) }
}

pub(super) const ROWS: &[Row] = &[
    // Another name.
    db("open_files", Kind::Integer, "", "max_open_files"),
    db("file_opening_threads", Kind::Integer, "", "max_file_opening_threads"),
    db("mmap_read", Kind::Bool, "", "allow_mmap_reads"),
    family("ttl_seconds", Kind::Integer, "", "ttl"),
    family("memtable_bloom_size_ratio", Kind::Number, "", "memtable_prefix_bloom_size_ratio"),
    family("max_bytes_for_level", Kind::Integer, "", "max_bytes_for_level_base"),
    without_effect("mmap_write", Kind::Bool, Scope::Db, "allow_mmap_writes"),
    db("wal_size_limit_MB", Kind::Integer, "0", "WAL_size_limit_MB"),
    db("wal_ttl_seconds", Kind::Integer, "0", "WAL_ttl_seconds"),
    db("subcompactions", Kind::Integer, "", "max_subcompactions"),
    // Another default: that of RocksDB's db_bench, so that figures can be laid side by side.
    db("delayed_write_rate", Kind::Integer, "8388608", "delayed_write_rate"),
    family("hard_pending_compaction_bytes_limit", Kind::Integer, "137438953472", "hard_pending_compaction_bytes_limit"),
    family("level_compaction_dynamic_level_bytes", Kind::Bool, "false", "level_compaction_dynamic_level_bytes"),
    table("pin_top_level_index_and_filter", Kind::Bool, "false", "pin_top_level_index_and_filter"),
];
