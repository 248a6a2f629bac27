//! How large each level should be, and which level comes after level 0.
//!
//! With static targets, level 1 holds `max_bytes_for_level_base` and each deeper level a multiple of the one above.
//! With *dynamic* targets (the default) the sizes are derived from the bottom: the last level is as large as it is,
//! each level above a fraction of the one below, and the *base level*, where level 0 goes, is where that fraction falls
//! below `max_bytes_for_level_base`. Levels above the base level are empty or being emptied, so that about 90 % of the
//! data lie in the last level and obsolete data cannot pile up.
//!
//! ```text
//! last level 300 GB, multiplier 10, base 256 MB:   L1 -  L2 -  L3 300 MB> base, so  L2 30 MB (base level)  ...
//! ```

use ferrock_options::{ColumnFamilySettings, CompactionStyle};

/// Target sizes of the levels of one version.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTargets {
    base_level: usize,
    max_bytes: Vec<u64>,
    lowest_unnecessary_level: Option<usize>,
}

impl LevelTargets {
    /// The targets for levels of these sizes (index 0 is level 0).
    #[must_use]
    pub fn new(settings: &ColumnFamilySettings, level_sizes_bytes: &[u64]) -> Self {
        let is_leveled = settings.compaction_style == CompactionStyle::Level;
        if settings.level_compaction_dynamic_level_bytes && is_leveled && level_sizes_bytes.len() > 1 {
            Self::dynamic(settings, level_sizes_bytes)
        } else {
            Self::fixed(settings, level_sizes_bytes.len().max(num_levels(settings)))
        }
    }

    fn fixed(settings: &ColumnFamilySettings, num_levels: usize) -> Self {
        let mut max_bytes = vec![settings.max_bytes_for_level_base; num_levels];
        for level in 2..num_levels {
            let additional = settings.max_bytes_for_level_multiplier_additional.get(level - 1).copied().unwrap_or(1);
            let above = multiply(max_bytes[level - 1], settings.max_bytes_for_level_multiplier);
            max_bytes[level] = multiply(above, f64::from(additional));
        }
        Self { base_level: 1.min(num_levels - 1), max_bytes, lowest_unnecessary_level: None }
    }

    fn dynamic(settings: &ColumnFamilySettings, sizes: &[u64]) -> Self {
        let num_levels = sizes.len();
        let last_level = num_levels - 1;
        let multiplier = settings.max_bytes_for_level_multiplier.max(1.0);
        // Unlimited until set: nothing is compacted out of a level above the base level for its size.
        let mut targets =
            Self { base_level: last_level, max_bytes: vec![u64::MAX; num_levels], lowest_unnecessary_level: None };
        let largest = sizes[1..].iter().copied().max().unwrap_or(0);
        let first_non_empty = sizes[1..].iter().position(|&size| size > 0).map(|index| index + 1);
        let Some(first_non_empty) = first_non_empty else {
            return targets;
        };
        let base_bytes_max = settings.max_bytes_for_level_base;
        let base_bytes_min = (base_bytes_max as f64 / multiplier) as u64;

        let mut current = largest;
        for level in (first_non_empty..last_level).rev() {
            current = (current as f64 / multiplier) as u64;
            // Young data stays on the level above the last, however little there is below.
            let is_kept = settings.preclude_last_level_data_seconds > 0 && level + 1 == last_level;
            if targets.lowest_unnecessary_level.is_none() && current <= base_bytes_min && !is_kept {
                targets.lowest_unnecessary_level = Some(level);
            }
        }
        targets.base_level = first_non_empty;
        let base_level_size = if current <= base_bytes_min {
            base_bytes_min.saturating_add(1)
        } else {
            while targets.base_level > 1 && current > base_bytes_max {
                targets.base_level -= 1;
                current = (current as f64 / multiplier) as u64;
            }
            current.clamp(1, base_bytes_max.max(1))
        };
        let mut size = base_level_size;
        for level in targets.base_level..num_levels {
            if level > targets.base_level {
                size = multiply(size, multiplier);
            }
            // Never below the base, or the tree would be an hourglass whose upper levels are smaller than level 0.
            targets.max_bytes[level] = size.max(base_bytes_max);
        }
        targets
    }

