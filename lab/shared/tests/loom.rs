//! Every interleaving of what threads share. Only with `RUSTFLAGS="--cfg loom"`, in release mode.
#![cfg(loom)]

use std::future::poll_fn;
use std::panic::catch_unwind;

use lock_shared::{End, Queue, Tenure, Ticket};
use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;

#[test]
fn whoever_sees_the_grant_sees_its_token() {
    loom::model(|| {
        let tenure = Arc::new(Tenure::new());
        let reader = Arc::clone(&tenure);
        let reads = thread::spawn(move || {
            if reader.until().is_some() {
                assert_eq!(reader.fence(), Some(7));
            }
        });
        tenure.grant(1000, Some(7));
        reads.join().unwrap();
    });
}

/// The same with the deadline published without ordering: what [`Tenure`] must not be. Loom has to find the reader that
/// sees the grant and an old token.
#[test]
fn a_grant_that_is_published_without_ordering_is_caught() {
    let weakened = || {
        loom::model(|| {
            let tenure = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
            let reader = Arc::clone(&tenure);
            let reads = thread::spawn(move || {
                if reader.0.load(Ordering::Relaxed) != 0 {
                    assert_eq!(reader.1.load(Ordering::Relaxed), 7, "a grant without its token");
                }
            });
            tenure.1.store(7, Ordering::Relaxed);
            tenure.0.store(1000, Ordering::Relaxed);
            reads.join().unwrap();
        });
    };
    let caught = catch_unwind(weakened).expect_err("loom accepts a weakened ordering");
    let message = caught.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(message.contains("a grant without its token"), "{message}");
}

#[test]
fn a_tenure_is_ended_by_exactly_one() {
    loom::model(|| {
        let tenure = Arc::new(Tenure::new());
        tenure.grant(1000, None);
        let threads = [End::Dropped, End::Lost].map(|how| {
            let tenure = Arc::clone(&tenure);
            thread::spawn(move || tenure.finish(how))
        });
        let released = tenure.finish(End::Released);
        let firsts = threads.into_iter().map(|thread| thread.join().unwrap()).filter(|first| *first).count();
        assert_eq!(firsts + usize::from(released), 1);
        assert!(!tenure.is_valid(0), "whoever it was, it has ended");
    });
}

#[test]
fn a_renewal_never_shortens_a_tenure() {
    loom::model(|| {
        let tenure = Arc::new(Tenure::new());
        tenure.grant(10, None);
        let other = Arc::clone(&tenure);
        let renews = thread::spawn(move || other.prolong(20));
        tenure.prolong(15);
        renews.join().unwrap();
        assert_eq!(tenure.until(), Some(20));
    });
}

#[test]
fn whoever_waits_for_the_loss_hears_of_it() {
    loom::model(|| {
        let tenure = Arc::new(Tenure::new());
        tenure.grant(1000, None);
        let watchdog = Arc::clone(&tenure);
        let loses = thread::spawn(move || watchdog.finish(End::Lost));
        // A lost wake-up would leave this thread blocked for ever, which loom reports as a deadlock.
        assert_eq!(block_on(poll_fn(|cx| tenure.poll_end(cx))), End::Lost);
        assert!(loses.join().unwrap());
    });
}

#[test]
fn turns_exclude_each_other_and_are_handed_on() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let inside = Arc::new(AtomicUsize::new(0));
        let enter = |queue: &Arc<Queue>, inside: &Arc<AtomicUsize>| {
            let ticket = Ticket::draw(queue);
            block_on(poll_fn(|cx| ticket.poll_turn(cx)));
            assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two have the turn");
            inside.fetch_sub(1, Ordering::Relaxed);
        };
        let (other_queue, other_inside) = (Arc::clone(&queue), Arc::clone(&inside));
        let other = thread::spawn(move || enter(&other_queue, &other_inside));
        enter(&queue, &inside);
        other.join().unwrap();
        assert!(queue.is_empty());
    });
}

#[test]
fn whoever_leaves_the_queue_does_not_take_the_turn_along() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let first = Ticket::draw(&queue);
        let second = Ticket::draw(&queue);
        let third = Ticket::draw(&queue);
        let leaves = thread::spawn(move || drop(second));
        let goes = thread::spawn(move || drop(first));
        block_on(poll_fn(|cx| third.poll_turn(cx)));
        leaves.join().unwrap();
        goes.join().unwrap();
    });
}
