//! Fencing tokens: where they come from, and where the program shows them.

use protocol::{Fence, Fencing, Outcome, Policy, Program, Reply, Seen, TokenCheck};

use crate::harness::{BASE, NOTHING, TAKEN, locks, worker};

const WITH_GRANT: Policy = Policy { fencing: Fencing::WithGrant, ..BASE };

#[test]
fn minted_by_the_script_that_grants_the_lock() {
    let mut client = locks(WITH_GRANT);
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX and mint"]);
    assert_eq!(client.answers(0, Reply::Minted(Fence(7))), ["Acquired with token 7"]);
}

#[test]
fn the_own_value_returns_its_token_again() {
    let mut client = locks(WITH_GRANT);
    client.acquire();
    assert_eq!(client.at(3).wake(), ["node 0: SET x a1 NX PX and mint"]);
    let own = Reply::Taken { own: true, fence: Some(Fence(7)) };
    assert_eq!(client.answers(0, own), ["Acquired with token 7"]);
}

#[test]
fn incr_before_asking() {
    let mut client = locks(Policy { fencing: Fencing::IncrBefore, ..BASE });
    assert_eq!(client.acquire(), ["node 0: INCR x:fence"]);
    assert_eq!(client.at(1).answers(0, Reply::Minted(Fence(7))), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.at(2).answers(0, Reply::Done), ["Acquired with token 7"]);
    // The validity counts from the request for the lock.
    assert_eq!(client.until(0), Some(11));
}

#[test]
fn each_attempt_mints_anew() {
    let mut client = locks(Policy { fencing: Fencing::IncrBefore, ..BASE });
    client.acquire();
    client.answers(0, Reply::Minted(Fence(7)));
    client.answers(0, TAKEN);
    assert_eq!(client.at(2).wake(), ["node 0: INCR x:fence"]);
}

#[test]
fn without_a_token_the_attempt_ends_and_has_nothing_to_clean_up() {
    let mut client = locks(Policy { fencing: Fencing::IncrBefore, ..BASE });
    client.acquire();
    assert_eq!(client.at(3).wake(), NOTHING);
    assert_eq!(client.wakes(), Some((5, 5)));
}

#[test]
fn cancelled_while_minting() {
    let mut client = locks(Policy { fencing: Fencing::IncrBefore, ..BASE });
    client.acquire();
    assert_eq!(client.release(), ["Released"]);
}

#[test]
fn incr_after_the_grant() {
    let mut client = locks(Policy { fencing: Fencing::IncrAfter, ..BASE });
    assert_eq!(client.acquire(), ["node 0: SET x a1 NX PX"]);
    assert_eq!(client.answers(0, Reply::Done), ["node 0: INCR x:fence"]);
    // Without a token it does not hold the lock yet.
    assert!(!client.holds());
    assert_eq!(client.answers(0, Reply::Minted(Fence(7))), ["Acquired with token 7"]);
}

#[test]
fn a_grant_without_a_token_is_given_back() {
    let mut client = locks(Policy { fencing: Fencing::IncrAfter, ..BASE });
    client.acquire();
    client.answers(0, Reply::Done);
    assert_eq!(client.at(3).wake(), ["node 0: DEL x if a1"]);
}

/// What a client says to the resource, from the grant with token 7 to the end of its update.
fn shows(check: TokenCheck) -> Vec<String> {
    let mut client = worker(Policy { program: Program { check, ..BASE.program }, ..WITH_GRANT });
    client.acquire();
    let mut said = client.answers(0, Reply::Minted(Fence(7)));
    said.extend(client.store(Outcome::Answered(Reply::Account(Seen(0)))));
    said.extend(client.at(1).wake());
    if check == TokenCheck::CheckThenWrite {
        said.extend(client.store(Outcome::Answered(Reply::Done)));
    }
    said
}

#[test]
fn the_program_shows_its_token_where_the_resource_looks() {
    let acquired = "Acquired with token 7";
    assert_eq!(shows(TokenCheck::Nothing), [acquired, "store: READ x", "store: WRITE x after 0"]);
    assert_eq!(shows(TokenCheck::OnWrite), [acquired, "store: READ x", "store: WRITE x after 0 with token 7"]);
    assert_eq!(
        shows(TokenCheck::OnReadAndWrite),
        [acquired, "store: READ x with token 7", "store: WRITE x after 0 with token 7"]
    );
    assert_eq!(
        shows(TokenCheck::CheckThenWrite),
        [acquired, "store: READ x", "store: CHECK x with token 7", "store: WRITE x after 0"]
    );
}

#[test]
fn a_token_that_is_refused_ends_the_program_and_the_update_is_still_to_be_made() {
    let mut client = worker(Policy { program: Program { check: TokenCheck::OnWrite, ..BASE.program }, ..WITH_GRANT });
    client.acquire();
    client.answers(0, Reply::Minted(Fence(7)));
    client.store(Outcome::Answered(Reply::Account(Seen(0))));
    client.at(1).wake();
    assert_eq!(client.store(Outcome::Answered(Reply::Stale)), ["node 0: DEL x if a1"]);
    assert_eq!(client.core.updates_left(), 2);
}
