//! Follower instances: what another process writes, under names of one's own, caught up with by a thread.
//!
//! ```text
//! leader     CURRENT, MANIFEST ---> tables, blob files          logs: not read
//!                  |                      | links, or copies
//! follower         |                own directory ---> views of all families, at once ---> names without use go
//!                  |                                             ^
//! thread     period over: as before? -- no: attempt, wait, attempt ..
//! ```
//!
//! - A view is what one state of the MANIFEST has in tables: of each family, what the leader had when it was flushed.
//! - Every file of a view has a name in the follower's directory before readers have the view, and keeps it until no
//!   view needs it. So the leader removes what it likes, and tables need not be held open.
//! - Nothing is written to the leader's directories.
//! - Closing ends the thread. A file that it copies is finished first.
//!
//! The rest is as with a [`secondary`](super::secondary), whose views and families these are. The argument is in
//! `docs/followers.md`; the directory is [`Links`].

use super::own_names::{ManifestStamp, OwnNames};
use super::secondary::{Attempt, Follower, check_no_snapshot, opener_of, say_caught_up};
use super::views::{LEAST_ATTEMPTS, families_of, install};
use super::{ColumnFamilyDescriptor, DbCore, Opener, secondary};
use crate::column_family::ColumnFamily;
use crate::db::views::Views;
use crate::files::links::Links;
use crate::options::DbOptions;
use crate::spans;
use ferrock_base::clock::Clock;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::current_file::decode_identity;
use ferrock_format::file_name;
use ferrock_tree::places::FilePlaces;
use ferrock_tree::version::VersionSet;
use ferrock_tree::version::version_set::{self, RecoverMode};
use ferrock_vfs::read_file;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// See [`Db::open_as_follower`](crate::Db::open_as_follower).
pub(crate) fn open_as_follower(
    path: &Path,
    leader: &Path,
    options: DbOptions,
    families: Option<Vec<ColumnFamilyDescriptor>>,
) -> Result<(Arc<DbCore>, Vec<ColumnFamily>)> {
    let _span = spans::open(path);
    super::best_efforts::refuse(options.best_efforts_recovery)?;
    let file_system = super::file_system_of(&options)?;
    if !version_set::exists(&*file_system, leader)? {
        let what = "there is no database to follow: name the directory of the leader, which has the file CURRENT";
        return Err(Error::invalid_argument(what).in_file(leader.join(file_name::CURRENT)));
    }
    let asked = options.settings.clone();
    let (mut opener, base) = opener_of(leader, options, families)?;
    // They are the follower's, whatever the OPTIONS file of its leader says.
    opener.options.settings.follower_refresh_catchup_period_ms = asked.follower_refresh_catchup_period_ms;
    opener.options.settings.follower_catchup_retry_count = asked.follower_catchup_retry_count;
    opener.options.settings.follower_catchup_retry_wait_ms = asked.follower_catchup_retry_wait_ms;
    opener.tables_in = Some(path.to_path_buf());
    let places = FilePlaces::new(leader.to_path_buf(), leader.to_path_buf(), &opener.options.db_paths);
    for (id, (_, family)) in (0..).zip(&opener.families) {
        places.add_family(id, family);
    }
    let mut links = Links::open(&opener.file_system, path, &places.table_directories())?;
    links.claim(&opener.leader_identity()?)?;
    let info_log = opener.log_in(path, "follower");
    let names = OwnNames { links: Some(links), leader: places, may_drop_more: false, read_to: None };
    let opened = secondary::open_views(opener, base, Some(names), &info_log)?;
    start_thread(&opened.0)?;
    Ok(opened)
}

/// Ends the catch-ups of a follower, and gives up its directory.
pub(crate) fn end_following(core: &DbCore) -> Result<()> {
    let Some(views) = core.secondary.get().filter(|views| views.is_follower()) else { return Ok(()) };
    let ended = views.end();
    let mut state = views.follower();
    if let Some(names) = state.downcast_mut::<Follower>().and_then(|follower| follower.names.as_mut()) {
        names.links = None;
    }
    ended
}

