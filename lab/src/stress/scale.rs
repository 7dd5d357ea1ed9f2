//! From the ticks of a scenario to the milliseconds of real clocks.

use protocol::{Policy, Program, Retry, Ticks};

/// By how much shorter the delays before another try are than the ticks say. They are safe or not at any length, and a
/// lock that nobody tries for is not put under stress.
const EAGERNESS: u32 = 16;

/// The policy with a tick of so many milliseconds.
pub(super) fn scaled(policy: &Policy, tick: u32) -> Policy {
    let long = |ticks: Ticks| Ticks(ticks.0.saturating_mul(tick));
    let short = |ticks: Ticks| Ticks((long(ticks).0 / EAGERNESS).max(1));
    Policy {
        ttl: policy.ttl.map(long),
        timeout: long(policy.timeout),
        drift_ticks: long(policy.drift_ticks),
        margin: long(policy.margin),
        renew_every: long(policy.renew_every),
        give_up_after: policy.give_up_after.map(long),
        retry: match policy.retry {
            Retry::Never => Retry::Never,
            Retry::Fixed(delay) => Retry::Fixed(short(delay)),
            Retry::Jitter(least, most) => Retry::Jitter(short(least), short(most)),
            Retry::Exponential(first, most) => Retry::Exponential(short(first), short(most)),
        },
        program: Program { work: long(policy.program.work), ..policy.program },
        ..*policy
    }
}

#[cfg(test)]
mod tests {
    use check::catalogue;
    use protocol::Policy;

    use super::scaled;

    #[test]
    fn only_times_change_and_all_of_them_do() {
        for id in catalogue::ids() {
            let policy = catalogue::find(id).unwrap().unwrap().expand()[0].resolve().unwrap().policy;
            let same = scaled(&policy, 1);
            assert_eq!(Policy { retry: policy.retry, ..same }, policy, "{id}");
            let twice = scaled(&policy, 2);
            assert_eq!(twice.ttl.map(|ttl| ttl.0), policy.ttl.map(|ttl| ttl.0 * 2), "{id}");
            assert_eq!((twice.timeout.0, twice.margin.0), (policy.timeout.0 * 2, policy.margin.0 * 2), "{id}");
            assert_eq!(twice.program.work.0, policy.program.work.0 * 2, "{id}");
        }
    }
}
