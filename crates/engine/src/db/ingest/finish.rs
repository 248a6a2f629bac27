//! What is done when the files are in, and writers go on.

use super::commit::Placed;
use super::prepare::{Prepared, PreparedFamily};
use super::prepared_file::PreparedFile;
use crate::db::job_env::run_on_threads;
use crate::db::{DbCore, event_log};
use crate::events::Event;
use ferrock_base::{Result, SequenceNumber};
use ferrock_format::file_name;
use ferrock_options::ExternalFileIngestionInfo;
use ferrock_tree::ingestion::Place;
use ferrock_tree::version::{FileMetadata, Version};
use ferrock_vfs::{FileSystem, SequentialOptions, WritableOptions, WritePurpose};
use std::path::Path;
use std::sync::Arc;

/// Bytes that are copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Opens the files, tells of them, and removes the names of those that were moved. Nothing of it can fail the call: the
/// files are in.
pub(super) fn finish(core: &DbCore, prepared: &Prepared<'_>, placed: &Placed, begun_us: u64) {
    let us = core.env.clock.monotonic_us().saturating_sub(begun_us);
    for (family, places) in prepared.families.iter().zip(placed) {
        // While this is held no clean-up removes a file, not even one that a compaction has replaced already.
        let Some(version) = core.versions.current(family.data.id) else { continue };
        for (file, place) in family.files.iter().zip(places) {
            if family.options.write_global_seqno && place.sequence.0 != 0 {
                write_number(core, family, file, *place, &version);
            }
        }
        open_files(core, family, &version);
        drop(version);
        for (file, place) in family.files.iter().zip(places) {
            note(core, family, file, *place, us);
        }
        if family.options.move_files {
            remove_names(core, family);
        }
    }
}

/// Opens what is not to be left to the first read. What cannot be opened is reported to the read that needs it.
fn open_files(core: &DbCore, family: &PreparedFamily<'_>, version: &Version) {
    if !family.options.fill_cache {
        return;
    }
    let last_level = version.num_levels() - 1;
    let is_wanted = |(level, file): &(usize, &Arc<FileMetadata>)| {
        let may_open = family.options.prefetch_lmax_index_and_filter_blocks || *level != last_level;
        may_open && family.files.iter().any(|ours| ours.number == file.number)
    };
    let files: Vec<&Arc<FileMetadata>> = version.files().filter(is_wanted).map(|(_, file)| file).collect();
    let threads = usize::try_from(family.options.file_opening_threads).unwrap_or(1).clamp(1, files.len().max(1));
    run_on_threads(threads, &|first| {
        for file in files.iter().skip(first).step_by(threads) {
            if let Err(error) = family.data.table_cache.get_ref(file) {
                core.events.log().warn(|| format!("[{}] an ingested table: {error}", family.data.name));
            }
        }
    });
}

/// One line for each family, as in RocksDB.
pub(super) fn log_events(core: &DbCore, prepared: &Prepared<'_>, placed: &Placed) {
    for (family, places) in prepared.families.iter().zip(placed) {
        let files = family.files.iter().zip(places);
        let files: Vec<_> = files.map(|(file, place)| (family.path_of(file.number), place.level)).collect();
        event_log::ingest_finished(core, family.data.id, &files);
    }
}

fn note(core: &DbCore, family: &PreparedFamily<'_>, file: &PreparedFile, place: Place, us: u64) {
    let inside = family.path_of(file.number);
    core.files.deletion().count(inside.clone(), file.size_bytes);
    family.data.jobs.add_ingested(place.level, file.size_bytes, file.is_copy, file.properties.num_entries, us);
    core.events.log().info(|| {
        format!(
            "[{}] [AddFile] External SST file {} was ingested in L{} with path {} (global_seqno={})",
            family.data.name,
            file.external_path.display(),
            place.level,
            inside.display(),
            place.sequence
        )
    });
    core.events.tell(|| {
        Event::ExternalFileIngested(Box::new(ExternalFileIngestionInfo {
            column_family: family.data.name.clone(),
            external_file_path: file.external_path.clone(),
            internal_file_path: inside.clone(),
            global_seqno: place.sequence,
            table_properties: Arc::clone(&file.properties),
        }))
    });
}

/// Ends the move. A name that stays costs nothing but the name.
fn remove_names(core: &DbCore, family: &PreparedFamily<'_>) {
    for file in &family.files {
        if let Err(error) = core.env.file_system.remove_file(&file.external_path) {
            core.events.log().warn(|| format!("a file was ingested, and its first name stays: {error}"));
        }
    }
}

/// Puts a file with its number in it in the place of the one without, which reads the same: the MANIFEST has the
/// number. The file from outside is not touched, though it may be the same file.
fn write_number(core: &DbCore, family: &PreparedFamily<'_>, file: &PreparedFile, place: Place, version: &Version) {
    let Some(offset) = file.number_offset else { return };
    if !version.files().any(|(_, there)| there.number == file.number) {
        return;
    }
    let inside = family.path_of(file.number);
    let temporary = core.files.reserve(|| core.versions.new_file_number());
    let path = family.directory.join(file_name::temp(temporary));
    let file_system = &*core.env.file_system;
    let options =
        WritableOptions { temperature: file.temperature, ..WritableOptions::for_purpose(WritePurpose::Table) };
    let written = copy_with_number(file_system, &inside, &path, &options, offset, place.sequence)
        .and_then(|()| file_system.rename(&path, &inside))
        .and_then(|()| file_system.sync_dir(&family.directory));
    if let Err(error) = written {
        let _ = file_system.remove_file(&path);
        core.events.log().warn(|| format!("the global sequence number of a table is in the MANIFEST alone: {error}"));
    }
    core.files.release([temporary]);
}

/// Copies a file, but for eight bytes of its properties, which become the number. Their checksum stays that of the file
/// without, as readers of such files expect.
fn copy_with_number(
    file_system: &dyn FileSystem,
    from: &Path,
    to: &Path,
    options: &WritableOptions,
    offset: u64,
    sequence: SequenceNumber,
) -> Result<()> {
    let mut source = file_system.open_sequential(from, &SequentialOptions::default())?;
    let mut target = file_system.create_writable(to, options)?;
    let number = sequence.0.to_le_bytes();
    let (mut buffer, mut at) = (vec![0; CHUNK_BYTES], 0u64);
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        for (index, byte) in (offset..).zip(number) {
            let within = index.checked_sub(at).and_then(|within| usize::try_from(within).ok());
            if let Some(place) = within.and_then(|within| buffer[..read].get_mut(within)) {
                *place = byte;
            }
        }
        target.append(&buffer[..read])?;
        at += read as u64;
    }
    target.sync()?;
    target.close()
}
