//! Several locks, one inside the other.

use protocol::{Conflict, LockList, Locks, Order, Outcome, Policy, Reply, Resource, Retry, Standing};

use crate::harness::{BASE, Client, NOTHING, TAKEN};

fn nested(policy: Policy, names: &[u8]) -> Client<Locks> {
    Client::new(policy, names)
}

fn answers(client: &mut Client<Locks>, slot: u8, reply: Reply) -> Vec<String> {
    client.settles(slot, 0, Outcome::Answered(reply))
}

#[test]
fn the_next_lock_is_asked_for_when_the_one_before_is_held() {
    let mut client = nested(BASE, &[0, 1]);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(answers(&mut client, 0, Reply::Done), ["node 0: SET y b1 NX PX"]);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(client.at(2).settles(1, 0, Outcome::Answered(Reply::Done)), ["Acquired"]);
    // All of them are held for as long as the first of them is.
    assert_eq!(client.standing(), Standing::Holding { until: Some(protocol::Time(10)), fence: None });
    assert_eq!(client.release(), ["node 0: DEL x if a1", "node 0: DEL y if b1"]);
    assert_eq!(answers(&mut client, 1, Reply::Done), NOTHING);
    assert_eq!(answers(&mut client, 0, Reply::Done), ["Released"]);
}

#[test]
fn as_given_or_sorted() {
    assert_eq!(nested(BASE, &[1, 0]).acquire(), ["node 0: SET y a1 NX PX"]);
    assert_eq!(nested(Policy { order: Order::Sorted, ..BASE }, &[1, 0]).acquire(), ["node 0: SET x a1 NX PX"]);
}

#[test]
fn a_list_has_from_one_to_three_locks() {
    assert!(LockList::new(&[], Order::AsGiven).is_none());
    assert!(LockList::new(&[Resource(0); 4], Order::AsGiven).is_none());
    let sorted = LockList::new(&[Resource(2), Resource(0), Resource(1)], Order::Sorted).unwrap();
    assert_eq!(sorted.as_slice(), [Resource(0), Resource(1), Resource(2)]);
}

#[test]
fn on_a_conflict_it_keeps_what_it_has_and_waits() {
    let mut client = nested(BASE, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    assert_eq!(answers(&mut client, 1, TAKEN), NOTHING);
    assert_eq!(client.wakes(), Some((2, 2)));
    assert_eq!(client.at(2).wake(), ["node 0: SET y b2 NX PX"]);
}

#[test]
fn or_releases_all_and_begins_anew() {
    let mut client = nested(Policy { conflict: Conflict::ReleaseAll, ..BASE }, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    assert_eq!(answers(&mut client, 1, TAKEN), ["node 0: DEL x if a1"]);
    // The delay counts from when everything is given back.
    assert_eq!(client.at(1).settles(0, 0, Outcome::Answered(Reply::Done)), NOTHING);
    assert_eq!(client.wakes(), Some((3, 3)));
    assert_eq!(client.at(3).wake(), ["node 0: SET x a2 NX PX"]);
}

#[test]
fn an_outer_lock_that_ends_while_an_inner_one_is_sought_makes_it_begin_anew() {
    let mut client = nested(BASE, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    client.at(9);
    answers(&mut client, 1, TAKEN);
    // The next attempt would be at 11, but the outer lock ends at 10.
    assert_eq!(client.wakes(), Some((10, 10)));
    // Nobody was told that it was held, so nobody is told that it is lost.
    assert_eq!(client.at(10).wake(), ["node 0: DEL x if a1"]);
    assert_eq!(client.standing(), Standing::Seeking);
    assert_eq!(answers(&mut client, 0, Reply::Nothing), NOTHING);
    assert_eq!(client.at(12).wake(), ["node 0: SET x a2 NX PX"]);
}

#[test]
fn a_request_under_way_when_an_outer_lock_ends_is_cleaned_up() {
    let mut client = nested(BASE, &[0, 1]);
    client.acquire();
    client.at(2);
    answers(&mut client, 0, Reply::Done);
    client.at(4).settles(1, 0, Outcome::Unknown);
    client.at(7).wake();
    // The attempt for y has failed at 7 and is being cleaned up when x ends.
    assert_eq!(client.awaits(1), [0]);
    assert_eq!(client.at(10).wake(), ["node 0: DEL x if a1"]);
    assert_eq!(client.standing(), Standing::Seeking);
}

#[test]
fn a_grant_at_the_very_end_of_an_outer_lock_is_not_one() {
    let mut client = nested(Policy { timeout: protocol::Ticks(20), ..BASE }, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    let said = client.at(10).settles(1, 0, Outcome::Answered(Reply::Done));
    assert_eq!(said, ["node 0: DEL x if a1", "node 0: DEL y if b1"]);
}

#[test]
fn one_lapse_loses_them_all_and_is_told_once() {
    let mut client = nested(BASE, &[0, 1]);
    client.acquire();
    client.at(2);
    answers(&mut client, 0, Reply::Done);
    client.at(3);
    answers(&mut client, 1, Reply::Done);
    assert_eq!(client.at(10).wake(), ["Lost"]);
    assert!(!client.holds());
    assert_eq!(client.at(12).wake(), NOTHING);
    assert_eq!(client.release(), ["node 0: DEL x if a1", "node 0: DEL y if b1"]);
}

#[test]
fn cancelling_gives_back_what_is_held_and_what_is_sought() {
    let mut client = nested(BASE, &[0, 1, 2]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    assert_eq!(client.release(), ["node 0: DEL x if a1", "node 0: DEL y if b1"]);
    answers(&mut client, 0, Reply::Done);
    assert_eq!(answers(&mut client, 1, Reply::Nothing), ["Released"]);
}

#[test]
fn giving_up_gives_back_what_is_held() {
    let mut client = nested(Policy { retry: Retry::Never, ..BASE }, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    assert_eq!(answers(&mut client, 1, TAKEN), ["node 0: DEL x if a1"]);
    assert_eq!(answers(&mut client, 0, Reply::Done), ["GaveUp"]);
}

#[test]
fn the_same_lock_twice_waits_for_itself() {
    let mut client = nested(Policy { acquire: protocol::Acquire::Setnx, ttl: None, ..BASE }, &[0, 0]);
    client.acquire();
    assert_eq!(answers(&mut client, 0, Reply::Done), ["node 0: SETNX x b1"]);
    assert_eq!(answers(&mut client, 1, TAKEN), NOTHING);
    assert_eq!(client.standing(), Standing::Seeking);
}

#[test]
fn what_breaks_off_an_attempt_counts_as_one() {
    let mut client = nested(Policy { attempts: Some(1), ..BASE }, &[0, 1]);
    client.acquire();
    answers(&mut client, 0, Reply::Done);
    client.at(9).settles(1, 0, Outcome::Unknown);
    client.at(10).wake();
    client.settles(0, 0, Outcome::Answered(Reply::Nothing));
    assert_eq!(client.settles(1, 0, Outcome::Answered(Reply::Nothing)), ["GaveUp"]);
}
