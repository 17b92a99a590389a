//! Notices a list that never ends, by what its pages say.

use thiserror::Error;

/// The most objects of a list: three times the pods of the largest cluster that Kubernetes supports.
pub(crate) const OBJECTS_MAX: usize = 500_000;

/// Why a list cannot end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum EndlessList {
    #[error("the list continues with a token that it has already sent")]
    TokenRepeats,
    #[error("the list has more than {OBJECTS_MAX} objects, so it may never end")]
    TooLong,
}

/// What the pages of one list have brought so far.
#[derive(Default)]
pub(crate) struct ListProgress {
    pages: u64,
    objects: usize,
    /// The continue token of an earlier page, renewed after 1, 2, 4, 8 ... pages: tokens in a cycle of any length meet it.
    token: String,
}

impl ListProgress {
    /// Counts a page with these objects, which the page of a token follows; none if it is empty.
    pub(crate) fn page(&mut self, objects: usize, next: &str) -> Result<(), EndlessList> {
        self.objects(objects)?;
        if !next.is_empty() && next == self.token {
            return Err(EndlessList::TokenRepeats);
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            next.clone_into(&mut self.token);
        }
        Ok(())
    }

    /// Counts objects of the list.
    pub(crate) fn objects(&mut self, more: usize) -> Result<(), EndlessList> {
        self.objects = self.objects.saturating_add(more);
        if self.objects > OBJECTS_MAX {
            return Err(EndlessList::TooLong);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of pages until the list is an error.
    fn pages(objects: usize, token: impl Fn(usize) -> String) -> Option<usize> {
        let mut progress = ListProgress::default();
        (0..5_000).find(|page| progress.page(objects, &token(*page)).is_err())
    }

    #[test]
    fn tokens_that_repeat_and_too_many_objects_are_errors() {
        assert_eq!(pages(0, |page| page.to_string()), None, "empty pages may lead to others");
        assert_eq!(pages(OBJECTS_MAX / 4_000, |page| page.to_string()), Some(4_000));
        assert_eq!(pages(1, |_| "same".to_owned()), Some(1));
        for cycle in [2, 3, 7, 100] {
            let found = pages(1, |page| (page % cycle).to_string()).expect("a cycle is noticed");
            assert!((cycle..=3 * cycle).contains(&found), "{cycle}: {found}");
            let later = pages(1, |page| match page {
                0..50 => format!("first {page}"),
                _ => (page % cycle).to_string(),
            });
            assert!(later.is_some(), "{cycle}");
        }
        assert_eq!(pages(1, |page| if page == 9 { String::new() } else { page.to_string() }), None);
    }
}
