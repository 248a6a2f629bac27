//! The Bloom filter: the bits and nothing else. How many lines it has is in the properties.
//!
//! ```text
//! h = prefix_hash(item);  delta = ror32(h, 17);  6 probes
//!
//! 0 lines      each probe: bit h mod bits;  h += delta
//! else         line = ror32(h, 11) mod lines
//!              each probe: bit h mod width of the line;  h = ror32(h, log2 width) + delta
//! ```
//!
//! Bit b is bit `b mod 8` of byte `b / 8`. A line is a line of the writer's cache, 512 bits from every common one. The
//! item is the prefix of a key, or the whole user key where there is no prefix extractor.

const PROBES: usize = 6;
const LINE_BITS: u64 = 512;

/// The shape of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainBloom {
    bits: u32,
    lines: u32,
    /// Of a line; 0 without lines.
    line_bits_log2: u32,
}

impl PlainBloom {
    /// The shape of a stored filter with so many lines; `None` for one that cannot be asked.
    #[must_use]
    pub fn parse(filter: &[u8], lines: u32) -> Option<Self> {
        let bits = u32::try_from(filter.len() as u64 * 8).ok().filter(|&bits| bits > 0)?;
        if lines == 0 {
            return Some(Self { bits, lines, line_bits_log2: 0 });
        }
        let line_bits = bits / lines;
        let fits = bits.is_multiple_of(lines) && line_bits.is_power_of_two() && line_bits >= 8;
        fits.then(|| Self { bits, lines, line_bits_log2: line_bits.ilog2() })
    }

    /// False if nothing with this hash was added.
    #[inline]
    #[must_use]
    pub fn may_match(&self, filter: &[u8], hash: u32) -> bool {
        self.probes(hash).into_iter().all(|bit| filter.get(bit / 8).is_none_or(|byte| byte >> (bit % 8) & 1 == 1))
    }

    #[inline]
    fn probes(&self, mut hash: u32) -> [usize; PROBES] {
        let delta = hash.rotate_right(17);
        let mut bits = [0; PROBES];
        if self.lines == 0 {
            for bit in &mut bits {
                *bit = (hash % self.bits) as usize;
                hash = hash.wrapping_add(delta);
            }
        } else {
            let line = ((hash.rotate_right(11) % self.lines) as usize) << self.line_bits_log2;
            let mask = (1_u32 << self.line_bits_log2) - 1;
            for bit in &mut bits {
                *bit = line + (hash & mask) as usize;
                hash = hash.rotate_right(self.line_bits_log2).wrapping_add(delta);
            }
        }
        bits
    }
}

/// A filter that is being filled.
#[derive(Clone, Debug)]
pub struct BloomBits {
    shape: PlainBloom,
    bytes: Vec<u8>,
}

impl BloomBits {
    /// An empty filter; with `has_lines` every item lies in one line of a cache. `None` for no bits, and for more than
    /// 32 bits count.
    #[must_use]
    pub fn new(items: u64, bits_per_item: u32, has_lines: bool) -> Option<Self> {
        let wanted = items.checked_mul(bits_per_item.into()).filter(|&bits| bits > 0)?;
        // An odd number of lines, so that more bits of the hash choose the line.
        let lines = if has_lines { wanted.div_ceil(LINE_BITS) | 1 } else { 0 };
        let bytes = if has_lines { lines * LINE_BITS / 8 } else { wanted.div_ceil(8) };
        u32::try_from(bytes * 8).ok()?;
        let bytes = vec![0; usize::try_from(bytes).ok()?];
        PlainBloom::parse(&bytes, u32::try_from(lines).ok()?).map(|shape| Self { shape, bytes })
    }

    /// Adds an item.
    #[inline]
    pub fn add(&mut self, hash: u32) {
        for bit in self.shape.probes(hash) {
            self.bytes[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Lines, for the properties; 0 without.
    #[must_use]
    pub fn lines(&self) -> u32 {
        self.shape.lines
    }

    /// Shape and bytes.
    #[must_use]
    pub fn finish(self) -> (PlainBloom, Vec<u8>) {
        (self.shape, self.bytes)
    }
}
