//! Why an action that was possible in another world is not possible in this one.

use protocol::Time;
use world::{Action, Direction, Fault, Lane, Process, Running, Site, World};

use super::Telling;
use super::words::Words;
use crate::scenario::Named;

impl Telling<'_> {
    /// Why this action is not possible now, as a sentence without a full stop.
    pub(crate) fn missing(&self, action: Action) -> String {
        if let Some(nobody) = self.nobody(action) {
            return nobody;
        }
        if let Some(fault) = action.fault().filter(|fault| self.world.faults.get(*fault) == 0) {
            return self.no_budget(fault);
        }
        match action {
            Action::Start(client) => format!("{}, so it does not ask for the lock", self.stands(client)),
            Action::Wake(client) => format!("{}, and has nothing due", self.stands(client)),
            Action::Deliver(lane, at)
            | Action::Delay(lane, at)
            | Action::Drop(lane, at)
            | Action::Duplicate(lane, at) => self.no_message(lane, at),
            Action::Tick | Action::Lag(_) => "no time can pass: something is due before".to_owned(),
            Action::Resume(client) => format!("{}, not paused", self.stands(client)),
            Action::Rejoin(client) => format!("{}, not crashed", self.stands(client)),
            Action::Heal(_) => "that link is not cut".to_owned(),
            Action::Replicate(_) => "that replica has nothing to catch up with".to_owned(),
            Action::Pause(client) => format!("{}, and a pause would make no difference", self.stands(client)),
            Action::Crash(client) | Action::Cancel(client) | Action::CancelUnsent(client) => self.stands(client),
            Action::Restart(node) => format!("a restart of {} would make no difference", self.node(node)),
            Action::JumpForward(node) | Action::JumpBack(node) => {
                format!("nothing on {} depends on its clock", self.node(node))
            }
            Action::Gain(process) => {
                format!("the clock of {} makes no difference now", self.words.process_name(process))
            }
            Action::Cut(_) => "no message on that link is due".to_owned(),
            Action::Failover(_) => "that replica is not fit to take over".to_owned(),
            Action::Evict(node, _) | Action::EvictCounter(node, _) => {
                format!("there is nothing to evict on {}", self.node(node))
            }
        }
    }

    fn node(&self, node: u8) -> String {
        self.words.site_name(Site::Node(node))
    }

    fn no_budget(&self, fault: Fault) -> String {
        let name = fault.name();
        match self.model.setup().faults.get(fault) {
            0 => format!("the fault {name} is not allowed"),
            _ => format!("the fault {name} has been used up"),
        }
    }

    /// That there is nobody of this name here.
    fn nobody(&self, action: Action) -> Option<String> {
        let no_client = |client: u8| {
            (usize::from(client) >= self.world.clients.len())
                .then(|| format!("there is no client {}", Words::client(client)))
        };
        let no_node = |node: u8| {
            let is_one = self.world.nodes.len() == 1;
            let told =
                if is_one { "there is only one node".to_owned() } else { format!("there is no {}", self.node(node)) };
            (usize::from(node) >= self.world.nodes.len()).then_some(told)
        };
        let no_site = |site: Site| match site {
            Site::Node(node) => no_node(node),
            Site::Store => None,
        };
        match action {
            Action::Start(client)
            | Action::Wake(client)
            | Action::Resume(client)
            | Action::Rejoin(client)
            | Action::Pause(client)
            | Action::Crash(client)
            | Action::Cancel(client)
            | Action::CancelUnsent(client) => no_client(client),
            Action::Deliver(lane, _) | Action::Delay(lane, _) | Action::Drop(lane, _) | Action::Duplicate(lane, _) => {
                no_client(lane.client).or_else(|| no_site(lane.site))
            }
            Action::Heal(link) | Action::Cut(link) => no_client(link.client).or_else(|| no_site(link.site)),
            Action::Gain(process) | Action::Lag(process) => match process {
                Process::Client(client) => no_client(client),
                Process::Node(node) => no_node(node),
            },
            Action::Restart(node)
            | Action::JumpForward(node)
            | Action::JumpBack(node)
            | Action::Evict(node, _)
            | Action::EvictCounter(node, _) => no_node(node),
            Action::Replicate(replica) | Action::Failover(replica) => (usize::from(replica)
                >= self.world.replicas.len())
            .then(|| format!("there is no replica {}", u32::from(replica) + 1)),
            Action::Tick => None,
        }
    }

    /// Why no message of a lane can move.
    fn no_message(&self, lane: Lane, at: u8) -> String {
        let (client, site) = (format!("client {}", Words::client(lane.client)), self.words.site_name(lane.site));
        let way = match lane.direction {
            Direction::Request => format!("from {client} to {site}"),
            Direction::Reply => format!("from {site} to {client}"),
        };
        let under_way = self.world.messages().filter(|m| m.lane == lane).count();
        if usize::from(at) >= under_way {
            return format!("no {}message is under way {way}", if under_way > 0 { "other " } else { "" });
        }
        format!("the message {way} cannot do that now")
    }

    /// Where a client stands, as a clause.
    fn stands(&self, client: u8) -> String {
        let name = Words::client(client);
        let state = &self.world.clients[usize::from(client)];
        let config = World::config(self.model.setup(), client);
        let waits = match state.worker.wake(&config) {
            Some(window) if state.running == Running::Yes && window.from > Time(0) => {
                format!(", with {} left before it does anything by itself", ticks(window.from.0))
            }
            Some(_) | None => String::new(),
        };
        format!("client {name} is {}{waits}", self.client_state(&self.world, client))
    }
}

fn ticks(number: u32) -> String {
    format!("{number} tick{}", if number == 1 { "" } else { "s" })
}
