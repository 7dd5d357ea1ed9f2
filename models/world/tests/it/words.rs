//! The world in short words.

use protocol::{Command, Fence, Notice, Reply, Resource, Slot, Standing, Time, Token, TokenCheck, Verb};
use world::{
    Acquisition, Action, Body, CURRENT, Direction, Event, Fault, Lane, Link, Memory, Message, Network, Process,
    Running, Setup, Site, WRITTEN, World,
};

pub(crate) fn client(index: u8) -> char {
    char::from(b'A' + index)
}

fn name(resource: Resource) -> char {
    char::from(b'x' + resource.0)
}

fn site(site: Site) -> String {
    match site {
        Site::Node(node) => format!("node{}", node + 1),
        Site::Store => "account".to_owned(),
    }
}

/// An acquisition by its number, and the letter of its slot if that is not the first: A.1, A.y1.
fn owner(by: u8, slot: Slot, token: Token) -> String {
    let inner = if slot == Slot(0) { String::new() } else { format!("{}:", slot.0 + 1) };
    format!("{}.{inner}{}", client(by), token.0)
}

fn acquisition(by: Acquisition) -> String {
    owner(by.client, by.slot, by.token)
}

fn with(fence: Option<Fence>) -> String {
    fence.map(|f| format!(" with token {}", f.0)).unwrap_or_default()
}

pub(crate) fn command(by: u8, slot: Slot, command: &Command) -> String {
    match *command {
        Command::Lock { resource, verb, token, mint } => {
            let (key, own) = (name(resource), owner(by, slot, token));
            let said = match verb {
                Verb::SetNxPx => format!("SET {key} {own} NX PX"),
                Verb::Setnx => format!("SETNX {key} {own}"),
                Verb::SetXxPx => format!("SET {key} {own} XX PX"),
                Verb::SetPx => format!("SET {key} {own} PX"),
                Verb::Pexpire | Verb::Limit => format!("PEXPIRE {key}"),
                Verb::CompareAndExtend => format!("PEXPIRE {key} if {own}"),
                Verb::Get => format!("GET {key}"),
                Verb::Del => format!("DEL {key}"),
                Verb::CompareAndDelete => format!("DEL {key} if {own}"),
                Verb::Incr => format!("INCR {key}:fence"),
                Verb::Look => format!("look: GET {key}"),
                Verb::Claim => format!("SET {key} {own} PX"),
                Verb::Clear => format!("clear: DEL {key}"),
                Verb::GetSet => format!("GETSET {key} {own}"),
                Verb::ExtendOrCreate => format!("PEXPIRE {key} if {own}, SET if gone"),
                Verb::Enter => format!("enter {key} as {own}"),
                Verb::Exit => format!("exit {key} if {own}"),
                Verb::Subscribe => format!("SUBSCRIBE {key}"),
                Verb::Wait => "WAIT".to_owned(),
            };
            if mint { format!("{said} and mint") } else { said }
        }
        Command::Read { fence, .. } => format!("READ{}", with(fence)),
        Command::Check { fence, .. } => format!("CHECK{}", with(fence)),
        Command::Write { fence, seen, .. } => {
            let stale = match seen {
                CURRENT => "",
                WRITTEN => " of what is there",
                _ => " after an outdated read",
            };
            format!("WRITE{}{stale}", with(fence))
        }
    }
}

pub(crate) fn reply(reply: Reply) -> String {
    match reply {
        Reply::Done => "OK".to_owned(),
        Reply::Minted(fence) => format!("OK, token {}", fence.0),
        Reply::Taken { own: false, .. } => "taken".to_owned(),
        Reply::Taken { own: true, fence } => format!("own value there{}", with(fence)),
        Reply::Nothing => "nothing there".to_owned(),
        Reply::Entry { own, left } => {
            let whose = if own { "own value" } else { "another value" };
            left.map_or_else(|| whose.to_owned(), |left| format!("{whose}, {} left", left.0))
        }
        Reply::Account(seen) if seen == CURRENT => "balance".to_owned(),
        Reply::Account(_) => "outdated balance".to_owned(),
        Reply::Stale => "stale token".to_owned(),
        Reply::Freed => "freed".to_owned(),
    }
}

