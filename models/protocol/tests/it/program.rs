//! The program under the lock: read, compute, write, and what an unsettled write means for the lock.

use protocol::{
    Acquire, Holder, Input, Outcome, Policy, Program, Reply, Seen, Standing, Ticks, UnsettledWrite, Worker,
};

use crate::harness::{BASE, Client, NOTHING, TAKEN, worker};

const READ: Outcome = Outcome::Answered(Reply::Account(Seen(0)));
const WRITTEN: Outcome = Outcome::Answered(Reply::Account(Seen(0)));

/// A client that has been granted the lock at 0 and sends its write at 1.
fn writer(policy: Policy) -> Client<Worker> {
    let mut client = worker(policy);
    client.acquire();
    client.answers(0, Reply::Done);
    client.store(READ);
    assert_eq!(client.at(1).wake()[0], "store: WRITE x after 0");
    client
}

#[test]
fn read_compute_write_release() {
    let mut client = worker(BASE);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.answers(0, Reply::Done), ["Acquired", "store: READ x"]);
    assert_eq!(client.core.doing(), "reading");
    assert_eq!(client.store(Outcome::Answered(Reply::Account(Seen(40)))), NOTHING);
    assert_eq!(client.core.doing(), "working");
    assert_eq!(client.at(1).wake(), ["store: WRITE x after 40"]);
    assert_eq!(client.core.doing(), "writing");
    assert_eq!(client.store(WRITTEN), ["node 0: DEL x if a1"]);
    assert_eq!(client.core.updates_left(), 1);
    assert!(!client.core.can_start());
    assert_eq!(client.answers(0, Reply::Done), ["Released"]);
    assert!(client.core.can_start());
}

#[test]
fn when_all_updates_are_made_there_is_nothing_to_start() {
    let mut client = writer(Policy { program: Program { updates: 1, ..BASE.program }, ..BASE });
    client.store(WRITTEN);
    client.answers(0, Reply::Done);
    assert!(client.core.is_finished());
    assert_eq!(client.acquire(), NOTHING);
}

#[test]
fn work_that_takes_no_time_is_done_at_once() {
    let mut client = worker(Policy { program: Program { work: Ticks(0), ..BASE.program }, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.store(READ), ["store: WRITE x after 0"]);
}

#[test]
fn two_writes_of_one_update_go_under_one_acquisition() {
    let mut client = writer(Policy { program: Program { writes: 2, ..BASE.program }, ..BASE });
    assert_eq!(client.store(Outcome::Answered(Reply::Account(Seen(5)))), NOTHING);
    assert_eq!(client.core.writes_done(), 1);
    assert_eq!(client.core.updates_left(), 2);
    assert_eq!(client.at(2).wake(), ["store: WRITE x after 5"]);
    assert_eq!(client.store(WRITTEN), ["node 0: DEL x if a1"]);
    assert_eq!(client.core.updates_left(), 1);
}

#[test]
fn under_several_locks_the_account_is_that_of_the_least() {
    let mut client = Client::<Worker>::new(BASE, &[2, 1]);
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.settles(1, 0, Outcome::Answered(Reply::Done)), ["Acquired", "store: READ y"]);
}

#[test]
fn a_client_that_gives_up_makes_that_update_no_more() {
    let mut client = worker(Policy { attempts: Some(1), ..BASE });
    client.acquire();
    assert_eq!(client.answers(0, TAKEN), ["GaveUp"]);
    assert_eq!(client.core.updates_left(), 1);
}

