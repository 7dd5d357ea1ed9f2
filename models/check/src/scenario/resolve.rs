//! From the knobs of a scenario to the world that is explored.

use protocol::{LockList, Policy, Program, Reentrance, Resource, Retry, Ticks};
use world::{Fault, Grain, Setup};

use super::error::{Problem, ScenarioError, ScenarioErrors};
use super::knobs::Settings;
use super::names::{GrainChoice, RetryKind};
use super::{Resources, Scenario};

impl Scenario {
    /// The world to explore: of a sheet, the one of its base, so [expand](Self::expand) it first.
    pub fn resolve(&self) -> Result<Setup, ScenarioErrors> {
        ScenarioErrors::of(self.wrong())?;
        let settings = &self.settings;
        let lists = settings.resources();
        let clients = lock_lists(settings, &lists).ok_or_else(|| self.no_lists(&lists))?;
        Ok(Setup {
            policy: settings.policy(),
            clients,
            resources: lists.names().len() as u8,
            latency_least: settings.latency.least,
            latency_greatest: settings.latency.greatest,
            network: settings.network,
            persistence: settings.persistence,
            fsync_every: settings.fsync_every,
            restart_delay: settings.restart_delay,
            replicas: settings.replicas,
            promote: settings.promote,
            jump: settings.jump(),
            expiry: settings.expiry,
            offset: settings.offset,
            longest_pause: settings.longest_pause,
            longest_delay: settings.longest_delay,
            longest_partition: settings.longest_partition,
            rejoin: settings.rejoin,
            compare: settings.compare,
            grain: self.grain(),
            faults: self.faults,
        })
    }

    /// The grain that counts: an exchange is one step only where nothing can fall between a request and its reply.
    pub fn grain(&self) -> Grain {
        let is_undisturbed = self.settings.latency.greatest == Ticks(0)
            && self.faults.kinds().all(spares_exchanges)
            && self.settings.reentrance == Reentrance::Nothing;
        match self.settings.grain {
            GrainChoice::Message => Grain::Message,
            GrainChoice::Exchange => Grain::Exchange,
            GrainChoice::Auto if is_undisturbed => Grain::Exchange,
            GrainChoice::Auto => Grain::Message,
        }
    }

    /// The names of the locks; the place of a name is the number of its resource in the world.
    pub fn resource_names(&self) -> Vec<String> {
        self.settings.resources().names().into_iter().map(str::to_owned).collect()
    }

    fn no_lists(&self, lists: &Resources) -> ScenarioErrors {
        let problem = Problem::Value {
            expected: super::Form::Resources.to_string(),
            found: format!("{} lists", lists.0.len()),
            help: None,
        };
        let place = self.places.of(&["resources".to_owned()]);
        ScenarioError { place, about: "world.resources".to_owned(), problem }.into()
    }
}

/// Whether a fault befalls neither messages nor clients, so that it makes no difference whether it falls between a
/// request and its reply or after them.
pub(super) fn spares_exchanges(fault: Fault) -> bool {
    match fault {
        Fault::Jump | Fault::Evict => true,
        Fault::Pause
        | Fault::Delay
        | Fault::DropRequest
        | Fault::DropReply
        | Fault::Duplicate
        | Fault::Crash
        | Fault::Restart
        | Fault::Drift
        | Fault::Partition
        | Fault::Failover
        | Fault::Cancel => false,
    }
}

impl Settings {
    /// What the clients decide.
    pub fn policy(&self) -> Policy {
        let (delay, most) = (self.retry_delay, self.retry_delay_max());
        Policy {
            acquire: self.acquire,
            owner: self.owner,
            release: self.release,
            release_to: self.release_to,
            ttl: self.ttl,
            nodes: self.nodes,
            quorum: self.quorum(),
            quorum_of: self.quorum_of,
            visit: self.visit,
            timeout: self.timeout(),
            validity: self.validity,
            drift: self.drift,
            drift_ticks: self.drift_ticks,
            holder: self.holder,
            margin: self.margin,
            unknown: self.unknown,
            renewal: self.renewal,
            renew_every: self.renew_every,
            renewals: self.renewals,
            refused_renewal: self.refused_renewal,
            late_answer: self.late_answer,
            acknowledged: self.acknowledged,
            fencing: self.fencing,
            reentrance: self.reentrance,
            waiting: self.waiting,
            subscribe: self.subscribe,
            fallback_poll: self.fallback_poll,
            retry: match self.retry {
                RetryKind::Nothing => Retry::Never,
                RetryKind::Fixed => Retry::Fixed(delay),
                RetryKind::Jitter => Retry::Jitter(delay, most),
                RetryKind::Exponential => Retry::Exponential(delay, most),
            },
            attempts: self.attempts,
            give_up_after: self.give_up_after,
            order: self.order,
            conflict: self.conflict,
            unsettled_write: self.unsettled_write,
            on_cancel: self.on_cancel,
            program: Program { work: self.work, writes: self.writes, updates: self.updates, check: self.check },
        }
    }
}

fn lock_lists(settings: &Settings, lists: &Resources) -> Option<Vec<LockList>> {
    let names = lists.names();
    let number = |name: &String| names.binary_search(&name.as_str()).ok().map(|n| Resource(n as u8));
    let list = |client: &Vec<String>| {
        let numbers: Option<Vec<_>> = client.iter().map(number).collect();
        LockList::new(&numbers?, settings.order)
    };
    lists.0.iter().map(list).collect()
}