pub(crate) fn message(message: &Message) -> String {
    match &message.body {
        Body::Request { command: said, .. } => command(message.lane.client, message.slot, said),
        Body::Reply(said) => reply(*said),
    }
}

fn lane(lane: Lane) -> String {
    let way = match lane.direction {
        Direction::Request => "request",
        Direction::Reply => "reply",
    };
    format!("{} {} {way}", client(lane.client), site(lane.site))
}

fn link(link: Link) -> String {
    format!("{} {}", client(link.client), site(link.site))
}

fn process(process: Process) -> String {
    match process {
        Process::Client(index) => client(index).to_string(),
        Process::Node(node) => site(Site::Node(node)),
    }
}

/// An action, without what a message says.
pub(crate) fn action(action: Action) -> String {
    let moved = |verb: &str, on: Lane, at: u8| {
        let at = if at == 0 { String::new() } else { format!(" +{at}") };
        format!("{verb} {}{at}", lane(on))
    };
    match action {
        Action::Start(index) => format!("start {}", client(index)),
        Action::Wake(index) => format!("wake {}", client(index)),
        Action::Deliver(on, at) => moved("deliver", on, at),
        Action::Tick => "tick".to_owned(),
        Action::Resume(index) => format!("resume {}", client(index)),
        Action::Rejoin(index) => format!("rejoin {}", client(index)),
        Action::Heal(on) => format!("heal {}", link(on)),
        Action::Replicate(replica) => format!("replicate {}", replica + 1),
        Action::Pause(index) => format!("pause {}", client(index)),
        Action::Delay(on, at) => moved("delay", on, at),
        Action::Drop(on, at) => moved("drop", on, at),
        Action::Duplicate(on, at) => moved("duplicate", on, at),
        Action::Crash(index) => format!("crash {}", client(index)),
        Action::Restart(node) => format!("restart {}", site(Site::Node(node))),
        Action::JumpForward(node) => format!("jump {} forward", site(Site::Node(node))),
        Action::JumpBack(node) => format!("jump {} back", site(Site::Node(node))),
        Action::Gain(whose) => format!("gain {}", process(whose)),
        Action::Lag(whose) => format!("lag {}", process(whose)),
        Action::Cut(on) => format!("cut {}", link(on)),
        Action::Failover(replica) => format!("failover {}", replica + 1),
        Action::Evict(node, key) => format!("evict {} {}", site(Site::Node(node)), name(key)),
        Action::EvictCounter(node, key) => format!("evict {} {}:fence", site(Site::Node(node)), name(key)),
        Action::Cancel(index) => format!("cancel {}", client(index)),
        Action::CancelUnsent(index) => format!("cancel {} unsent", client(index)),
    }
}

/// What a message that an action moves says.
pub(crate) fn moved(world: &World, what: Action) -> Option<String> {
    let (on, at) = match what {
        Action::Deliver(on, at) | Action::Delay(on, at) | Action::Drop(on, at) | Action::Duplicate(on, at) => (on, at),
        Action::Start(_)
        | Action::Wake(_)
        | Action::Tick
        | Action::Resume(_)
        | Action::Rejoin(_)
        | Action::Heal(_)
        | Action::Replicate(_)
        | Action::Pause(_)
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::JumpForward(_)
        | Action::JumpBack(_)
        | Action::Gain(_)
        | Action::Lag(_)
        | Action::Cut(_)
        | Action::Failover(_)
        | Action::Evict(..)
        | Action::EvictCounter(..) => return None,
        Action::Cancel(_) | Action::CancelUnsent(_) => return None,
    };
    world.messages().filter(|m| m.lane == on).nth(at.into()).map(message)
}