impl Opener {
    /// The identity of the leader: what the MANIFEST says, or else the file IDENTITY.
    fn leader_identity(&self) -> Result<String> {
        let mut attempt = 0;
        let versions = loop {
            attempt += 1;
            let before = self.manifest_in_use();
            match self.recover_versions(&self.families_to_open(), RecoverMode::ReadOnly) {
                Ok(versions) => break versions,
                Err(error) => {
                    let is_unchanged = matches!((before, self.manifest_in_use()), (Ok(a), Ok(b)) if a == b);
                    if is_unchanged || attempt >= LEAST_ATTEMPTS {
                        return Err(error);
                    }
                }
            }
        };
        if let Some(id) = versions.db_id() {
            return Ok(id);
        }
        let path = self.path.join(file_name::IDENTITY);
        let on_file = match read_file(&*self.file_system, &path) {
            Ok(content) => decode_identity(&content),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        on_file.ok_or_else(|| {
            let what = "the leader has no identity, by which a follower knows its files again: open the leader for \
                        writing with write_dbid_to_manifest";
            Error::not_supported(what).in_file(path)
        })
    }
}

impl Follower {
    /// Takes in what the MANIFEST has by now; `before` is the one in use.
    pub(super) fn read_tables(&mut self, core: &DbCore, views: &Views, before: ManifestStamp) -> Result<Attempt> {
        if self.manifest == Some(before) {
            self.names.iter_mut().filter(|names| names.may_drop_more).for_each(|names| names.drop_unneeded(core));
            return Ok(Attempt::Done);
        }
        let has_all_families = self.take_in_families(core)?;
        self.tree.read()?;
        let fresh = self.fresh_versions(core, before)?;
        self.check_goes_forward(core, &fresh)?;
        let families = families_of(core, &fresh);
        if let Some(names) = &mut self.names {
            if names.read_to.is_some_and(|seen| seen.0 != fresh.manifest_read_to().0) {
                names.forget(core, &families)?;
            }
            names.take(core, views, &families)?;
        }
        self.open_files(core, &fresh, &families, before)?;
        let (recorded, read_to) = (fresh.last_sequence(), fresh.manifest_read_to());
        let end = recorded.max(fresh.largest_in_tables());
        {
            let _views = views.replace();
            check_no_snapshot(core)?;
            install(core, fresh, families, end);
            say_caught_up(core, end);
        }
        // Families that wait are looked for again at the next catch-up, and so is what was not whole.
        let is_whole = has_all_families && read_to >= before;
        (self.manifest, self.held) = (is_whole.then_some(before), recorded);
        if let Some(names) = &mut self.names {
            names.read_to = Some(read_to);
            names.drop_unneeded(core);
        }
        Ok(Attempt::Done)
    }

    /// What a MANIFEST says of the number of the last batch never goes back, as long as it is one database's, and nor
    /// does its end.
    fn check_goes_forward(&self, core: &DbCore, fresh: &VersionSet) -> Result<()> {
        let (now, held) = (fresh.last_sequence(), self.held);
        let (number, read_to) = fresh.manifest_read_to();
        let seen = self.names.as_ref().and_then(|names| names.read_to).filter(|seen| seen.0 == number);
        let what = match seen {
            Some((_, seen)) if read_to < seen => format!("is whole up to offset {read_to}, and was up to {seen}"),
            _ if now < held => format!("ends at sequence number {now}, and did at {held}"),
            _ => return Ok(()),
        };
        let what = format!(
            "the MANIFEST of the leader {what}: this follower stays where it is; where a later catch-up says so too, \
             the leader lost changes: open the follower anew"
        );
        let path = core.files.database().join(file_name::manifest(number));
        Err(Error::new(ErrorKind::TryAgain, what).in_file(path))
    }
}

/// One attempt of the thread, with no other behind it.
fn attempt(core: &DbCore) -> Result<()> {
    let Some(views) = core.secondary.get() else { return Ok(()) };
    let mut state = views.follower();
    let Some(follower) = state.downcast_mut::<Follower>() else { return Ok(()) };
    views.check_goes_on()?;
    let before = follower.opener.manifest_in_use()?;
    follower.read_tables(core, views, before).map(drop)
}

fn start_thread(core: &Arc<DbCore>) -> Result<()> {
    let Some(views) = core.secondary.get() else { return Ok(()) };
    if core.options.load().follower_catchup_retry_count == 0 {
        return Ok(());
    }
    let (weak, clock) = (Arc::downgrade(core), Arc::clone(&core.env.clock));
    let alarm = Arc::clone(views.alarm());
    let following = Following { weak, clock, alarm };
    let thread = core.env.spawner.spawn("ferrock:follower", Box::new(move || following.run()));
    views.keep_thread(thread.inspect_err(|_| drop(end_following(core)))?);
    Ok(())
}

/// What the thread has.
struct Following {
    weak: Weak<DbCore>,
    clock: Arc<dyn Clock>,
    alarm: Arc<ferrock_base::clock::Alarm>,
}

impl Following {
    /// The body of the thread.
    fn run(&self) {
        while let Some(attempts) = self.wait(|options| options.follower_refresh_catchup_period_ms.max(1)) {
            for number in 1..=attempts {
                let Some(core) = self.weak.upgrade() else { return };
                let Err(error) = attempt(&core) else { break };
                let log = core.events.log();
                log.warn(|| format!("attempt {number} of {attempts} to catch up with the leader: {error}"));
                drop(core);
                if number == attempts || error.kind() == ErrorKind::ShutdownInProgress {
                    break;
                }
                if self.wait(|options| options.follower_catchup_retry_wait_ms).is_none() {
                    return;
                }
            }
        }
    }

    /// Sleeps for so many milliseconds, and says how many attempts a catch-up has; `None` when it is over.
    fn wait(&self, millis: impl Fn(&DbOptions) -> u64) -> Option<u64> {
        self.alarm.arm();
        let going_on = || {
            let core = self.weak.upgrade()?;
            core.secondary.get()?.check_goes_on().ok()?;
            Some(core.options.load_full())
        };
        let options = going_on()?;
        self.clock.idle(&self.alarm, Duration::from_millis(millis(&options)));
        going_on().map(|options| options.follower_catchup_retry_count)
    }
}
