//! The terminal: its size, keys one by one, and a screen that is given back as it was.
//!
//! ```text
//! begin    ESC [ ? 1049 h   ESC [ ? 25 l      another screen, no cursor; keys without a line, and without an echo
//! draw     ESC [ H   line ESC [ K \r\n ..     over what was there, so nothing flickers
//! end      ESC [ ? 25 h   ESC [ ? 1049 l      the screen of before, and its settings
//! ```
//!
//! Ctrl-C and Ctrl-Z come as keys, so that no signal of the terminal ends the program between both settings. After a
//! panic the screen is dropped as always; what ends the program at once is for the [guard](super::guard).

use super::guard::{self, Guard};
use super::layout::Line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::io::{self, Read, Write};
use std::time::Duration;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Quit,
    Left,
    Right,
    Up,
    Down,
    /// Ask now.
    Again,
}

/// A terminal that gives keys one by one, until it is dropped.
pub(crate) struct Screen {
    former: Termios,
    /// `None` where no process could be started: then a signal leaves the terminal as it is.
    guard: Option<Guard>,
}

impl Screen {
    pub(crate) fn begin() -> io::Result<Self> {
        let input = io::stdin();
        let former = rustix::termios::tcgetattr(&input)?;
        let guard = Guard::start().ok();
        let mut raw = former.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        rustix::termios::tcsetattr(&input, OptionalActions::Now, &raw)?;
        let screen = Self { former, guard };
        write("\x1b[?1049h\x1b[?25l")?;
        Ok(screen)
    }

    /// Columns and rows; 80 and 24 of a terminal that does not know.
    pub(crate) fn size() -> (usize, usize) {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (usize::from(size.ws_col), usize::from(size.ws_row)),
            _ => (80, 24),
        }
    }

    /// Shows lines in place of those before. There must not be more than rows.
    pub(crate) fn draw(&self, lines: &[Line], is_coloured: bool) -> io::Result<()> {
        let mut text = String::from("\x1b[H");
        for (row, line) in lines.iter().enumerate() {
            text.push_str(if row == 0 { "" } else { "\r\n" });
            text.push_str(&if is_coloured { line.coloured() } else { line.plain() });
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        write(&text)
    }

    /// The keys that were pressed, after `wait` at the latest. A terminal that is gone quits.
    pub(crate) fn keys(&self, wait: Duration) -> io::Result<Vec<Key>> {
        let input = io::stdin();
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        let wait = Timespec { tv_sec: seconds, tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut waiting, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 64];
        match input.lock().read(&mut bytes)? {
            0 => Ok(vec![Key::Quit]),
            read => Ok(keys_of(&bytes[..read])),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs neither.
        let _ = write(guard::LEAVE);
        let _ = guard::give_back(io::stdin(), &self.former);
        if let Some(guard) = &mut self.guard {
            guard.end();
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The keys in what a terminal sends. Others, and sequences that are none, mean nothing.
fn keys_of(mut bytes: &[u8]) -> Vec<Key> {
    const SEQUENCES: [(&[u8], Key); 9] = [
        (b"\x1b[A", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1b[C", Key::Right),
        (b"\x1b[D", Key::Left),
        (b"\x1bOA", Key::Up),
        (b"\x1bOB", Key::Down),
        (b"\x1bOC", Key::Right),
        (b"\x1bOD", Key::Left),
        (b"\x1b[Z", Key::Left),
    ];
    let mut keys = Vec::new();
    while let Some(&byte) = bytes.first() {
        if let Some((sequence, key)) = SEQUENCES.iter().find(|(sequence, _)| bytes.starts_with(sequence)) {
            keys.push(*key);
            bytes = &bytes[sequence.len()..];
            continue;
        }
        bytes = if byte == b'\x1b' { after_sequence(bytes) } else { &bytes[1..] };
        match byte {
            b'q' | b'Q' | 0x03 | 0x04 => keys.push(Key::Quit),
            b'\t' | b'l' => keys.push(Key::Right),
            b'h' => keys.push(Key::Left),
            b'j' | b's' => keys.push(Key::Down),
            b'k' => keys.push(Key::Up),
            b' ' => keys.push(Key::Again),
            _ => {}
        }
    }
    keys
}

/// What follows an escape sequence: `ESC [ parameters letter`, or ESC and a character.
fn after_sequence(bytes: &[u8]) -> &[u8] {
    if !matches!(bytes.get(1), Some(b'[' | b'O')) {
        return &bytes[1..];
    }
    let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
    end.map_or(&[], |end| &bytes[end + 3..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_one_by_one_and_in_sequences() {
        assert_eq!(
            keys_of(b"\x1b[A\x1bOB\t\x1b[Zs q"),
            [Key::Up, Key::Down, Key::Right, Key::Left, Key::Down, Key::Again, Key::Quit]
        );
        assert_eq!(keys_of(b"\x03"), [Key::Quit]);
        assert_eq!(keys_of(b"\x1b[15;2q\x1b[3~xyz\xff\x1b"), [], "the q in a sequence is none");
        for length in 0..6 {
            assert_eq!(keys_of(&b"\x1b[1;5"[..length]), []);
        }
    }
}