/// An event; `named` tells what a message says by its name.
pub(crate) fn event(event: Event, named: impl Fn(u32) -> String) -> String {
    match event {
        Event::Sent { client: by, site: to, slot, command: said, .. } => {
            format!("{} -> {}: {}", client(by), site(to), command(by, slot, &said))
        }
        Event::Unsent { client: by, site: to, .. } => {
            format!("{} cannot send to {}: an earlier request is still on its way out", client(by), site(to))
        }
        Event::Served { client: by, site: at, slot, command: said, reply: answer, answer: awaited, .. } => {
            let unheard = if awaited.is_some() { "" } else { ", and nobody waits for the answer" };
            format!("{} serves {}: {} = {}{unheard}", site(at), client(by), command(by, slot, &said), reply(answer))
        }
        Event::Answered { client: by, site: from, reply: said, .. } => {
            format!("{} <- {}: {}", client(by), site(from), reply(said))
        }
        Event::Lost { tag } => format!("lost: {}", named(tag)),
        Event::Delayed { tag } => format!("delayed: {}", named(tag)),
        Event::Published { node, client: to, .. } => {
            format!("{} notifies {}", site(Site::Node(node)), client(to))
        }
        Event::Duplicated { tag, .. } => format!("sent again: {}", named(tag)),
        Event::Ignored { tag } => format!("of no interest any more: {}", named(tag)),
        Event::Told { client: by, notice } => {
            let told = match notice {
                Notice::Acquired { fence } => format!("acquired{}", with(fence)),
                Notice::Lost => "lost".to_owned(),
                Notice::Released => "released".to_owned(),
                Notice::GaveUp => "gave up".to_owned(),
            };
            format!("{} is told: {told}", client(by))
        }
        Event::Blocked { client: asked, by } => format!("{} stands in the way of {}", acquisition(by), client(asked)),
        Event::TurnedDown { client: by } => format!("{} turns down a grant that comes too late", client(by)),
        Event::Accepted { client: by, again } => {
            format!("the {}write of {} is accepted", if again { "next " } else { "" }, client(by))
        }
        Event::Granted { to, resource } => format!("{} is granted {}", acquisition(to), name(resource)),
        Event::Expired { node, resource, by } => {
            format!("{}: {} of {} expires", site(Site::Node(node)), name(resource), acquisition(by))
        }
        Event::Lapsed { client: by } => format!("{}'s deadline passes", client(by)),
        Event::Fault(fault) => format!("fault: {}", fault_name(fault)),
    }
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Pause => "pause",
        Fault::Delay => "delay",
        Fault::DropRequest => "drop-request",
        Fault::DropReply => "drop-reply",
        Fault::Duplicate => "duplicate",
        Fault::Crash => "crash",
        Fault::Restart => "restart",
        Fault::Jump => "jump",
        Fault::Drift => "drift",
        Fault::Partition => "partition",
        Fault::Failover => "failover",
        Fault::Evict => "evict",
        Fault::Cancel => "cancel",
    }
}

/// What went wrong in the last step, and what holds of the state that should not.
pub(crate) fn wrong(world: &World, setup: &Setup) -> Vec<String> {
    let flags = [
        (world.flags.lost_update, "an update is lost"),
        (world.flags.stale_write, "a stale write is accepted"),
        (world.flags.wrong_release, "an entry of another acquisition is released or renewed"),
    ];
    let flags = flags.into_iter().filter(|(raised, _)| *raised).map(|(_, said)| format!("!! {said}"));
    let rivals = world.rivals(setup).map(|(a, b)| format!("!! {} and {} both believe", client(a), client(b)));
    let stray = world
        .stray(setup)
        .map(|(node, lock)| format!("!! {} has a stray entry of {}", site(Site::Node(node)), name(Resource(lock))));
    flags.chain(rivals).chain(stray).collect()
}

