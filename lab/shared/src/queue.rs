//! Those who want the same lock in the same process.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::sync::{Arc, Mutex, lock};

/// A queue: the first has the turn, until it leaves.
#[derive(Debug, Default)]
pub struct Queue(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    next: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
}

/// A place in a queue. Dropping it leaves the queue, and gives the turn to the next.
#[derive(Debug)]
pub struct Ticket {
    queue: Arc<Queue>,
    number: u64,
}

impl Queue {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).waiting.is_empty()
    }
}

impl Ticket {
    /// Takes the last place.
    pub fn draw(queue: &Arc<Queue>) -> Self {
        let mut line = lock(&queue.0);
        let number = line.next;
        line.next += 1;
        line.waiting.push_back((number, None));
        drop(line);
        Self { queue: Arc::clone(queue), number }
    }

    /// Ready when it is this one's turn.
    pub fn poll_turn(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut line = lock(&self.queue.0);
        let place = line.waiting.iter().position(|(number, _)| *number == self.number);
        match place {
            Some(0) | None => Poll::Ready(()),
            Some(place) => {
                line.waiting[place].1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether it is this one's turn.
    pub fn is_first(&self) -> bool {
        lock(&self.queue.0).waiting.front().is_some_and(|(number, _)| *number == self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut line = lock(&self.queue.0);
        line.waiting.retain(|(number, _)| *number != self.number);
        let next = line.waiting.front_mut().and_then(|(_, waker)| waker.take());
        drop(line);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::{Queue, Ticket};
    use crate::sync::Arc;

    #[test]
    fn turns_are_taken_in_the_order_of_arrival_and_nobody_who_left_is_waited_for() {
        let queue = Arc::new(Queue::new());
        let [first, second, third] = [(); 3].map(|()| Ticket::draw(&queue));
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(first.poll_turn(cx), Poll::Ready(()));
        assert_eq!(third.poll_turn(cx), Poll::Pending);
        drop(second);
        assert_eq!(third.poll_turn(cx), Poll::Pending, "the first is still there");
        drop(first);
        assert_eq!(third.poll_turn(cx), Poll::Ready(()));
        drop(third);
        assert!(queue.is_empty());
    }
}
