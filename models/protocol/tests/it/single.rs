//! One server: acquire, hold, release, and what to make of an answer that does not come.

use protocol::{Acquire, Outcome, Policy, Release, Reply, Standing, UnknownAcquire};

use crate::harness::{BASE, NOTHING, OWN, TAKEN, holder, locks};

#[test]
fn acquire_hold_release() {
    let mut client = locks(BASE);
    assert_eq!(client.standing(), Standing::Free);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
    assert!(client.holds());
    assert_eq!(client.at(4).release(), ["node 0: DEL x if a1"]);
    // It stops believing when it sends the release, not when that is answered.
    assert_eq!(client.standing(), Standing::Leaving);
    assert_eq!(client.answers(0, Reply::Done), ["Released"]);
    assert_eq!(client.standing(), Standing::Free);
}

#[test]
fn each_acquisition_has_a_token_of_its_own() {
    let mut client = holder(BASE);
    client.release();
    client.answers(0, Reply::Done);
    assert_eq!(client.acquire(), ["node 0: SET x a2 NX PX"]);
}

#[test]
fn a_refusal_needs_no_clean_up() {
    let mut client = locks(BASE);
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), NOTHING);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(client.wakes(), Some((2, 2)));
    assert_eq!(client.at(2).wake(), ["node 0: SET x a2 NX PX"]);
}

#[test]
fn acquiring_what_one_holds_or_seeks_changes_nothing() {
    let mut client = locks(BASE);
    client.acquire();
    assert_eq!(client.acquire(), NOTHING);
    client.answers(0, Reply::Done);
    assert_eq!(client.acquire(), NOTHING);
    assert!(client.holds());
}

#[test]
fn releasing_twice_or_without_a_lock_changes_nothing() {
    let mut client = locks(BASE);
    assert_eq!(client.release(), NOTHING);
    client.acquire();
    client.answers(0, Reply::Done);
    client.release();
    assert_eq!(client.release(), NOTHING);
    assert_eq!(client.answers(0, Reply::Nothing), ["Released"]);
}

#[test]
fn a_release_that_is_not_answered_is_left_to_the_ttl() {
    let mut client = holder(BASE);
    client.at(1).release();
    assert_eq!(client.wakes(), Some((4, 4)));
    assert_eq!(client.at(4).wake(), ["Released"]);
}

#[test]
fn cancelling_an_attempt_cleans_up_what_it_may_have_left() {
    let mut client = locks(BASE);
    client.acquire();
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
    assert_eq!(client.answers(0, Reply::Nothing), ["Released"]);
}

#[test]
fn cancelling_between_two_attempts_has_nothing_to_clean_up() {
    let mut client = locks(BASE);
    client.acquire();
    client.answers(0, TAKEN);
    assert_eq!(client.release(), ["Released"]);
    assert_eq!(client.wakes(), None);
}

#[test]
fn the_answer_to_a_cancelled_request_changes_nothing() {
    let mut client = locks(BASE);
    client.acquire();
    let op = client.awaited(0, 0).unwrap();
    client.release();
    let before = client.core;
    assert_eq!(client.step(protocol::Input::Settled(op, Outcome::Answered(Reply::Done))), NOTHING);
    assert_eq!(client.core, before);
}

#[test]
fn the_answer_to_an_earlier_attempt_changes_nothing() {
    let mut client = locks(BASE);
    client.acquire();
    let op = client.awaited(0, 0).unwrap();
    client.answers(0, TAKEN);
    client.at(2).wake();
    let before = client.core;
    assert_eq!(client.step(protocol::Input::Settled(op, Outcome::Answered(Reply::Done))), NOTHING);
    assert_eq!(client.core, before);
}

