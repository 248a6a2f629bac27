//! Texts of families in OPTIONS files that were written, so that the next file takes them over.
//!
//! A text takes 140 us to make, which for ten thousand families is more than a second for each file
//! (docs/files.md). Families mostly
//! have the options of others, so equal texts are kept once, [`DISTINCT`] of them at most; families with others make
//! theirs for each file.

use crate::options::ColumnFamilyOptions;
use ferrock_base::Result;
use ferrock_format::options_file::FamilyText;
use ferrock_options::family_section;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

/// Texts that are kept: of some 9 KB each.
const DISTINCT: usize = 64;

/// The texts that are kept.
#[derive(Debug, Default)]
pub(crate) struct FamilyTexts {
    distinct: Vec<Arc<FamilyText>>,
    /// By the family's number: its text, and the options that it is of. That these are the same ones is told by their
    /// place, which no others have while they are referred to.
    by_family: HashMap<u32, (Weak<ColumnFamilyOptions>, Arc<FamilyText>)>,
}

impl FamilyTexts {
    /// The text of a family with these options.
    pub(crate) fn text(&mut self, family: u32, options: &Arc<ColumnFamilyOptions>) -> Result<Arc<FamilyText>> {
        if let Some((of, text)) = self.by_family.get(&family)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(options))
        {
            return Ok(Arc::clone(text));
        }
        self.by_family.remove(&family);
        let text = family_section("", options).text()?;
        if self.distinct.len() == DISTINCT {
            self.distinct.retain(|text| Arc::strong_count(text) > 1);
        }
        let kept = match self.distinct.iter().find(|kept| ***kept == text) {
            Some(kept) => Arc::clone(kept),
            None if self.distinct.len() == DISTINCT => return Ok(Arc::new(text)),
            None => {
                let kept = Arc::new(text);
                self.distinct.push(Arc::clone(&kept));
                kept
            }
        };
        self.by_family.insert(family, (Arc::downgrade(options), Arc::clone(&kept)));
        Ok(kept)
    }

    /// Forgets families that are gone, and texts that no family has any more.
    pub(crate) fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.by_family.retain(|family, _| is_there(*family));
        self.distinct.retain(|text| Arc::strong_count(text) > 1);
    }
}

/// True for options whose text is that of the defaults.
pub(crate) fn are_default(options: &ColumnFamilyOptions) -> bool {
    static DEFAULTS: OnceLock<Option<FamilyText>> = OnceLock::new();
    let defaults = DEFAULTS.get_or_init(|| family_section("", &ColumnFamilyOptions::default()).text().ok());
    family_section("", options).text().ok() == *defaults && defaults.is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn with(write_buffer_size: usize) -> Arc<ColumnFamilyOptions> {
        let mut options = ColumnFamilyOptions::default();
        options.write_buffer_size = write_buffer_size;
        Arc::new(options)
    }

    #[test]
    fn a_text_is_that_of_the_options_of_now() {
        let mut texts = FamilyTexts::default();
        let fresh = |options: &ColumnFamilyOptions| family_section("", options).text().unwrap();
        let (one, other) = (with(1 << 20), with(2 << 20));
        for options in [&one, &other, &with(1 << 20), &one] {
            assert_eq!(*texts.text(7, options).unwrap(), fresh(options));
        }
        let again = with(1 << 20);
        assert!(Arc::ptr_eq(&texts.text(8, &again).unwrap(), &texts.text(7, &one).unwrap()), "equal ones are one");
        assert_eq!((texts.distinct.len(), texts.by_family.len()), (2, 2));
        texts.keep(|family| family == 8);
        assert_eq!((texts.distinct.len(), texts.by_family.len()), (1, 1));
        for number in 0..2 * DISTINCT as u32 {
            let options = with(4 << 20 | (number as usize) << 8);
            assert_eq!(*texts.text(100 + number, &options).unwrap(), fresh(&options));
        }
        assert_eq!(texts.distinct.len(), DISTINCT);
        // Texts of before go when all families have others.
        for number in 0..2 * DISTINCT as u32 {
            texts.text(100 + number, &one).unwrap();
        }
        for (family, options) in [(1000, &other), (1001, &with(3 << 20)), (1002, &with(5 << 20))] {
            texts.text(family, options).unwrap();
            assert!(texts.by_family.contains_key(&family), "family {family} finds room");
        }
        assert!(texts.distinct.len() < DISTINCT, "{}", texts.distinct.len());
        assert!(are_default(&ColumnFamilyOptions::default()) && !are_default(&one));
    }
}
