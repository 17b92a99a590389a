//! Lists the faults of a campaign.

use clap::ValueEnum;

/// What happens in an episode, besides the changes of taints, pods and tolerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum CampaignFault {
    /// Nothing
    None,
    /// The API server is killed and restarted
    ServerKilled,
    /// The API server is paused
    ServerPaused,
    /// etcd is killed and restarted
    EtcdKilled,
    /// etcd is paused
    EtcdPaused,
    /// etcd is restored from a backup
    Restored,
    /// A balancer leads to another API server, and back
    OtherServer,
    /// The network is cut
    Cut,
    /// Connections are half-open
    HalfOpen,
    /// Data on the network is late by 0.3 to 1 s
    Delay,
    /// The network passes 20 to 100 kB/s
    Throttle,
    /// A balancer answers 404 to everything
    NotFound,
    /// A balancer answers 502 to everything
    BadGateway,
    /// 429 to four of five requests
    TooManyRequests,
    /// Reads of nodes take 1 to 3 s
    SlowNodes,
    /// The controller is killed and restarted
    ControllerKilled,
    /// The controller is paused
    ControllerPaused,
    /// The leader of two replicas is killed
    LeaderKilled,
    /// The leader of two replicas is paused for longer than its lease
    LeaderPaused,
    /// Another client takes the lease, and gives it back
    LeaseTaken,
    /// The permissions are removed
    Forbidden,
    /// An admission webhook denies deletions
    WebhookDenies,
    /// An admission webhook takes 1 to 2.5 s for each deletion
    WebhookDelays,
    /// All kubelets are paused, so that pods keep terminating
    KubeletsPaused,
    /// Six nodes are tainted and untainted five times a second
    NodesFlap,
    /// Nodes are deleted and created again, tainted, twice a second
    NodesReplaced,
    /// An eviction policy respects a budget that allows no disruption
    Policies,
}

impl CampaignFault {
    /// The flag's value of it, and what it is.
    pub(crate) fn describe(self) -> (String, String) {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        (value.map(|value| value.get_name().to_owned()).unwrap_or_default(), help.unwrap_or_default())
    }

    /// Whether two replicas with leader election take part. kube-controller-manager runs alone.
    pub(crate) const fn is_elected(self) -> bool {
        matches!(self, Self::LeaderKilled | Self::LeaderPaused | Self::LeaseTaken)
    }

    /// Whether it is about Taintward alone.
    pub(crate) const fn is_own(self) -> bool {
        self.is_elected() || matches!(self, Self::Policies)
    }

    /// Whether no pod can be deleted in the meantime, so that lateness counts from the end.
    pub(crate) const fn excuses(self) -> bool {
        !matches!(
            self,
            Self::None
                | Self::OtherServer
                | Self::Delay
                | Self::Throttle
                | Self::SlowNodes
                | Self::LeaderKilled
                | Self::LeaderPaused
                | Self::WebhookDelays
                | Self::KubeletsPaused
                | Self::NodesFlap
                | Self::NodesReplaced
        )
    }

    /// Whether the last entries of the audit log may be lost.
    pub(crate) const fn loses_log(self) -> bool {
        matches!(self, Self::ServerKilled | Self::EtcdKilled | Self::EtcdPaused | Self::ServerPaused)
    }

    /// Whether a second fault may happen beside another one: those that touch nothing that the first needs.
    pub(crate) const fn may_be_second(self) -> bool {
        matches!(
            self,
            Self::Forbidden
                | Self::WebhookDelays
                | Self::KubeletsPaused
                | Self::NodesFlap
                | Self::NodesReplaced
                | Self::Delay
        )
    }

    /// Whether this second fault may happen beside it: there is one webhook, and a process that is restarted is ready only if it has its
    /// permissions.
    pub(crate) const fn allows(self, second: Self) -> bool {
        !matches!(
            (self, second),
            (Self::WebhookDenies, Self::WebhookDelays)
                | (Self::ControllerKilled | Self::LeaderKilled, Self::Forbidden)
        )
    }

    /// Whether a second fault may happen beside it.
    pub(crate) const fn may_be_first(self) -> bool {
        // Their ends need an API server that answers, or the link is theirs.
        !matches!(
            self,
            Self::None | Self::Policies | Self::Throttle | Self::Cut | Self::HalfOpen | Self::Delay
        )
    }
}
