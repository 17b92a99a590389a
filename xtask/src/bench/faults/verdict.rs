//! Judges what a contender did, from the taints that were written and the pods that were deleted.
//!
//! - Pure: all times are seconds since the same moment.

/// A pod that became due just before a fault may not have been deleted yet, and a DELETE may arrive just after its reason is gone.
const IN_FLIGHT: f64 = 1.0;

/// A write took effect between its request and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WriteSpan {
    pub(crate) begin: f64,
    pub(crate) end: f64,
}

/// The NoExecute taint of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaintHistory {
    pub(crate) added: Option<WriteSpan>,
    pub(crate) removed: Option<WriteSpan>,
}

/// A pod, and when it was deleted.
#[derive(Clone, Debug)]
pub(crate) struct PodHistory {
    /// How long it tolerates the taint; `None` without a limit.
    pub(crate) seconds: Option<u32>,
    pub(crate) taint: TaintHistory,
    /// Whether its node was tainted right after the fault.
    pub(crate) is_probe: bool,
    /// The DELETE requests that removed it.
    pub(crate) deleted: Vec<WriteSpan>,
    /// Whether it existed in the end.
    pub(crate) is_left: bool,
}

/// The time of a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultWindow {
    pub(crate) begin: f64,
    /// From now on, a request may succeed.
    pub(crate) lifted: f64,
    pub(crate) end: f64,
    /// Whether no pod can be deleted in the meantime, so that the lateness of pods counts from the end.
    pub(crate) excuses: bool,
}

/// What a contender did in a fault. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FaultVerdict {
    pub(crate) early: usize,
    pub(crate) wrong: usize,
    pub(crate) missing: usize,
    /// Pods that became due during the fault.
    pub(crate) due: usize,
    /// The lateness of each deleted pod, in ascending order.
    pub(crate) late: Vec<f64>,
    /// From the end of the fault until the last of the pods that became due during the fault was deleted.
    pub(crate) backlog: Option<f64>,
    /// The same, from the first successful request.
    pub(crate) since_success: Option<f64>,
    /// From the taint until the last pod of the nodes that were tainted right after the fault was deleted.
    pub(crate) probe: Option<f64>,
}

impl PodHistory {
    /// The earliest and the latest time at which it became due; `None` if it never did.
    fn due(&self) -> Option<WriteSpan> {
        let (added, seconds) = (self.taint.added?, f64::from(self.seconds?));
        let due = WriteSpan { begin: added.begin + seconds, end: added.end + seconds };
        (!self.taint.removed.is_some_and(|removed| due.begin > removed.end)).then_some(due)
    }

    /// Whether it has to leave, now and later.
    pub(crate) fn must_leave(&self) -> bool {
        self.taint.removed.is_none() && self.deadline().is_some()
    }

    /// The time at which it had to go; `None` if it might or had to stay.
    pub(crate) fn deadline(&self) -> Option<f64> {
        let end = self.due()?.end;
        (!self.taint.removed.is_some_and(|removed| end > removed.begin)).then_some(end)
    }
}

/// Judges a run. `success` is the time of the first request that succeeded after the fault.
pub(crate) fn judge(pods: &[PodHistory], window: FaultWindow, success: Option<f64>) -> FaultVerdict {
    let mut verdict = FaultVerdict::default();
    let raise = |most: &mut Option<f64>, value: f64| *most = Some(most.map_or(value, |most| most.max(value)));
    for pod in pods {
        let removed = pod.taint.removed.map_or(f64::INFINITY, |removed| removed.end + IN_FLIGHT);
        let Some(due) = pod.due() else {
            verdict.wrong += usize::from(!pod.deleted.is_empty());
            continue;
        };
        verdict.early += usize::from(pod.deleted.iter().any(|request| request.begin < due.begin));
        verdict.wrong += usize::from(pod.deleted.iter().any(|request| request.begin > removed));
        let Some(deadline) = pod.deadline() else { continue };
        let was_meanwhile = (window.begin - IN_FLIGHT..=window.end).contains(&deadline);
        verdict.due += usize::from(was_meanwhile);
        // A pod may be left because the fault delayed its eviction, or exist again because the store was restored, and then have no
        // reason to leave anymore.
        let may_stay = pod.taint.removed.is_some() && (was_meanwhile || !pod.deleted.is_empty());
        verdict.missing += usize::from(pod.is_left && !may_stay);
        // Or with one: then it is evicted twice, the second time perhaps after its whole time.
        let [WriteSpan { end: last, .. }] = pod.deleted[..] else { continue };
        if pod.is_left {
            continue;
        }
        let since = |moment: f64| (last - moment).max(0.0);
        verdict.late.push(since(if was_meanwhile && window.excuses { window.end } else { deadline }));
        if pod.is_probe {
            raise(&mut verdict.probe, since(deadline));
        } else if was_meanwhile {
            raise(&mut verdict.backlog, since(if window.excuses { window.end } else { deadline }));
            if let Some(success) = success {
                raise(&mut verdict.since_success, since(success));
            }
        }
    }
    verdict.late.sort_by(f64::total_cmp);
    verdict
}

