//! Asking for more time.

use protocol::{Input, LateAnswer, Outcome, Policy, RefusedRenewal, Renewal, Reply, Standing, Ticks, Visit};

use crate::harness::{BASE, NOTHING, REDLOCK, TAKEN, holder, locks};

const RENEWS: Policy = Policy { renewal: Renewal::CompareAndExtend, ..BASE };

/// On three servers, all asked at once.
const RENEWS_ON_THREE: Policy = Policy { renewal: Renewal::CompareAndExtend, visit: Visit::AllAtOnce, ..REDLOCK };

#[test]
fn a_renewal_that_succeeds_counts_from_its_sending() {
    let mut client = holder(RENEWS);
    assert_eq!(client.wakes(), Some((4, 4)));
    assert_eq!(client.at(4).wake(), ["node 0: PEXPIRE x if a1"]);
    assert_eq!(client.until(0), Some(10));
    assert_eq!(client.at(6).answers(0, Reply::Done), NOTHING);
    assert_eq!(client.until(0), Some(14));
    assert_eq!(client.wakes(), Some((10, 10)));
}

#[test]
fn a_holder_believes_while_it_asks() {
    let mut client = holder(RENEWS);
    client.at(4).wake();
    assert!(client.at(5).holds());
}

#[test]
fn a_refused_renewal_is_a_loss_and_told_once() {
    let mut client = holder(RENEWS);
    client.at(4).wake();
    assert_eq!(client.at(5).answers(0, Reply::Nothing), ["Lost"]);
    assert_eq!(client.standing(), Standing::Leaving);
    assert_eq!(client.at(10).wake(), NOTHING);
    assert_eq!(client.wakes(), None);
}

#[test]
fn a_refusal_that_is_not_looked_at_counts_as_more_time() {
    let mut client = holder(Policy { refused_renewal: RefusedRenewal::Ignored, ..RENEWS });
    client.at(4).wake();
    assert_eq!(client.at(5).answers(0, Reply::Nothing), NOTHING);
    assert_eq!(client.until(0), Some(14));
}

#[test]
fn a_renewal_that_is_not_answered_gives_no_time_and_is_tried_again() {
    let mut client = holder(RENEWS);
    client.at(4).wake();
    assert_eq!(client.wakes(), Some((7, 7)));
    assert_eq!(client.at(7).wake(), NOTHING);
    assert_eq!(client.until(0), Some(10));
    // The next one would be due at 11, but the lease ends before.
    assert_eq!(client.wakes(), Some((10, 10)));
    assert_eq!(client.at(10).wake(), ["Lost"]);
}

#[test]
fn a_renewal_that_was_never_sent_is_neither_a_refusal_nor_more_time() {
    let mut client = holder(RENEWS);
    client.at(4).wake();
    assert_eq!(client.settles(0, 0, Outcome::Refused), NOTHING);
    assert_eq!(client.until(0), Some(10));
    assert_eq!(client.wakes(), Some((8, 8)));
    assert_eq!(client.at(8).wake(), ["node 0: PEXPIRE x if a1"]);
}

#[test]
fn an_answer_at_the_deadline_or_after_it_does_not_extend_the_lease() {
    let slow = Policy { renew_every: Ticks(8), ..RENEWS };
    let mut client = holder(slow);
    client.at(8).wake();
    assert_eq!(client.at(10).answers(0, Reply::Done), ["Lost"]);
    assert!(!client.holds());

    let mut client = holder(slow);
    client.at(8).wake();
    assert_eq!(client.at(9).answers(0, Reply::Done), NOTHING);
    assert!(client.at(10).holds());
}

#[test]
fn a_lapse_forgets_the_renewal_under_way() {
    let mut client = holder(Policy { renew_every: Ticks(8), ..RENEWS });
    client.at(8).wake();
    assert_eq!(client.at(10).wake(), ["Lost"]);
    assert_eq!(client.awaits(0), [0_u8; 0]);
}

#[test]
fn a_late_answer_can_be_made_to_revive_what_has_lapsed() {
    let revives = Policy { renew_every: Ticks(8), late_answer: LateAnswer::Revives, ..RENEWS };
    let mut client = holder(revives);
    client.at(8).wake();
    // The lapse is not noticed, though nobody would believe it if asked.
    assert_eq!(client.wakes(), Some((11, 11)));
    assert!(!client.at(10).holds());
    assert_eq!(client.answers(0, Reply::Done), NOTHING);
    assert!(client.holds());
    assert_eq!(client.until(0), Some(18));
}

#[test]
fn a_revival_that_does_not_come_is_a_loss() {
    let revives = Policy { renew_every: Ticks(8), late_answer: LateAnswer::Revives, ..RENEWS };
    let mut client = holder(revives);
    client.at(8).wake();
    assert_eq!(client.at(11).wake(), ["Lost"]);
}

#[test]
fn the_number_of_renewals_can_be_limited() {
    let mut client = holder(Policy { renewals: Some(1), ..RENEWS });
    client.at(4).wake();
    client.answers(0, Reply::Done);
    assert_eq!(client.wakes(), Some((14, 14)));
    assert_eq!(client.at(14).wake(), ["Lost"]);

    let client = holder(Policy { renewals: Some(0), ..RENEWS });
    assert_eq!(client.wakes(), Some((10, 10)));
}

