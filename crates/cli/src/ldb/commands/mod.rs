//! The commands.

mod admin;
mod backup;
mod blob_text;
mod dump_wal;
mod entity;
mod extern_sst;
mod idump;
mod live_files;
mod load;
mod manifest_dump;
mod manifest_text;
mod point;
mod query;
mod scan;
mod several_keys;
mod style;
mod surgery;
#[cfg(test)]
mod tests;

use crate::arguments::Request;
use crate::{Failure, Result};
use std::io::Write;

/// Runs a command.
pub(crate) fn run(request: &Request, out: &mut dyn Write) -> Result<()> {
    match request.command {
        "get" => point::get(request, out),
        "multi_get" => point::multi_get(request, out),
        "get_entity" => entity::get(request, out),
        "multi_get_entity" => entity::multi_get(request, out),
        "put_entity" => entity::put(request, out),
        "query" => query::run(request, &mut std::io::stdin().lock(), out),
        "put" | "batchput" | "delete" | "singledelete" | "deleterange" | "merge" => point::write(request, out),
        "scan" => scan::scan(request, out),
        "dump" => scan::dump(request, out),
        "idump" => idump::run(request, out),
        "load" => load::run(request, &mut std::io::stdin().lock()),
        "write_extern_sst" => extern_sst::write(request, &mut std::io::stdin().lock(), out),
        "ingest_extern_sst" => extern_sst::ingest(request, out),
        "dump_wal" => dump_wal::run(request, out),
        "dump_live_files" => live_files::dump_live_files(request, out),
        "manifest_dump" => manifest_dump::run(request, out),
        "approxsize" => admin::approximate_size(request, out),
        "compact" => admin::compact(request),
        "checkconsistency" => admin::check_consistency(request, out),
        "list_column_families" => admin::list_column_families(request, out),
        "create_column_family" => admin::create_column_family(request, out),
        "drop_column_family" => admin::drop_column_family(request, out),
        "repair" => admin::repair(request, out),
        "checkpoint" => backup::checkpoint(request, out),
        "backup" => backup::backup(request, out),
        "restore" => backup::restore(request, out),
        "unsafe_remove_sst_file" => surgery::unsafe_remove_sst_file(request),
        "update_manifest" => surgery::update_manifest(request),
        "change_compaction_style" => style::change_compaction_style(request, out),
        "reduce_levels" => surgery::reduce_levels(request, out),
        "list_live_files_metadata" => surgery::list_live_files_metadata(request, out),
        "list_file_range_deletes" => surgery::list_file_range_deletes(request, out),
        "file_checksum_dump" => surgery::file_checksum_dump(request, out),
        "get_property" => admin::property(request, out),
        other => Err(Failure::Usage(format!("Unknown command {other}"))),
    }
}
