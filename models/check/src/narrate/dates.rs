//! Fencing tokens that are times of day. In a world without an absolute time they grow older instead.

use protocol::{Command, Fence, Fencing, Notice, Reply};
use world::{Event, Setup};

/// A fencing token as its client gave it, `ticks` after the beginning.
pub(crate) fn dated(setup: &Setup, fence: Fence, ticks: i64) -> Fence {
    match setup.policy.fencing {
        Fencing::ClientClock if fence != Fence(0) => Fence(fence.0.saturating_add_signed(ticks as i32)),
        Fencing::ClientClock | Fencing::Nothing | Fencing::WithGrant | Fencing::IncrBefore | Fencing::IncrAfter => {
            fence
        }
    }
}

/// An event, with the tokens that it names as their clients gave them.
pub(crate) fn dated_event(setup: &Setup, event: Event, ticks: i64) -> Event {
    let date = |fence: Option<Fence>| fence.map(|fence| dated(setup, fence, ticks));
    let date_command = |command: Command| match command {
        Command::Lock { .. } => command,
        Command::Read { account, fence } => Command::Read { account, fence: date(fence) },
        Command::Check { account, fence } => Command::Check { account, fence: date(fence) },
        Command::Write { account, fence, seen } => Command::Write { account, fence: date(fence), seen },
    };
    let mut event = event;
    match &mut event {
        Event::Sent { command, .. } | Event::Unsent { command, .. } => *command = date_command(*command),
        Event::Served { command, reply, .. } => {
            *command = date_command(*command);
            debug_assert!(!matches!(reply, Reply::Minted(_)) || setup.policy.fencing != Fencing::ClientClock);
        }
        Event::Told { notice: Notice::Acquired { fence }, .. } => *fence = date(*fence),
        Event::Answered { .. }
        | Event::Lost { .. }
        | Event::Delayed { .. }
        | Event::Ignored { .. }
        | Event::Published { .. }
        | Event::Duplicated { .. }
        | Event::Told { .. }
        | Event::Blocked { .. }
        | Event::TurnedDown { .. }
        | Event::Accepted { .. }
        | Event::Granted { .. }
        | Event::Expired { .. }
        | Event::Lapsed { .. }
        | Event::Fault(_) => {}
    }
    event
}
