//! Defines a limit on nodes: a number, a percentage of all nodes, or both.

/// How many of all nodes something may affect; the lower of both limits applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeLimit {
    /// The number; `None`: any.
    pub nodes: Option<u32>,
    /// The percentage, rounded down, but at least one node; `None`: all.
    pub percent: Option<u8>,
}

impl NodeLimit {
    /// Returns how many of so many nodes may be affected.
    pub fn allowed(&self, nodes: usize) -> usize {
        let share = |percent: u8| (nodes * usize::from(percent) / 100).max(1);
        let share = self.percent.map_or(usize::MAX, share);
        share.min(self.nodes.map_or(usize::MAX, |nodes| nodes as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_number_and_percentage_counts_and_a_percentage_is_at_least_one() {
        let limit = |nodes, percent| NodeLimit { nodes, percent };
        assert_eq!(limit(Some(10), Some(30)).allowed(20), 6);
        assert_eq!(limit(Some(10), Some(30)).allowed(100), 10);
        assert_eq!(limit(Some(0), Some(30)).allowed(100), 0, "a limit of zero allows no node");
        assert_eq!(limit(None, Some(30)).allowed(2), 1);
        assert_eq!(limit(None, None).allowed(2), usize::MAX);
    }
}
