//! How many bytes of index partitions one read of a scan brings.

/// Most bytes of partitions that a seek reads because both bounds are known.
pub(crate) const EAGER_BYTES: u64 = 16 << 10;
/// A scan whose bounds lie in partitions of at most so many bytes together is assumed to reach its end.
pub(crate) const NEAR_BYTES: u64 = 32 << 10;
/// Most bytes of partitions that a crossing reads at once.
const MAX_CROSSING_BYTES: u64 = 64 << 10;

/// Bytes of partitions that a scan reads when it comes from one partition to the next: they double with each crossing.
#[derive(Debug, Default)]
pub(crate) struct CrossingRamp {
    next_bytes: u64,
}

impl CrossingRamp {
    /// Begins anew, as the scan is placed.
    pub(crate) fn restart(&mut self) {
        self.next_bytes = 0;
    }

    /// The bytes that this crossing may read. A scan that crosses partitions has used all data of one, which is far
    /// more than its index, unless a limit hint ends the scan soon (`is_ending`).
    pub(crate) fn next_bytes(&mut self, is_ending: bool) -> u64 {
        let bytes = self.next_bytes.max(if is_ending { 1 } else { EAGER_BYTES });
        self.next_bytes = (2 * bytes).min(MAX_CROSSING_BYTES);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_read_ever_more_until_the_scan_is_placed_anew() {
        let mut ramp = CrossingRamp::default();
        let bytes: Vec<u64> = (0..4).map(|_| ramp.next_bytes(false) >> 10).collect();
        assert_eq!(bytes, [16, 32, 64, 64]);
        ramp.restart();
        let bytes: Vec<u64> = (0..4).map(|_| ramp.next_bytes(true)).collect();
        assert_eq!(bytes, [1, 2, 4, 8], "partition by partition, where the scan may end soon");
    }
}
