//! `ferrock top` on a terminal, which it gives back as it was, however it ends.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// A terminal: the side of a person, and that of programs.
struct Terminal {
    person: File,
    programs: OwnedFd,
}

impl Terminal {
    fn new() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let programs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        Self { person: File::from(person), programs }
    }

    fn settings(&self) -> Termios {
        tcgetattr(&self.programs).unwrap()
    }

    /// Reads what programs write, up to a text.
    fn read_until(&mut self, wanted: &str) {
        let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            let read = self.person.read(&mut bytes).unwrap();
            seen.extend_from_slice(&bytes[..read]);
        }
    }
}

/// Ends with the test, whatever becomes of it.
struct Top(Child);

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Shows an empty directory on a terminal.
fn start(terminal: &mut Terminal, directory: &std::path::Path) -> Top {
    let side = || Stdio::from(terminal.programs.try_clone().unwrap());
    // A program that was started by nohup, or behind an `&`, ignores signals, and so would its children.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM,ABRT").arg(env!("CARGO_BIN_EXE_ferrock"));
    command.arg("top").arg(directory).stdin(side()).stdout(side()).stderr(Stdio::null());
    let top = Top(command.spawn().unwrap());
    terminal.read_until("\x1b[?1049h");
    assert!(!terminal.settings().local_modes.contains(LocalModes::ECHO), "keys are echoed");
    top
}

fn same(before: &Termios, after: &Termios) {
    assert_eq!(before.local_modes, after.local_modes);
    assert_eq!(before.input_modes, after.input_modes);
    assert_eq!(before.output_modes, after.output_modes);
    assert_eq!(before.control_modes, after.control_modes);
    assert_eq!(format!("{:?}", before.special_codes), format!("{:?}", after.special_codes));
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL, Signal::ABORT] {
        let mut terminal = Terminal::new();
        let before = terminal.settings();
        let mut top = start(&mut terminal, directory.path());
        kill_process(Pid::from_child(&top.0), signal).unwrap();
        assert!(!top.0.wait().unwrap().success());
        // The settings come before the text.
        terminal.read_until("\x1b[?1049l");
        same(&before, &terminal.settings());
    }
}

#[test]
fn a_key_leaves_the_terminal_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new();
    let before = terminal.settings();
    let mut top = start(&mut terminal, directory.path());
    terminal.person.write_all(b"q").unwrap();
    assert!(top.0.wait().unwrap().success());
    same(&before, &terminal.settings());
}