/// The clients, servers and accounts, each in a line.
pub(crate) fn state(world: &World, setup: &Setup) -> Vec<String> {
    let clients = (0..world.clients.len() as u8).map(|index| client_line(world, setup, index));
    let nodes = (0..world.nodes.len()).map(|index| node_line(world, setup, index));
    let replicas = (1..).zip(world.replicas.iter()).map(|(number, replica)| {
        let newest = if replica.is_newest { ", the newest" } else { "" };
        format!("replica{number}: {}{newest}", entries(&replica.memory, setup).join(", "))
    });
    let disks = (0..).zip(world.saved.iter()).map(|(index, memory)| {
        let at = site(Site::Node(index));
        format!("{at}'s disk: {}, written in {}", entries(memory, setup).join(", "), *world.until_sync)
    });
    let checks = setup.policy.program.check != TokenCheck::Nothing;
    let accounts = (0..world.accounts.len()).filter(|_| checks).map(|index| account_line(world, setup, index));
    clients.chain(nodes).chain(replicas).chain(disks).chain(accounts).collect()
}

fn client_line(world: &World, setup: &Setup, index: u8) -> String {
    let state = &world.clients[index as usize];
    let standing = match state.worker.locks().standing(&World::config(setup, index), Time(0)) {
        Standing::Free => "free".to_owned(),
        Standing::Seeking => "seeking".to_owned(),
        Standing::Holding { until: None, .. } => "holding".to_owned(),
        Standing::Holding { until: Some(Time(end)), .. } => format!("holding for {end}"),
        Standing::Leaving => "leaving".to_owned(),
    };
    let mut line = format!("{}: {standing}", client(index));
    if state.worker.doing() != "nothing" {
        line += ", ";
        line += state.worker.doing();
    }
    if state.worker.is_finished() {
        line += ", finished";
    }
    match state.running {
        Running::Yes => {}
        Running::Paused => line += ", paused",
        Running::Crashed => line += ", crashed",
    }
    line
}

fn entries(memory: &Memory, setup: &Setup) -> Vec<String> {
    let entries = (0..setup.resources).filter_map(|lock| {
        let entry = memory.entries[lock as usize]?;
        let left = entry.left.map_or("for ever".to_owned(), |left| format!("for {left}"));
        Some(format!("{} is {}'s {left}", name(Resource(lock)), acquisition(entry.by)))
    });
    let mut parts: Vec<_> = entries.collect();
    if parts.is_empty() {
        parts.push("empty".to_owned());
    }
    parts
}

fn node_line(world: &World, setup: &Setup, index: usize) -> String {
    let node = &world.nodes[index];
    let mut parts = entries(&node.memory, setup);
    if node.down > 0 {
        parts.push(format!("down for {}", node.down));
    }
    format!("node{}: {}", index + 1, parts.join(", "))
}

fn account_line(world: &World, setup: &Setup, index: usize) -> String {
    let account = &world.accounts[index];
    let which = if setup.resources > 1 { format!(" {}", name(Resource(index as u8))) } else { String::new() };
    format!("account{which}: greatest token {}", account.fence.0)
}

/// The messages under way.
pub(crate) fn wire(world: &World, setup: &Setup) -> Vec<String> {
    let line = |m: &Message| {
        let mut line = format!("{}: {}", lane(m.lane), message(m));
        if setup.latency_greatest.0 > 0 {
            line += &format!(", under way for {}", m.age);
        }
        if m.delayed {
            line += ", delayed";
        }
        if m.is_copy() {
            line += ", a copy";
        }
        if !m.awaited {
            line += ", not awaited";
        }
        line
    };
    let mut lines: Vec<_> = world.messages().map(line).collect();
    lines.extend(world.cut.iter().map(|on| format!("{}: cut", link(on))));
    if setup.network == Network::Unordered && !lines.is_empty() {
        lines.insert(0, "in any order:".to_owned());
    }
    lines
}