#[test]
fn a_clocked_holder_does_not_begin_a_write_after_its_deadline() {
    let mut client = worker(Policy { program: Program { work: Ticks(10), ..BASE.program }, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    client.store(READ);
    assert_eq!(client.at(10).wake(), ["Lost", "node 0: DEL x if a1"]);
    assert_eq!(client.core.doing(), "nothing");
    assert_eq!(client.core.updates_left(), 2);
}

#[test]
fn a_naive_holder_does() {
    let slow = Program { work: Ticks(10), ..BASE.program };
    let mut client = worker(Policy { holder: Holder::Naive, program: slow, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    client.store(READ);
    assert_eq!(client.at(10).wake(), ["store: WRITE x after 0"]);
}

#[test]
fn a_read_that_comes_back_after_the_deadline_is_not_worked_on() {
    let mut client = worker(Policy { timeout: Ticks(20), ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.at(10).store(READ), ["Lost", "node 0: DEL x if a1"]);
}

#[test]
fn a_read_without_an_answer_ends_the_program() {
    let mut client = worker(BASE);
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.wakes(), Some((3, 3)));
    assert_eq!(client.at(3).wake(), ["node 0: DEL x if a1"]);
}

#[test]
fn the_answer_to_an_earlier_read_changes_nothing() {
    let mut client = worker(BASE);
    client.acquire();
    client.answers(0, Reply::Done);
    let first = client.core.awaited(protocol::Place::Store).unwrap();
    client.at(3).wake();
    client.answers(0, Reply::Done);
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.step(Input::Settled(first, READ)), NOTHING);
    assert_eq!(client.core.doing(), "reading");
}

#[test]
fn cancelling_ends_the_program_too() {
    let mut client = worker(BASE);
    client.acquire();
    client.answers(0, Reply::Done);
    client.store(READ);
    assert_eq!(client.release(), ["node 0: DEL x if a1"]);
    client.answers(0, Reply::Done);
    assert_eq!(client.at(1).wake(), NOTHING);
    assert_eq!(client.core.doing(), "nothing");
    assert_eq!(client.core.updates_left(), 2);
}

#[test]
fn a_crash_forgets_everything_but_the_updates_to_be_made() {
    let mut client = writer(BASE);
    client.core.crash();
    assert_eq!(client.standing(), Standing::Free);
    assert_eq!(client.wakes(), None);
    assert_eq!(client.acquire(), ["node 0: SET x a2 NX PX"]);
}

mod unsettled_write {
    //! An unlock that overtakes the own write loses an update without any fault.

    use super::*;

    /// Its lease ends at 3, while a write that it sent at 1 may be under way until 4.
    const SHORT: Policy = Policy { ttl: Some(Ticks(3)), ..BASE };

    const AT_ONCE: Policy = Policy { unsettled_write: UnsettledWrite::AtOnce, ..BASE };

    #[test]
    fn the_lock_is_not_released_before_the_write_is_settled() {
        let mut client = writer(SHORT);
        assert_eq!(client.wakes(), Some((3, 3)));
        // It stops believing, and that is all.
        assert_eq!(client.at(3).wake(), ["Lost"]);
        assert_eq!(client.standing(), Standing::Leaving);
        assert_eq!(client.store(WRITTEN), ["node 0: DEL x if a1"]);
        assert_eq!(client.core.updates_left(), 1);
    }

    #[test]
    fn without_an_answer_the_lock_is_left_to_its_ttl() {
        let mut client = writer(BASE);
        assert_eq!(client.at(4).wake(), NOTHING);
        assert!(!client.holds());
        assert_eq!(client.standing(), Standing::Leaving);
        // Nobody can tell when the last renewal took effect, but a TTL from now on it is over.
        assert_eq!(client.wakes(), Some((14, 14)));
        assert_eq!(client.at(13).wake(), NOTHING);
        assert_eq!(client.at(14).wake(), ["Released"]);
        assert!(client.core.can_start());
        assert_eq!(client.core.updates_left(), 2);
    }

    #[test]
    fn lost_and_then_unsettled_for_good() {
        let mut client = writer(SHORT);
        client.at(3).wake();
        assert_eq!(client.at(4).wake(), NOTHING);
        assert_eq!(client.wakes(), Some((7, 7)));
        assert_eq!(client.at(7).wake(), ["Released"]);
    }

    #[test]
    fn a_write_that_was_certainly_not_carried_out_is_settled() {
        let mut client = writer(BASE);
        assert_eq!(client.store(Outcome::Refused), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn cancelling_does_not_overtake_the_own_write() {
        let mut client = writer(BASE);
        assert_eq!(client.release(), NOTHING);
        assert_eq!(client.store(WRITTEN), ["node 0: DEL x if a1"]);
    }

    #[test]
    fn a_lock_without_an_end_is_told_to_be_left_behind() {
        let mut client = writer(Policy { acquire: Acquire::Setnx, ttl: None, ..BASE });
        assert_eq!(client.at(4).wake(), ["Released"]);
    }

    #[test]
    fn at_once_means_right_behind_the_write() {
        let mut client = worker(AT_ONCE);
        client.acquire();
        client.answers(0, Reply::Done);
        client.store(READ);
        assert_eq!(client.at(1).wake(), ["store: WRITE x after 0", "node 0: DEL x if a1"]);
        // The update counts when the resource says so.
        assert_eq!(client.answers(0, Reply::Done), ["Released"]);
        assert!(!client.core.can_start());
        assert_eq!(client.store(WRITTEN), NOTHING);
        assert_eq!(client.core.updates_left(), 1);
    }

    #[test]
    fn at_once_does_not_release_before_the_last_write() {
        let twice = Program { writes: 2, ..BASE.program };
        let mut client = worker(Policy { program: twice, ..AT_ONCE });
        client.acquire();
        client.answers(0, Reply::Done);
        client.store(READ);
        assert_eq!(client.at(1).wake(), ["store: WRITE x after 0"]);
        client.store(WRITTEN);
        assert_eq!(client.at(2).wake(), ["store: WRITE x after 0", "node 0: DEL x if a1"]);
    }
}
