//! Which directory the output of a compaction goes to.

use ferrock_options::ColumnFamilyOptions;

/// Path id for tables of `level`: the target sizes of the levels, from the top, are filled into the directories in
/// their order, and each level goes whole into the first that has room for it; the last directory takes the rest. Level
/// 0 counts as large as level 1.
pub(super) fn output_path_id(options: &ColumnFamilyOptions, level: usize) -> u32 {
    let Some((_, others)) = options.cf_paths.split_last() else { return 0 };
    let mut level_bytes = options.max_bytes_for_level_base;
    let mut current = 0;
    for (id, path) in (0u32..).zip(others) {
        let mut room_bytes = path.target_size_bytes;
        while level_bytes <= room_bytes {
            if current == level {
                return id;
            }
            room_bytes -= level_bytes;
            if current > 0 {
                let additional = options.max_bytes_for_level_multiplier_additional.get(current).copied().unwrap_or(1);
                let factor = options.max_bytes_for_level_multiplier * f64::from(additional);
                level_bytes = (level_bytes as f64 * factor) as u64;
            }
            current += 1;
        }
    }
    u32::try_from(others.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::output_path_id;
    use ferrock_options::{ColumnFamilyOptions, DbPath};

    fn ids(base: u64, multiplier: f64, targets: &[u64]) -> Vec<u32> {
        let mut options = ColumnFamilyOptions::default();
        options.max_bytes_for_level_base = base;
        options.max_bytes_for_level_multiplier = multiplier;
        options.cf_paths = targets.iter().map(|&target| DbPath::new("/x", target)).collect();
        (0..7).map(|level| output_path_id(&options, level)).collect()
    }

    #[test]
    fn levels_fill_the_directories_in_their_order() {
        assert_eq!(ids(100, 10.0, &[]), [0; 7]);
        assert_eq!(ids(100, 10.0, &[0]), [0; 7]);
        // Levels 0 and 1 of 100 bytes each, then 1000, 10000 and so on.
        assert_eq!(ids(100, 10.0, &[200, 0]), [0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(ids(100, 10.0, &[199, 0]), [0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(ids(100, 10.0, &[99, 0]), [1; 7]);
        assert_eq!(ids(100, 10.0, &[100, 1100, 0]), [0, 1, 1, 2, 2, 2, 2]);
        assert_eq!(ids(100, 10.0, &[100, 50, 20_000, 0]), [0, 2, 2, 2, 3, 3, 3]);
        assert_eq!(ids(1, 1.0, &[u64::MAX, 0]), [0; 7]);
    }
}