#[test]
fn a_release_ends_the_renewals() {
    let mut client = holder(RENEWS);
    client.at(4).wake();
    let renewal = client.awaited(0, 0).unwrap();
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
    assert_eq!(client.step(protocol::Input::Settled(renewal, Outcome::Answered(Reply::Nothing))), NOTHING);
    assert_eq!(client.answers(0, Reply::Done), ["Released"]);
    assert_eq!(client.wakes(), None);
}

#[test]
fn a_naive_holder_renews_for_the_server_alone() {
    let mut client = holder(Policy { holder: protocol::Holder::Naive, ..RENEWS });
    assert_eq!(client.at(4).wake(), ["node 0: PEXPIRE x if a1"]);
    client.answers(0, Reply::Done);
    assert_eq!(client.until(0), None);
}

#[test]
fn set_nx_is_refused_by_the_very_entry_that_it_should_extend() {
    let mut client = holder(Policy { renewal: Renewal::SetNxPx, ..RENEWS });
    assert_eq!(client.at(4).wake(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.answers(0, Reply::Taken { own: true, fence: None }), ["Lost"]);
}

#[test]
fn the_other_ways_to_renew() {
    for (renewal, said) in [
        (Renewal::Expire, "node 0: PEXPIRE x"),
        (Renewal::SetXxPx, "node 0: SET x a1 XX PX"),
        (Renewal::SetPx, "node 0: SET x a1 PX"),
    ] {
        assert_eq!(holder(Policy { renewal, ..RENEWS }).at(4).wake(), [said]);
    }
}

#[test]
fn a_renewal_counts_if_a_quorum_extends() {
    let mut client = locks(RENEWS_ON_THREE);
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, Reply::Done);
    client.at(4).wake();
    assert_eq!(client.awaits(0), [0, 1, 2]);
    client.answers(2, Reply::Nothing);
    assert_eq!(client.until(0), Some(10));
    client.answers(0, Reply::Done);
    assert_eq!(client.answers(1, Reply::Done), NOTHING);
    assert_eq!(client.until(0), Some(14));
}

#[test]
fn a_renewal_is_refused_if_a_quorum_is_out_of_reach() {
    let mut client = locks(RENEWS_ON_THREE);
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, Reply::Done);
    client.at(4).wake();
    assert_eq!(client.answers(0, Reply::Nothing), NOTHING);
    assert_eq!(client.answers(1, Reply::Nothing), ["Lost"]);
    // What may still stand is given back.
    assert_eq!(client.release().len(), 3);
}

#[test]
fn only_the_servers_that_may_have_an_entry_are_asked_to_renew_it() {
    let mut client = locks(Policy { visit: Visit::InOrder, ..RENEWS_ON_THREE });
    client.acquire();
    client.answers(0, TAKEN);
    client.answers(1, Reply::Done);
    client.answers(2, Reply::Done);
    assert_eq!(client.at(4).wake(), ["node 1: PEXPIRE x if a1"]);
    assert_eq!(client.answers(1, Reply::Done), ["node 2: PEXPIRE x if a1"]);
    assert_eq!(client.answers(2, Reply::Done), NOTHING);
    assert_eq!(client.until(0), Some(14));
}

#[test]
fn in_order_a_silent_server_does_not_end_a_renewal() {
    let mut client = locks(Policy { visit: Visit::InOrder, ..RENEWS_ON_THREE });
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, Reply::Done);
    client.at(4).wake();
    assert_eq!(client.at(7).wake(), ["node 1: PEXPIRE x if a1"]);
    assert_eq!(client.answers(1, Reply::Done), NOTHING);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn a_renewal_counts_when_replicas_have_acknowledged_it() {
    let mut client = locks(Policy { acknowledged: 1, ..RENEWS });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
    client.at(4).wake();
    assert_eq!(client.at(5).answers(0, Reply::Done), ["node 0: WAIT"]);
    assert_eq!(client.until(0), Some(10));
    assert_eq!(client.at(6).answers(0, Reply::Done), NOTHING);
    assert_eq!(client.until(0), Some(14));
    assert_eq!(client.wakes(), Some((10, 10)));
}

#[test]
fn a_renewal_that_nobody_acknowledges_gives_no_time() {
    let mut client = locks(Policy { acknowledged: 1, ..RENEWS });
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(0, Reply::Done);
    client.at(4).wake();
    client.at(5).answers(0, Reply::Done);
    assert_eq!(client.at(8).wake(), NOTHING);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn more_time_can_be_asked_for_ahead_of_the_schedule() {
    let mut client = holder(Policy { renewals: Some(0), ..RENEWS });
    assert_eq!(client.wakes(), Some((10, 10)), "nothing but the end is scheduled");
    assert_eq!(client.at(2).step(Input::Renew), ["node 0: PEXPIRE x if a1"]);
    assert_eq!(client.step(Input::Renew), NOTHING, "one is under way");
    client.at(3).answers(0, Reply::Done);
    assert_eq!(client.until(0), Some(12), "it counts from its sending");
    assert_eq!(client.wakes(), Some((12, 12)), "and no other follows by itself");
}

#[test]
fn who_never_renews_cannot_be_asked_to() {
    assert_eq!(holder(BASE).at(2).step(Input::Renew), NOTHING);
}