#[test]
fn get_then_del_deletes_only_what_it_found_to_be_its_own() {
    let policy = Policy { release: Release::GetThenDel, ..BASE };
    let mut client = holder(policy);
    assert_eq!(client.release(), ["node 0: GET x"]);
    assert_eq!(client.answers(0, Reply::Entry { own: true, left: None }), ["node 0: DEL x"]);
    assert_eq!(client.answers(0, Reply::Done), ["Released"]);

    let mut client = holder(policy);
    client.release();
    assert_eq!(client.answers(0, Reply::Entry { own: false, left: None }), ["Released"]);

    let mut client = holder(policy);
    client.release();
    assert_eq!(client.answers(0, Reply::Nothing), ["Released"]);
}

#[test]
fn an_answer_to_get_is_not_one_to_del() {
    let mut client = holder(Policy { release: Release::GetThenDel, ..BASE });
    client.release();
    let get = client.awaited(0, 0).unwrap();
    client.answers(0, Reply::Entry { own: true, left: None });
    assert_eq!(client.step(protocol::Input::Settled(get, Outcome::Answered(Reply::Nothing))), NOTHING);
    assert_eq!(client.awaits(0), [0]);
}

#[test]
fn del_asks_nobody_whose_entry_it_is() {
    let mut client = holder(Policy { release: Release::Del, ..BASE });
    assert_eq!(client.release(), ["node 0: DEL x"]);
}

#[test]
fn without_a_release_the_ttl_frees_the_lock() {
    let mut client = holder(Policy { release: Release::Nothing, ..BASE });
    assert_eq!(client.release(), ["Released"]);
}

#[test]
fn setnx_alone_has_no_end() {
    let mut client = locks(Policy { acquire: Acquire::Setnx, ttl: None, ..BASE });
    assert_eq!(client.acquire(), ["node 0: SETNX x a1"]);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
    assert_eq!(client.wakes(), None);
    assert!(client.at(1000).holds());
}

#[test]
fn setnx_then_expire_is_two_commands() {
    let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, ..BASE });
    assert_eq!(client.acquire(), ["node 0: SETNX x a1"]);
    assert_eq!(client.at(1).answers(0, Reply::Done), ["node 0: PEXPIRE x"]);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(client.at(2).answers(0, Reply::Done), ["Acquired"]);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn an_unanswered_expire_leaves_an_entry_that_stands() {
    let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.at(3).wake(), ["Acquired"]);
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
}

#[test]
fn an_expire_that_found_nothing_means_that_the_lock_was_not_granted() {
    let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.answers(0, Reply::Nothing), ["node 0: DEL x if a1"]);
}

#[test]
fn no_lock_at_all_is_granted_and_given_back_at_once() {
    let mut client = locks(Policy { acquire: Acquire::Unlocked, ttl: None, ..BASE });
    assert_eq!(client.acquire(), ["Acquired"]);
    assert_eq!(client.release(), ["Released"]);
}

mod unknown_result {
    //! The request may or may not have been carried out, and may still be.

    use super::*;

    fn asks_again(unknown: UnknownAcquire) -> crate::harness::Client<protocol::Locks> {
        let mut client = locks(Policy { unknown, ..BASE });
        client.acquire();
        assert_eq!(client.at(3).wake(), ["node 0: SET x a1 NX PX"]);
        client
    }

    #[test]
    fn the_own_value_there_is_a_grant() {
        let mut client = asks_again(UnknownAcquire::OwnValueHeld);
        assert_eq!(client.at(4).answers(0, OWN), ["Acquired"]);
        // The entry may be as old as the first request.
        assert_eq!(client.until(0), Some(10));
    }

