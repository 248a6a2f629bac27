//! The OPTIONS file of an open database: written at open and whenever the families or
//! their options change.
//!
//! It is written on the thread of the caller, and another handle may close the database meanwhile. Closing waits for a
//! file that is being written, and none is begun after it: the directory may be another opener's then.
//!
//! Each file has all families, so that one for each of ten thousand families that are created would cost time and bytes
//! with the square of their number. Where there are [`FEW_FAMILIES`] or more, a file is therefore written when an
//! eighth of them came or went, and for fewer after [`LONGEST_WAIT`], by a thread, or when the database is closed. Only
//! what a crash in between may take waits: families that went, and those that came with the options that an open gives
//! to a family without a section. A family with options of its own has its file when it is there; many of them are
//! created by one call, which writes one file at its end, and where it takes long others on the way.

use super::{DbCore, cleanup};
use crate::options::to_file;
use crate::settings::OptionsFileState;
use ferrock_base::Result;
use ferrock_base::byte_text::to_bytes;
use ferrock_format::file_name;
use ferrock_vfs::write_file_atomically_as;
use std::sync::Arc;
use std::time::Duration;

/// Below that number of families every one that comes or goes has its OPTIONS file.
const FEW_FAMILIES: usize = 64;
/// How long a family that came waits for its OPTIONS file.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Writes a new OPTIONS file: temporary name, sync, rename, directory sync.
///
/// # Errors
/// `Shutdown in progress` when the database is closed or closing.
pub(crate) fn write_options_file(core: &DbCore) -> Result<()> {
    let _open = core.jobs.hold_open()?;
    write_in_turn(core, &mut core.options.begin_file())
}

/// Counts a family that came or went: closing writes the OPTIONS file if no later call does.
pub(crate) fn note_change(core: &DbCore) {
    core.options.begin_file().family_changes += 1;
}

/// Has a thread write an OPTIONS file after a while, where there are many families, if its caller has not written one
/// by then.
pub(crate) fn wait_for_more(core: &Arc<DbCore>) {
    if core.families.load().len() >= FEW_FAMILIES {
        waits_for_thread(core, &mut core.options.begin_file());
    }
}

/// Writes a new OPTIONS file because families came or went, or lets it wait where it may. True when one was written.
///
/// # Errors
/// Those of [`write_options_file`].
pub(crate) fn families_changed(core: &Arc<DbCore>, may_wait: bool) -> Result<bool> {
    let _open = core.jobs.hold_open()?;
    let mut state = core.options.begin_file();
    let families = core.families.load().len();
    let is_due = !may_wait || families < FEW_FAMILIES || state.family_changes >= families / 8;
    if is_due || !waits_for_thread(core, &mut state) {
        write_in_turn(core, &mut state)?;
        drop(state);
        if families >= FEW_FAMILIES {
            // The files before it, of thousands of families, are large.
            cleanup::delete_obsolete_files(core);
        }
        return Ok(true);
    }
    Ok(false)
}

/// True when a thread is going to write a file, and to remove what is not needed.
pub(crate) fn is_awaited(core: &DbCore) -> bool {
    core.options.begin_file().is_thread_waiting
}

/// False when no thread is to be had.
fn waits_for_thread(core: &Arc<DbCore>, state: &mut OptionsFileState) -> bool {
    if state.is_thread_waiting {
        return true;
    }
    let (weak, clock, alarm) =
        (Arc::downgrade(core), Arc::clone(&core.env.clock), Arc::clone(core.options.file_alarm()));
    alarm.arm();
    let started = core.env.spawner.spawn(
        "ferrock:options",
        Box::new(move || {
            clock.sleep_unless(&alarm, LONGEST_WAIT);
            let Some(core) = weak.upgrade() else { return };
            core.options.begin_file().is_thread_waiting = false;
            // Closing writes it itself.
            let Ok(_open) = core.jobs.hold_open() else { return };
            if let Err(error) = write_what_waits(&core) {
                core.events.log().warn(|| format!("the OPTIONS file lacks new families: {error}"));
            }
            // As behind a file that a caller writes: those before it are large. Where there was no space for one, the
            // tables of families that went make some.
            cleanup::delete_obsolete_files(&core);
        }),
    );
    state.is_thread_waiting = started.is_ok();
    state.is_thread_waiting
}

/// Writes the OPTIONS file that families wait for, if any do. The caller keeps the database open, or closes it.
pub(super) fn write_what_waits(core: &DbCore) -> Result<()> {
    core.options.file_alarm().ring();
    let mut state = core.options.begin_file();
    if state.family_changes > 0 { write_in_turn(core, &mut state) } else { Ok(()) }
}

fn write_in_turn(core: &DbCore, state: &mut OptionsFileState) -> Result<()> {
    let mut views = core.versions.families();
    views.sort_by_key(|view| view.id);
    let live = core.families.load_full();
    state.texts.keep(|id| live.get(id).is_some());
    let mut text = to_file(&core.options.load(), &[]).format()?;
    for view in views {
        let Some(data) = live.get(view.id) else { continue };
        state.texts.text(view.id, &data.options.load_full())?.append_to(&mut text, &view.name);
    }
    let temp = core.files.database().join(file_name::options_temp(core.versions.new_file_number()));
    let name = file_name::options(core.versions.new_file_number());
    let path = core.files.database().join(&name);
    let temperature = core.options.load().metadata_write_temperature;
    write_file_atomically_as(&*core.env.file_system, &path, &temp, &to_bytes(&text), temperature)?;
    core.files.note_file(core.files.database(), name);
    state.family_changes = 0;
    Ok(())
}
