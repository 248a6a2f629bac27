//! Tables of the three kinds of codes in sequences: literal lengths, offsets, match lengths.

use super::fse::{Distribution, MAX_STATES};
use super::{BAD_TABLE, Damage};

/// What a state of a table says, in one word: 32 bits that are added to the extra bits, 8 bits how many of them there
/// are, 8 bits how many bits the next state takes, 16 bits that are added to those.
#[derive(Clone, Copy, Default)]
pub(super) struct State(u64);

impl State {
    const fn new(base: u32, extra_bits: u8, state_bits: u8, next: u16) -> Self {
        Self((base as u64) << 32 | (extra_bits as u64) << 24 | (state_bits as u64) << 16 | next as u64)
    }

    /// What the extra bits are added to.
    #[inline(always)]
    pub(super) fn base(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline(always)]
    pub(super) fn extra_bits(self) -> u8 {
        (self.0 >> 24) as u8
    }

    #[inline(always)]
    pub(super) fn state_bits(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// What the bits of the next state are added to.
    #[inline(always)]
    pub(super) fn next(self) -> usize {
        usize::from(self.0 as u16)
    }
}

/// The kinds, in the order of their descriptions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    LiteralLength,
    Offset,
    MatchLength,
}

const LITERAL_LENGTHS: usize = 36;
const MATCH_LENGTHS: usize = 53;
const OFFSETS: usize = 32;
/// More than any kind has codes.
const CODES: usize = 64;

/// Base and extra bits of each code, with zeros for the next state.
static LITERAL_LENGTH_CODES: [State; CODES] = with_bases(
    0,
    &[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        16,
    ],
);
static MATCH_LENGTH_CODES: [State; CODES] = with_bases(
    3,
    &[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2,
        2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
    ],
);
/// Codes of offsets: as many extra bits, on top of that power of two.
static OFFSET_CODES: [State; CODES] = {
    let mut codes = [State(0); CODES];
    let mut code = 0;
    while code < OFFSETS {
        codes[code] = State::new(1 << code, code as u8, 0, 0);
        code += 1;
    }
    codes
};

const LITERAL_LENGTH_DEFAULT: [i16; 36] =
    [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1];
const OFFSET_DEFAULT: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];
const MATCH_LENGTH_DEFAULT: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

/// Each code begins where the one before ends.
const fn with_bases(first: u32, extra_bits: &[u8]) -> [State; CODES] {
    let mut codes = [State(0); CODES];
    let (mut code, mut base) = (0, first);
    while code < extra_bits.len() {
        codes[code] = State::new(base, extra_bits[code], 0, 0);
        base += 1 << extra_bits[code];
        code += 1;
    }
    codes
}

impl Kind {
    /// The largest code, and the most bits a table may have.
    fn limits(self) -> (usize, u32) {
        match self {
            Self::LiteralLength => (LITERAL_LENGTHS - 1, 9),
            Self::Offset => (OFFSETS - 1, 8),
            Self::MatchLength => (MATCH_LENGTHS - 1, 9),
        }
    }

    fn codes(self) -> &'static [State; CODES] {
        match self {
            Self::LiteralLength => &LITERAL_LENGTH_CODES,
            Self::Offset => &OFFSET_CODES,
            Self::MatchLength => &MATCH_LENGTH_CODES,
        }
    }

    pub(super) fn predefined(self) -> SequenceTable {
        let distribution = match self {
            Self::LiteralLength => Distribution::from_counts(&LITERAL_LENGTH_DEFAULT, 6),
            Self::Offset => Distribution::from_counts(&OFFSET_DEFAULT, 5),
            Self::MatchLength => Distribution::from_counts(&MATCH_LENGTH_DEFAULT, 6),
        };
        let mut table = SequenceTable::new();
        table.fill(&distribution, self);
        table
    }
}

pub(super) type States = [State; MAX_STATES];

/// States by number; those behind `1 << bits` are not reached.
#[derive(Clone)]
pub(super) struct SequenceTable {
    states: Box<States>,
    pub(super) bits: u32,
}

impl SequenceTable {
    pub(super) fn new() -> Self {
        Self { states: Box::new([State::default(); MAX_STATES]), bits: 0 }
    }

    #[inline(always)]
    pub(super) fn states(&self) -> &States {
        &self.states
    }

    /// One symbol, that takes no bits.
    pub(super) fn fill_with_one(&mut self, symbol: u8, kind: Kind) -> Result<(), Damage> {
        if usize::from(symbol) > kind.limits().0 {
            return Err(BAD_TABLE);
        }
        self.states[0] = kind.codes()[usize::from(symbol) % CODES];
        self.bits = 0;
        Ok(())
    }

    /// Reads a description; returns its size.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8], kind: Kind) -> Result<usize, Damage> {
        let (max_symbol, max_bits) = kind.limits();
        let (distribution, size) = Distribution::read(bytes, max_symbol, max_bits)?;
        self.fill(&distribution, kind);
        Ok(size)
    }

    #[inline(always)]
    fn fill(&mut self, distribution: &Distribution, kind: Kind) {
        self.bits = distribution.bits;
        let (codes, states) = (kind.codes(), &mut *self.states);
        distribution.each_state::<CODES>(|state, symbol, bits, next| {
            states[state % MAX_STATES] = State(codes[symbol].0 | u64::from(bits) << 16 | u64::from(next));
        });
    }
}
