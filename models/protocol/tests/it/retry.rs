//! Trying again, and giving up.

use protocol::{Outcome, Policy, Retry, Standing, Ticks};

use crate::harness::{BASE, NOTHING, TAKEN, locks};

/// How long a client waits after each of some refused attempts.
fn delays(retry: Retry, attempts: usize) -> Vec<(u32, u32)> {
    let mut client = locks(Policy { retry, ..BASE });
    let mut now = 0;
    client.acquire();
    let mut delays = Vec::new();
    for _ in 0..attempts {
        client.answers(0, TAKEN);
        let (from, by) = client.wakes().expect("it tries again");
        delays.push((from - now, by - now));
        now = by;
        client.at(now).wake();
    }
    delays
}

#[test]
fn a_fixed_delay() {
    assert_eq!(delays(Retry::Fixed(Ticks(2)), 3), [(2, 2), (2, 2), (2, 2)]);
}

#[test]
fn a_jittered_delay_is_a_window() {
    assert_eq!(delays(Retry::Jitter(Ticks(1), Ticks(4)), 2), [(1, 4), (1, 4)]);
}

#[test]
fn any_moment_of_the_window_will_do() {
    for moment in 1..=4 {
        let mut client = locks(Policy { retry: Retry::Jitter(Ticks(1), Ticks(4)), ..BASE });
        client.acquire();
        client.answers(0, TAKEN);
        assert_eq!(client.wake(), NOTHING);
        assert_eq!(client.at(moment).wake(), ["node 0: SET x a2 NX PX"]);
    }
}

#[test]
fn an_exponential_delay_doubles_up_to_its_bound() {
    assert_eq!(delays(Retry::Exponential(Ticks(1), Ticks(5)), 5), [(1, 1), (2, 2), (4, 4), (5, 5), (5, 5)]);
}

#[test]
fn an_exponential_delay_reaches_a_far_bound_as_well() {
    let all = delays(Retry::Exponential(Ticks(1), Ticks(1000)), 12);
    assert_eq!(all.last(), Some(&(1000, 1000)));
}

#[test]
fn a_new_acquisition_begins_with_the_first_delay() {
    let mut client = locks(Policy { retry: Retry::Exponential(Ticks(1), Ticks(8)), ..BASE });
    client.acquire();
    client.answers(0, TAKEN);
    client.at(1).wake();
    client.answers(0, TAKEN);
    client.release();
    client.acquire();
    client.answers(0, TAKEN);
    assert_eq!(client.wakes(), Some((2, 2)));
}

#[test]
fn one_attempt() {
    let mut client = locks(Policy { retry: Retry::Never, ..BASE });
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), ["GaveUp"]);
    assert_eq!(client.standing(), Standing::Free);
}

#[test]
fn so_many_attempts() {
    let mut client = locks(Policy { attempts: Some(2), ..BASE });
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), NOTHING);
    client.at(2).wake();
    assert_eq!(client.answers(0, TAKEN), ["GaveUp"]);
    // The next acquisition has its own.
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), NOTHING);
}

#[test]
fn until_a_deadline() {
    let mut client = locks(Policy { give_up_after: Some(Ticks(3)), ..BASE });
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), NOTHING);
    client.at(2).wake();
    assert_eq!(client.at(3).answers(0, TAKEN), ["GaveUp"]);
}

#[test]
fn giving_up_waits_for_the_clean_up() {
    let mut client = locks(Policy { retry: Retry::Never, unknown: protocol::UnknownAcquire::GiveUp, ..BASE });
    client.acquire();
    assert_eq!(client.settles(0, 0, Outcome::Unknown), ["node 0: DEL x if a1"]);
    assert_eq!(client.answers(0, protocol::Reply::Nothing), ["GaveUp"]);
}

#[test]
fn a_policy_says_whether_it_waits_without_limit() {
    assert!(BASE.waits_without_limit());
    assert!(!Policy { retry: Retry::Never, ..BASE }.waits_without_limit());
    assert!(!Policy { attempts: Some(3), ..BASE }.waits_without_limit());
    assert!(!Policy { give_up_after: Some(Ticks(3)), ..BASE }.waits_without_limit());
}
