//! The deadline: from when it counts, what is taken off, and that it is final.

use protocol::{Drift, Fencing, Holder, Policy, Release, Reply, Standing, Ticks, Validity};

use crate::harness::{BASE, NOTHING, REDLOCK, holder, locks};

/// The end of a lease that was asked for at 1 and granted at 3.
fn end(policy: Policy) -> Option<u32> {
    let mut client = locks(policy);
    client.at(1).acquire();
    assert_eq!(client.at(3).answers(0, Reply::Done), ["Acquired"]);
    client.until(0)
}

#[test]
fn validity_counts_from_the_sending() {
    assert_eq!(end(BASE), Some(11));
}

#[test]
fn from_the_reply_it_lasts_longer_than_the_entry() {
    assert_eq!(end(Policy { validity: Validity::FromReply, ..BASE }), Some(13));
}

#[test]
fn unchecked_it_never_ends() {
    assert_eq!(end(Policy { validity: Validity::Unchecked, ..BASE }), None);
}

#[test]
fn a_naive_holder_has_no_eye_on_the_clock() {
    assert_eq!(end(Policy { holder: Holder::Naive, ..BASE }), None);
}

#[test]
fn the_drift_allowance_is_subtracted_or_by_mistake_added() {
    let drifts = Policy { drift_ticks: Ticks(2), ..BASE };
    assert_eq!(end(drifts), Some(9));
    assert_eq!(end(Policy { drift: Drift::Added, ..drifts }), Some(13));
    assert_eq!(end(Policy { drift: Drift::Ignored, ..drifts }), Some(11));
}

#[test]
fn of_a_quorum_the_first_request_counts() {
    let mut client = locks(REDLOCK);
    client.acquire();
    client.at(2).answers(0, Reply::Done);
    client.at(4).answers(1, Reply::Done);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn a_grant_that_comes_too_late_is_turned_down_and_cleaned_up() {
    let patient = Policy { timeout: Ticks(20), ..BASE };
    let mut client = locks(patient);
    client.acquire();
    assert_eq!(client.at(10).answers(0, Reply::Done), ["node 0: DEL x if a1"]);
    assert_eq!(client.standing(), Standing::Seeking);

    let mut client = locks(patient);
    client.acquire();
    assert_eq!(client.at(9).answers(0, Reply::Done), ["Acquired"]);
}

#[test]
fn too_late_is_earlier_by_the_margin() {
    let mut client = locks(Policy { margin: Ticks(3), timeout: Ticks(20), ..BASE });
    client.acquire();
    assert_eq!(client.at(7).answers(0, Reply::Done), ["node 0: DEL x if a1"]);
}

#[test]
fn a_naive_client_also_turns_down_what_is_over_already() {
    let naive = Policy { holder: Holder::Naive, margin: Ticks(3), timeout: Ticks(20), ..BASE };
    let mut client = locks(naive);
    client.acquire();
    assert_eq!(client.at(10).answers(0, Reply::Done), ["node 0: DEL x if a1"]);
}

#[test]
fn who_does_not_check_the_validity_takes_it_however_late() {
    let mut client = locks(Policy { validity: Validity::Unchecked, timeout: Ticks(20), ..BASE });
    client.acquire();
    assert_eq!(client.at(19).answers(0, Reply::Done), ["Acquired"]);
}

#[test]
fn the_belief_ends_with_the_lease() {
    let mut client = holder(BASE);
    assert_eq!(client.wakes(), Some((10, 10)));
    assert!(client.at(9).holds());
    assert_eq!(client.at(9).wake(), NOTHING);
    // Even before it is woken.
    assert!(!client.at(10).holds());
    assert_eq!(client.wake(), ["Lost"]);
    assert_eq!(client.standing(), Standing::Leaving);
    assert_eq!(client.wakes(), None);
}

#[test]
fn the_belief_ends_earlier_by_the_margin() {
    let mut client = holder(Policy { margin: Ticks(4), ..BASE });
    assert!(client.at(5).holds());
    assert!(!client.at(6).holds());
    assert_eq!(client.wake(), ["Lost"]);
}

#[test]
fn the_clock_is_looked_at_before_the_input() {
    let mut client = holder(BASE);
    // The user releases in time as it thinks, and first hears that it did not.
    assert_eq!(client.at(10).release(), ["Lost", "node 0: DEL x if a1"]);
}

#[test]
fn lost_is_told_once() {
    let mut client = holder(BASE);
    assert_eq!(client.at(10).wake(), ["Lost"]);
    assert_eq!(client.at(11).wake(), NOTHING);
    assert_eq!(client.acquire(), NOTHING);
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
    assert_eq!(client.answers(0, Reply::Nothing), ["Released"]);
}

#[test]
fn after_a_loss_and_a_release_the_lock_can_be_had_again() {
    let mut client = holder(Policy { release: Release::Nothing, ..BASE });
    client.at(10).wake();
    assert_eq!(client.release(), ["Released"]);
    assert_eq!(client.acquire(), ["node 0: SET x a2 NX PX"]);
    client.answers(0, Reply::Done);
    assert_eq!(client.until(0), Some(20));
}

#[test]
fn a_naive_holder_holds_until_it_releases() {
    let mut client = holder(Policy { holder: Holder::Naive, ..BASE });
    assert_eq!(client.wakes(), None);
    assert_eq!(client.at(100).wake(), NOTHING);
    assert!(client.holds());
}

#[test]
fn a_token_that_was_minted_too_late_is_turned_down_with_the_grant() {
    let mut client = locks(Policy { fencing: Fencing::IncrAfter, timeout: Ticks(20), ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.at(10).answers(0, Reply::Minted(protocol::Fence(1))), ["node 0: DEL x if a1"]);
}
