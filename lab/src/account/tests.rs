use protocol::{Fence, Seen, TokenCheck};
use redis::Connection;
use world::Compare;

use super::{Account, Answer, Holdings, Write};
use crate::servers::{Options, Server};
use crate::words::{By, Call};

struct Bank {
    account: Account,
    connection: Connection,
    _server: Server,
}

impl Bank {
    fn with(check: TokenCheck, compare: Compare) -> Self {
        let server = Server::start(&Options::default()).unwrap();
        let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let account = Account { key: b"account".to_vec(), check, compare };
        account.open(100).exec(&mut connection).unwrap();
        Self { account, connection, _server: server }
    }

    fn ask(&mut self, call: &Call) -> Answer {
        let answer = call.command(By::Text).query(&mut self.connection).unwrap();
        self.account.answer(&answer).unwrap()
    }

    fn read(&mut self, fence: Option<u32>) -> Answer {
        self.ask(&self.account.read(fence.map(Fence)))
    }

    fn write(&mut self, fence: Option<u32>, seen: u32, balance: i64, name: &[u8]) -> Answer {
        self.ask(&self.account.write(Write { fence: fence.map(Fence), seen: Seen(seen), balance, name }))
    }
}

fn holds(balance: i64, version: u32) -> Holdings {
    Holdings { balance, version }
}

#[test]
fn two_withdrawals_from_the_same_reading_are_both_accepted_and_one_is_lost() {
    let mut bank = Bank::with(TokenCheck::Nothing, Compare::Greater);
    assert_eq!(bank.read(None), Answer::Holds(holds(100, 0)));
    let (first, second) = (bank.write(None, 0, 20, b"a"), bank.write(None, 0, 20, b"b"));
    assert_eq!(first, Answer::Accepted { now: holds(20, 1), before: holds(100, 0), again: false });
    assert_eq!(second, Answer::Accepted { now: holds(20, 2), before: holds(20, 1), again: false });
    assert_eq!([first.lost_update(Seen(0)), second.lost_update(Seen(0))], [false, true]);
    let again = bank.write(None, 0, 20, b"b");
    assert_eq!(again, Answer::Accepted { now: holds(20, 2), before: holds(20, 2), again: true });
    assert!(!again.lost_update(Seen(0)), "it is the same write");
}

#[test]
fn no_cent_of_a_large_balance_is_lost() {
    let mut bank = Bank::with(TokenCheck::Nothing, Compare::Greater);
    let large = i64::MAX - 1;
    let written = bank.write(None, 0, large, b"a");
    assert_eq!(written, Answer::Accepted { now: holds(large, 1), before: holds(100, 0), again: false });
    assert_eq!(bank.read(None), Answer::Holds(holds(large, 1)));
}

#[test]
fn tokens_are_compared_as_the_account_is_told() {
    for (compare, same) in [(Compare::Greater, false), (Compare::GreaterOrEqual, true)] {
        let mut bank = Bank::with(TokenCheck::OnWrite, compare);
        assert_eq!(bank.read(None), Answer::Holds(holds(100, 0)), "reads are not checked");
        assert!(matches!(bank.write(Some(7), 0, 90, b"a"), Answer::Accepted { .. }));
        assert_eq!(matches!(bank.write(Some(7), 1, 80, b"b"), Answer::Accepted { .. }), same);
        assert_eq!(bank.write(Some(6), 1, 80, b"c"), Answer::Stale);
        assert_eq!(bank.write(None, 1, 80, b"d"), Answer::Stale, "who has none is not admitted");
        assert!(matches!(bank.write(Some(10), 1, 70, b"e"), Answer::Accepted { .. }), "10 is more than 7");
    }
}

#[test]
fn a_checked_read_keeps_earlier_tokens_out() {
    let mut bank = Bank::with(TokenCheck::OnReadAndWrite, Compare::GreaterOrEqual);
    assert_eq!(bank.read(Some(2)), Answer::Holds(holds(100, 0)));
    assert_eq!(bank.read(Some(1)), Answer::Stale);
    assert_eq!(bank.write(Some(1), 0, 90, b"a"), Answer::Stale);
}

#[test]
fn compare_and_swap_refuses_what_has_changed() {
    let mut bank = Bank::with(TokenCheck::CompareAndSwap, Compare::Greater);
    assert!(matches!(bank.write(None, 0, 90, b"a"), Answer::Accepted { .. }));
    assert_eq!(bank.write(None, 0, 90, b"b"), Answer::Stale);
}

#[test]
fn a_check_is_a_request_of_its_own() {
    let mut bank = Bank::with(TokenCheck::CheckThenWrite, Compare::Greater);
    assert_eq!(bank.ask(&bank.account.check(Some(Fence(3)))), Answer::Good);
    assert_eq!(bank.ask(&bank.account.check(Some(Fence(2)))), Answer::Stale);
    assert!(matches!(bank.write(None, 0, 90, b"a"), Answer::Accepted { .. }), "the write itself is not checked");
}
