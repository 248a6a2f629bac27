//! The loops: a refresh each interval, printed one behind the other or drawn in place.
//!
//! On a screen a thread of its own asks, so that keys are obeyed while a server takes its time; at most one question is
//! on its way. The program may end while it waits.

use super::layout::{Line, Style, within};
use super::look::Look;
use super::render::render;
use super::snapshot::{Reading, Snapshot, Trouble};
use super::source::Source;
use super::terminal::{Key, Screen};
use crate::failure::{Failure, Outcome, Result};
use crate::output;
use ferrock_base::clock::{Clock, Moment};
use ferrock_base::thread::{Spawner, StdSpawner};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// For how long keys are waited for before the size of the terminal, and an answer, are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What is followed, and how.
pub(crate) struct Following {
    /// As the source was given.
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) interval: Duration,
    /// Refreshes; `None` for as long as the process lives.
    pub(crate) count: Option<u64>,
}

type Answer = std::result::Result<Reading, Trouble>;

impl Following {
    /// Prints every refresh.
    pub(crate) fn print(&self, shown: &dyn Fn(&Snapshot) -> String) -> Result<Outcome> {
        let mut last: Option<Snapshot> = None;
        let mut refreshes = 0;
        loop {
            let begin = self.clock.moment();
            let answer = self.source.read();
            let snapshot = Snapshot::next(last.as_ref(), &self.name, self.clock.unix_us(), answer);
            output::say(&shown(&snapshot))?;
            refreshes += 1;
            if self.count.is_some_and(|count| refreshes >= count) {
                return Ok(outcome(&snapshot));
            }
            last = Some(snapshot);
            self.clock.sleep(self.left(begin));
        }
    }

    /// What is left of the interval.
    fn left(&self, begin: Moment) -> Duration {
        self.interval.saturating_sub(Duration::from_micros(self.clock.elapsed_us(begin)))
    }

    /// Draws refreshes until `q`.
    pub(crate) fn on_screen(self, is_coloured: bool) -> Result<Outcome> {
        let (name, clock, interval, count) = (self.name, self.clock, self.interval, self.count);
        let asking = Asking::start(self.source)?;
        let failed = |error| Failure::Io("the terminal", error);
        let screen = Screen::begin().map_err(failed)?;
        let (mut look, mut last) = (Look::default(), None::<Snapshot>);
        let (mut asked, mut is_asking, mut refreshes, mut drawn) = (clock.moment(), asking.ask(), 0, None);
        loop {
            if let Some(answer) = asking.answer()? {
                is_asking = false;
                refreshes += 1;
                last = Some(Snapshot::next(last.as_ref(), &name, clock.unix_us(), answer));
                drawn = None;
            }
            let size = Screen::size();
            if drawn != Some((look, size)) {
                let lines = match &last {
                    Some(snapshot) => render(snapshot, look, size.0, Some(size.1)),
                    None => within(vec![Line::new(&format!("Asking {name}"), Style::Soft)], size.0),
                };
                screen.draw(&lines, is_coloured).map_err(failed)?;
                drawn = Some((look, size));
            }
            if count.is_some_and(|count| refreshes >= count) {
                return Ok(last.as_ref().map_or(Outcome::Good, outcome));
            }
            let is_due = clock.elapsed_us(asked) >= u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
            let mut is_wanted = is_due;
            for key in screen.keys(LOOK).map_err(failed)? {
                match key {
                    Key::Quit => return Ok(Outcome::Good),
                    Key::Left => look = look.turned(-1),
                    Key::Right => look = look.turned(1),
                    Key::Up => look = look.sorted(-1),
                    Key::Down => look = look.sorted(1),
                    Key::Again => is_wanted = true,
                }
            }
            if is_wanted && !is_asking {
                asked = clock.moment();
                is_asking = asking.ask();
            }
        }
    }
}

fn outcome(snapshot: &Snapshot) -> Outcome {
    if snapshot.trouble.is_none() { Outcome::Good } else { Outcome::NotDone }
}

/// A thread that asks the source when it is told to.
struct Asking {
    questions: SyncSender<()>,
    answers: Receiver<Answer>,
}

impl Asking {
    fn start(source: Source) -> Result<Self> {
        let (questions, asked) = sync_channel(1);
        let (answered, answers) = sync_channel(1);
        let answer = move || {
            for () in asked {
                if answered.send(source.read()).is_err() {
                    return;
                }
            }
        };
        // It is not joined: it may wait for a server for seconds, and holds nothing that must be put in order.
        drop(StdSpawner.spawn("ferrock-top", Box::new(answer))?);
        Ok(Self { questions, answers })
    }

    /// True when the thread asks from now on.
    fn ask(&self) -> bool {
        self.questions.try_send(()).is_ok()
    }

    fn answer(&self) -> Result<Option<Answer>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Failure::NotDone(
                "the thread that asks for the numbers has ended; start `ferrock top` again".into(),
            )),
        }
    }
}