impl FaultVerdict {
    /// Adds another round: counts are sums, times are the worst.
    pub(crate) fn add(&mut self, other: Self) {
        self.early += other.early;
        self.wrong += other.wrong;
        self.missing += other.missing;
        self.due += other.due;
        self.late.extend(other.late);
        self.late.sort_by(f64::total_cmp);
        for (mine, others) in [
            (&mut self.backlog, other.backlog),
            (&mut self.since_success, other.since_success),
            (&mut self.probe, other.probe),
        ] {
            *mine = mine.map_or(others, |mine| Some(others.map_or(mine, |other| mine.max(other))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: FaultWindow = FaultWindow { begin: 10.0, lifted: 18.0, end: 20.0, excuses: true };

    /// A pod of a node that was tainted between 5.0 and 5.5.
    fn pod(seconds: Option<u32>, deleted: &[f64]) -> PodHistory {
        let added = Some(WriteSpan { begin: 5.0, end: 5.5 });
        let taint = TaintHistory { added, removed: None };
        let is_left = deleted.is_empty();
        let deleted = deleted.iter().map(|&begin| WriteSpan { begin, end: begin + 0.5 }).collect();
        PodHistory { seconds, taint, is_probe: false, deleted, is_left }
    }

    fn judged(pods: &[PodHistory]) -> FaultVerdict {
        judge(pods, WINDOW, Some(19.0))
    }

    #[test]
    fn lateness_counts_from_the_end_of_the_fault_for_pods_that_became_due_meanwhile() {
        let pods = [pod(Some(2), &[7.25]), pod(Some(10), &[22.5]), pod(Some(20), &[25.25])];
        let verdict = judged(&pods);
        assert_eq!((verdict.late.as_slice(), verdict.due), (&[0.25, 0.25, 3.0][..], 1));
        assert_eq!((verdict.backlog, verdict.since_success, verdict.probe), (Some(3.0), Some(4.0), None));
        assert_eq!((verdict.early, verdict.wrong, verdict.missing), (0, 0, 0));
        let lasting = judge(&pods, FaultWindow { excuses: false, ..WINDOW }, None);
        assert_eq!((lasting.backlog, lasting.since_success), (Some(7.5), None));
    }

    #[test]
    fn a_deletion_before_the_earliest_deadline_is_early() {
        assert_eq!(judged(&[pod(Some(10), &[14.9])]).early, 1);
        assert_eq!(judged(&[pod(Some(10), &[15.0])]).early, 0);
    }

    #[test]
    fn a_pod_without_a_reason_to_leave_is_wrong_to_delete() {
        let healthy = |deleted| PodHistory { taint: TaintHistory::default(), ..pod(Some(0), deleted) };
        assert_eq!((judged(&[pod(None, &[15.0])]).wrong, judged(&[pod(None, &[])]).wrong), (1, 0));
        assert_eq!((judged(&[healthy(&[15.0])]).wrong, judged(&[healthy(&[])]).wrong), (1, 0));
        let removed = Some(WriteSpan { begin: 14.0, end: 15.0 });
        let spared = |seconds, deleted| {
            let mut pod = pod(Some(seconds), deleted);
            pod.taint.removed = removed;
            judged(&[pod])
        };
        assert_eq!(spared(11, &[16.5]).wrong, 1);
        assert_eq!(spared(11, &[]), FaultVerdict::default());
        // It became due while the taint was being removed: it may go, and it may stay.
        assert_eq!((spared(9, &[14.5]).wrong, spared(9, &[]).missing), (0, 0));
        assert_eq!((spared(8, &[14.0]).wrong, spared(8, &[]).missing), (0, 0));
        assert_eq!((spared(3, &[8.5]).wrong, spared(3, &[]).missing), (0, 1));
        // It was deleted in time, came back without a taint when the store was restored, and was deleted again.
        assert_eq!((spared(8, &[13.5, 16.5]).wrong, spared(9, &[16.5]).wrong), (1, 1));
        let mut back = PodHistory { is_left: true, ..pod(Some(8), &[13.5]) };
        back.taint.removed = removed;
        assert_eq!((judged(&[back.clone()]).missing, judged(&[back]).wrong), (0, 0));
    }

    #[test]
    fn a_pod_that_came_back_with_a_restored_store_must_leave_again_at_any_time() {
        let back = PodHistory { is_left: true, ..pod(Some(6), &[11.5]) };
        let verdict = judged(&[back, pod(Some(6), &[11.5, 31.5])]);
        assert_eq!((verdict.missing, verdict.due, verdict.backlog), (1, 2, None));
    }

    #[test]
    fn the_probe_counts_from_its_taint() {
        let mut probe = PodHistory { is_probe: true, ..pod(Some(0), &[21.0]) };
        probe.taint.added = Some(WriteSpan { begin: 20.5, end: 21.0 });
        let verdict = judged(&[probe]);
        assert_eq!((verdict.probe, verdict.backlog, verdict.due), (Some(0.5), None, 0));
    }

    #[test]
    fn rounds_add_up_to_the_worst() {
        let mut all = judged(&[pod(Some(10), &[22.5])]);
        all.add(judged(&[pod(Some(10), &[21.5]), pod(None, &[21.5])]));
        all.add(FaultVerdict::default());
        assert_eq!((all.wrong, all.due, all.backlog), (1, 2, Some(3.0)));
        assert_eq!(all.late, [2.0, 3.0]);
    }
}