    #[test]
    fn another_value_there_is_a_refusal_but_the_first_request_may_still_arrive() {
        let mut client = asks_again(UnknownAcquire::OwnValueHeld);
        assert_eq!(client.answers(0, TAKEN), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn who_does_not_look_takes_the_own_entry_for_a_refusal_but_cleans_it_up() {
        let mut client = asks_again(UnknownAcquire::RetrySameToken);
        assert_eq!(client.answers(0, OWN), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn a_new_token_does_not_know_the_old_entry_again() {
        let mut client = locks(Policy { unknown: UnknownAcquire::RetryNewToken, ..BASE });
        client.acquire();
        assert_eq!(client.at(3).wake(), ["node 0: SET x a2 NX PX"]);
        // It was its own, and the clean-up does not fit it.
        assert_eq!(client.answers(0, TAKEN), ["node 0: DEL x if a2"]);
    }

    #[test]
    fn giving_up_cleans_up() {
        let mut client = locks(Policy { unknown: UnknownAcquire::GiveUp, ..BASE });
        client.acquire();
        assert_eq!(client.at(3).wake(), ["node 0: DEL x if a1"]);
        assert_eq!(client.answers(0, Reply::Done), NOTHING);
        assert_eq!(client.wakes(), Some((5, 5)));
    }

    #[test]
    fn hope_is_not_a_grant_but_can_be_told_as_one() {
        let mut client = locks(Policy { unknown: UnknownAcquire::AssumeHeld, ..BASE });
        client.acquire();
        assert_eq!(client.at(3).wake(), ["Acquired"]);
    }

    #[test]
    fn the_second_silence_is_taken_for_no_and_cleaned_up() {
        let mut client = asks_again(UnknownAcquire::OwnValueHeld);
        assert_eq!(client.at(6).wake(), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn the_answer_to_the_first_request_is_not_one_to_the_second() {
        let mut client = locks(BASE);
        client.acquire();
        let first = client.awaited(0, 0).unwrap();
        client.at(3).wake();
        assert_eq!(client.step(protocol::Input::Settled(first, Outcome::Answered(Reply::Done))), NOTHING);
        assert_eq!(client.awaits(0), [0]);
    }

    #[test]
    fn a_driver_that_knows_earlier_need_not_wait_for_the_time_out() {
        let mut client = locks(BASE);
        client.acquire();
        assert_eq!(client.settles(0, 0, Outcome::Unknown), ["node 0: SET x a1 NX PX"]);
    }

    #[test]
    fn a_request_that_was_never_sent_leaves_nothing_to_clean_up() {
        let mut client = locks(BASE);
        client.acquire();
        assert_eq!(client.settles(0, 0, Outcome::Refused), NOTHING);
        assert_eq!(client.wakes(), Some((2, 2)));
    }

    #[test]
    fn but_the_one_before_it_may_have_been() {
        let mut client = asks_again(UnknownAcquire::OwnValueHeld);
        assert_eq!(client.settles(0, 0, Outcome::Refused), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn an_expire_that_was_never_sent_leaves_an_entry_without_an_end() {
        let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, ..BASE });
        client.acquire();
        client.answers(0, Reply::Done);
        assert_eq!(client.settles(0, 0, Outcome::Refused), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn an_own_entry_that_setnx_found_still_needs_its_expire() {
        let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, ..BASE });
        client.acquire();
        assert_eq!(client.at(3).wake(), ["node 0: SETNX x a1"]);
        assert_eq!(client.answers(0, OWN), ["node 0: PEXPIRE x"]);
    }
}

#[test]
fn a_grant_counts_when_replicas_have_acknowledged_it() {
    let mut client = locks(Policy { acknowledged: 1, ..BASE });
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.at(1).answers(0, Reply::Done), ["node 0: WAIT"]);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(client.at(2).answers(0, Reply::Done), ["Acquired"]);
    assert_eq!(client.until(0), Some(10));
}

#[test]
fn a_grant_that_nobody_acknowledges_is_cleaned_up() {
    let mut client = locks(Policy { acknowledged: 1, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    let (timeout, _) = client.wakes().unwrap();
    assert_eq!(client.at(timeout).wake(), ["node 0: DEL x if a1"]);
}

#[test]
fn an_entry_has_its_ttl_before_replicas_are_asked_for_it() {
    let mut client = locks(Policy { acquire: Acquire::SetnxThenExpire, acknowledged: 1, ..BASE });
    client.acquire();
    assert_eq!(client.answers(0, Reply::Done), ["node 0: PEXPIRE x"]);
    assert_eq!(client.answers(0, Reply::Done), ["node 0: WAIT"]);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
}