    /// The level that level 0 is compacted into. 0 only in a tree of one level.
    #[must_use]
    pub fn base_level(&self) -> usize {
        self.base_level
    }

    /// Bytes that a level may hold before data moves down; `u64::MAX` for no limit.
    #[must_use]
    pub fn max_bytes(&self, level: usize) -> u64 {
        self.max_bytes.get(level).copied().unwrap_or(u64::MAX)
    }

    /// The deepest level that is not needed: it and all non-empty levels above are to be drained.
    #[must_use]
    pub fn lowest_unnecessary_level(&self) -> Option<usize> {
        self.lowest_unnecessary_level
    }
}

/// `value * factor`, or `value` when the product does not fit: a limit that large is none.
pub(crate) fn multiply(value: u64, factor: f64) -> u64 {
    if factor.is_nan() || factor <= 0.0 || value as f64 * factor >= u64::MAX as f64 {
        return value;
    }
    (value as f64 * factor) as u64
}

/// The configured number of levels, clipped to what this engine allows.
pub(super) fn num_levels(settings: &ColumnFamilySettings) -> usize {
    usize::try_from(settings.num_levels).unwrap_or(1).clamp(1, 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;
    const GB: u64 = 1 << 30;

    fn settings(base: u64, dynamic: bool) -> ColumnFamilySettings {
        ColumnFamilySettings {
            max_bytes_for_level_base: base,
            level_compaction_dynamic_level_bytes: dynamic,
            num_levels: 7,
            ..ColumnFamilySettings::default()
        }
    }

    #[test]
    fn fixed_targets_multiply() {
        let mut settings = settings(100, false);
        settings.max_bytes_for_level_multiplier_additional = vec![1, 2, 3];
        let targets = LevelTargets::new(&settings, &[0; 7]);
        assert_eq!(targets.base_level(), 1);
        // The factor of a level applies to the step into the next one.
        assert_eq!(targets.max_bytes, [100, 100, 2000, 60_000, 600_000, 6_000_000, 60_000_000]);
    }

    #[test]
    fn an_empty_tree_starts_at_the_bottom() {
        let targets = LevelTargets::new(&settings(256 * MB, true), &[5 * GB, 0, 0, 0, 0, 0, 0]);
        assert_eq!((targets.base_level(), targets.lowest_unnecessary_level()), (6, None));
    }

    #[test]
    fn the_base_level_climbs_as_the_last_level_grows() {
        let s = settings(256 * MB, true);
        let base = |last: u64| {
            let targets = LevelTargets::new(&s, &[0, 0, 0, 0, 0, 0, last]);
            (targets.base_level(), targets.max_bytes(targets.base_level()))
        };
        assert_eq!(base(200 * MB), (6, 256 * MB));
        assert_eq!(base(2 * GB), (5, 256 * MB), "204 MB, but no target is below the base");
        assert_eq!(base(20 * GB), (4, 256 * MB));
        assert_eq!(base(300_000 * GB), (1, 256 * MB), "even level 1 would be too large");
        let targets = LevelTargets::new(&s, &[0, 0, 0, 0, 0, 0, 20 * GB]);
        // 20 GB / 100 = 204.8 MB at the base; the levels below multiply from there.
        assert_eq!(targets.max_bytes(5), 2048 * MB - 8);
        assert_eq!(targets.max_bytes(3), u64::MAX);
    }

    #[test]
    fn small_levels_in_between_are_unnecessary() {
        let targets = LevelTargets::new(&settings(256 * MB, true), &[0, 0, 0, 10 * MB, 20 * MB, 50 * MB, 300 * MB]);
        assert_eq!(targets.lowest_unnecessary_level(), Some(4), "30 MB are needed above the last level, 3 MB are not");
        assert_eq!(targets.base_level(), 3);
        assert_eq!(targets.max_bytes(3), 256 * MB);
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        for sizes in [[0, u64::MAX, u64::MAX, 0, 0, 0, u64::MAX], [u64::MAX; 7]] {
            for dynamic in [false, true] {
                let targets = LevelTargets::new(&settings(u64::MAX, dynamic), &sizes);
                assert!(targets.base_level() < 7);
            }
        }
    }
}
