//! Several servers: whom to ask, when to stop asking, and whom to tell.

use protocol::{Outcome, Policy, ReleaseTo, Reply, UnknownAcquire, Visit};

use crate::harness::{NOTHING, OWN, REDLOCK, TAKEN, locks};

const AT_ONCE: Policy = Policy { visit: Visit::AllAtOnce, ..REDLOCK };

#[test]
fn in_order_the_next_server_is_asked_when_the_one_before_has_answered() {
    let mut client = locks(REDLOCK);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.answers(0, Reply::Done), ["node 1: SET x a1 NX PX"]);
}

#[test]
fn a_quorum_is_enough_and_stops_the_visit() {
    let mut client = locks(REDLOCK);
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.answers(1, Reply::Done), ["Acquired"]);
    // The third server was never asked and has nothing to delete.
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
    assert_eq!(client.answers(0, Reply::Done), ["node 1: DEL x if a1"]);
    assert_eq!(client.answers(1, Reply::Done), ["Released"]);
}

#[test]
fn one_refusal_of_three_does_no_harm() {
    let mut client = locks(REDLOCK);
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), ["node 1: SET x a1 NX PX"]);
    assert_eq!(client.answers(1, Reply::Done), ["node 2: SET x a1 NX PX"]);
    assert_eq!(client.answers(2, Reply::Done), ["Acquired"]);
    // The server that refused has certainly no entry of this acquisition.
    assert_eq!(client.release(), ["node 1: DEL x if a1"]);
}

#[test]
fn an_attempt_fails_as_soon_as_a_quorum_is_out_of_reach() {
    let mut client = locks(REDLOCK);
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, TAKEN);
    // It cleans up where something may stand, and leaves alone who refused.
    assert_eq!(client.answers(2, TAKEN), ["node 0: DEL x if a1"]);
    assert_eq!(client.answers(0, Reply::Done), NOTHING);
    assert_eq!(client.wakes(), Some((2, 2)));
}

#[test]
fn two_refusals_of_three_spare_the_third_server_the_question() {
    let mut client = locks(REDLOCK);
    client.acquire();
    client.answers(0, TAKEN);
    assert_eq!(client.answers(1, TAKEN), NOTHING);
    assert_eq!(client.wakes(), Some((2, 2)));
}

#[test]
fn all_at_once_asks_everybody_and_listens_until_a_quorum_has_granted() {
    let mut client = locks(AT_ONCE);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX", "node 1: SET x a1 NX PX", "node 2: SET x a1 NX PX"]);
    assert_eq!(client.answers(2, Reply::Done), NOTHING);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
    // Server 1 has not answered, and may have an entry: it hears of the release as well.
    assert_eq!(client.release(), ["node 0: DEL x if a1", "node 1: DEL x if a1", "node 2: DEL x if a1"]);
}

#[test]
fn all_at_once_cleans_up_at_the_servers_that_have_not_answered() {
    let mut client = locks(AT_ONCE);
    client.acquire();
    client.answers(0, TAKEN);
    assert_eq!(client.answers(1, TAKEN), ["node 2: DEL x if a1"]);
}

#[test]
fn a_request_that_was_never_sent_is_not_cleaned_up_after() {
    let mut client = locks(AT_ONCE);
    client.acquire();
    client.settles(0, 0, Outcome::Refused);
    // A quorum is out of reach, but the last request may turn out not to have been sent either.
    assert_eq!(client.settles(0, 1, Outcome::Refused), NOTHING);
    assert_eq!(client.answers(2, Reply::Done), ["node 2: DEL x if a1"]);
}

#[test]
fn when_no_request_was_sent_nobody_hears_of_it() {
    let mut client = locks(AT_ONCE);
    client.acquire();
    client.settles(0, 0, Outcome::Refused);
    client.settles(0, 1, Outcome::Refused);
    assert_eq!(client.settles(0, 2, Outcome::Refused), NOTHING);
    assert_eq!(client.wakes(), Some((2, 2)), "it tries again");
}

#[test]
fn a_release_goes_on_when_one_server_is_silent() {
    let mut client = locks(REDLOCK);
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, Reply::Done);
    client.release();
    assert_eq!(client.at(3).wake(), ["node 1: DEL x if a1"]);
    assert_eq!(client.answers(1, Reply::Done), ["Released"]);
}

#[test]
fn releasing_only_where_it_believes_to_hold_forgets_a_lost_reply() {
    let policy = Policy { release_to: ReleaseTo::Believed, unknown: UnknownAcquire::GiveUp, ..AT_ONCE };
    let mut client = locks(policy);
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, TAKEN);
    // Server 2 may have granted the lock, and its entry stays where it is.
    assert_eq!(client.at(3).wake(), ["node 0: DEL x if a1"]);

    let mut client = locks(Policy { release_to: ReleaseTo::All, ..policy });
    client.acquire();
    client.answers(0, Reply::Done);
    client.answers(1, TAKEN);
    assert_eq!(client.at(3).wake(), ["node 0: DEL x if a1", "node 2: DEL x if a1"]);
}

#[test]
fn silent_servers_are_asked_once_more() {
    let mut client = locks(AT_ONCE);
    client.acquire();
    client.at(1).answers(1, Reply::Done);
    assert_eq!(client.at(3).wake(), ["node 0: SET x a1 NX PX", "node 2: SET x a1 NX PX"]);
    assert_eq!(client.at(4).answers(2, OWN), ["Acquired"]);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn servers_that_stay_silent_count_as_no() {
    let mut client = locks(AT_ONCE);
    client.acquire();
    client.answers(1, Reply::Done);
    client.at(3).wake();
    assert_eq!(client.at(6).wake(), ["node 0: DEL x if a1", "node 1: DEL x if a1", "node 2: DEL x if a1"]);
}

#[test]
fn a_quorum_of_silence_can_be_assumed_to_be_one_of_grants() {
    let mut client = locks(Policy { unknown: UnknownAcquire::AssumeHeld, ..AT_ONCE });
    client.acquire();
    assert_eq!(client.at(3).wake(), ["Acquired"]);
}

#[test]
fn half_of_four_servers_is_a_quorum_for_who_says_so() {
    let mut client = locks(Policy { nodes: 4, quorum: 2, ..REDLOCK });
    client.acquire();
    client.answers(0, TAKEN);
    client.answers(1, TAKEN);
    client.answers(2, Reply::Done);
    assert_eq!(client.answers(3, Reply::Done), ["Acquired"]);
}
