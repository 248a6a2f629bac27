//! A process beside that gives the terminal back where `ferrock top` cannot: ended by a signal, whichever, or aborted.
//!
//! ```text
//! top                                      guard
//! start                            ------> own session, so that no signal of the terminal or of the group ends it;
//!                                          remember the settings
//! wait  <--------------------- READY ------
//! take the screen
//! ...                                      wait for the end of the pipe
//! give it back;  DONE              ------> end
//! killed:        (end of the pipe) ------> give it back, end
//! ```
//!
//! The terminal is the guard's standard error, for input and output are the pipes. Settings may be changed from another
//! session: only processes of the terminal's own session are asked whether they are in the foreground.
//!
//! (A signal handler would need unsafe code, would run while anything is half done, and would not see SIGKILL.)

use rustix::termios::{OptionalActions, Termios};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The hidden command that is the guard.
pub(crate) const COMMAND: &str = "top-guard";

/// Text that brings back cursor and screen.
pub(super) const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Gives a terminal its settings back.
pub(super) fn give_back(terminal: impl AsFd, former: &Termios) -> io::Result<()> {
    Ok(rustix::termios::tcsetattr(terminal, OptionalActions::Now, former)?)
}

const READY: u8 = b'r';
const DONE: u8 = b'd';

/// The guard, from the side of `ferrock top`.
pub(super) struct Guard {
    child: Child,
    line: Option<ChildStdin>,
}

impl Guard {
    /// Starts it, and returns when it watches.
    pub(super) fn start() -> io::Result<Self> {
        let terminal = Stdio::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
        let mut child = command.spawn()?;
        let line = child.stdin.take();
        let mut guard = Self { child, line };
        let mut ready = [0];
        let mut answers = guard.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        answers.read_exact(&mut ready)?;
        if ready != [READY] {
            return Err(io::Error::other("the process that watches over the terminal does not say that it is ready"));
        }
        Ok(guard)
    }

    /// Ends it: the terminal is given back.
    pub(super) fn end(&mut self) {
        if let Some(mut line) = self.line.take() {
            let _ = line.write_all(&[DONE]);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Without a word it gives the terminal back.
        drop(self.line.take());
        let _ = self.child.wait();
    }
}

/// The guard itself.
///
/// # Errors
/// The standard error is no terminal.
pub(crate) fn run() -> io::Result<()> {
    // It leads no group, for it was just started: this cannot fail, and if it did, fewer signals would be survived.
    let _ = rustix::process::setsid();
    let terminal = io::stderr();
    let former = rustix::termios::tcgetattr(&terminal)?;
    let mut out = io::stdout();
    out.write_all(&[READY])?;
    out.flush()?;
    let mut said = Vec::new();
    io::stdin().read_to_end(&mut said)?;
    if said != [DONE] {
        give_back(&terminal, &former)?;
        io::stderr().write_all(LEAVE.as_bytes())?;
    }
    Ok(())
}
