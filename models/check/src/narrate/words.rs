//! The names of things, and how commands and answers are written.

use protocol::{Command, Fence, Owner, Reply, Resource, Slot, Ticks, Token, TokenCheck, Verb};
use world::{Acquisition, Entry, Process, Setup, Site};

use super::ledger::Ledger;
use crate::scenario::Scenario;

/// What names depend on.
pub(crate) struct Words {
    locks: Vec<String>,
    owner: Owner,
    ttl: Option<u32>,
    nodes: u8,
    acknowledged: u8,
    /// Whether some client takes the same lock twice, so that a token needs its slot.
    repeats: bool,
    /// Whether the resource compares versions, so that what it refuses is no token.
    swaps: bool,
}

impl Words {
    pub(crate) fn new(scenario: &Scenario, setup: &Setup) -> Self {
        let repeats = setup.clients.iter().any(|list| {
            let names = list.as_slice();
            names.iter().enumerate().any(|(i, name)| names[..i].contains(name))
        });
        Self {
            locks: scenario.resource_names(),
            owner: setup.policy.owner,
            ttl: setup.policy.ttl.map(|ttl| ttl.0),
            nodes: setup.policy.nodes,
            acknowledged: setup.policy.acknowledged,
            repeats,
            swaps: setup.policy.program.check == TokenCheck::CompareAndSwap,
        }
    }

    /// The id of a client: a letter.
    pub(crate) fn client(client: u8) -> String {
        char::from(b'A' + client).to_string()
    }

    /// The id of a server or of the resource.
    pub(crate) fn site(&self, site: Site) -> String {
        match site {
            Site::Node(_) if self.nodes == 1 => "redis".to_owned(),
            Site::Node(node) => format!("node{}", node + 1),
            Site::Store => "store".to_owned(),
        }
    }

    /// What a server or the resource is called.
    pub(crate) fn site_name(&self, site: Site) -> String {
        match site {
            Site::Node(_) if self.nodes == 1 => "redis".to_owned(),
            Site::Node(node) => format!("node {}", node + 1),
            Site::Store => "the resource".to_owned(),
        }
    }

    /// The id of a process with a clock.
    pub(crate) fn process(&self, process: Process) -> String {
        match process {
            Process::Client(client) => Self::client(client),
            Process::Node(node) => self.site(Site::Node(node)),
        }
    }

    /// What it is called.
    pub(crate) fn process_name(&self, process: Process) -> String {
        match process {
            Process::Client(client) => format!("client {}", Self::client(client)),
            Process::Node(node) => self.site_name(Site::Node(node)),
        }
    }

    /// The name of a lock.
    pub(crate) fn lock(&self, resource: Resource) -> &str {
        self.locks.get(usize::from(resource.0)).map_or("lock", String::as_str)
    }

    /// The owner value of an acquisition, as it stands in an entry.
    pub(crate) fn token(&self, client: u8, slot: Slot, token: Token) -> String {
        let client = Self::client(client).to_lowercase();
        match self.owner {
            Owner::PerAcquisition if self.repeats => format!("{client}{}.{}", slot.0 + 1, token.0),
            Owner::PerAcquisition => format!("{client}{}", token.0),
            Owner::PerClient => client,
            Owner::Constant => "locked".to_owned(),
        }
    }

    /// Whose an entry is, beyond doubt: its owner value, and its acquisition where that does not say it.
    pub(crate) fn owner(&self, by: Acquisition) -> String {
        let value = self.token(by.client, by.slot, by.token);
        match self.owner {
            Owner::PerAcquisition => value,
            Owner::PerClient | Owner::Constant => format!("{value} (client {})", Self::client(by.client)),
        }
    }

    /// An entry: whose, and for how long.
    pub(crate) fn entry(&self, entry: Option<Entry>) -> String {
        match entry {
            None => "free".to_owned(),
            Some(Entry { by, left, holds }) => {
                let life = match left {
                    None => "no TTL".to_owned(),
                    Some(0) => "expired".to_owned(),
                    Some(left) => format!("{left} left"),
                };
                let holds = if holds > 1 { format!(", held {holds} times") } else { String::new() };
                format!("{} ({life}{holds})", self.owner(by))
            }
        }
    }

    fn ttl(&self) -> String {
        self.ttl.map_or_else(String::new, |ttl| format!(" PX {ttl}"))
    }

    /// How a command is written.
    pub(crate) fn command(&self, client: u8, slot: Slot, command: Command, tag: u32, ledger: &Ledger) -> String {
        match command {
            Command::Lock { resource, verb, token, mint } => {
                let lock = self.lock(resource);
                let token = self.token(client, slot, token);
                let minting = if mint { " and mint a token" } else { "" };
                let ttl = self.ttl();
                match verb {
                    Verb::SetNxPx => format!("SET {lock} {token} NX{ttl}{minting}"),
                    Verb::Setnx => format!("SETNX {lock} {token}{minting}"),
                    Verb::SetXxPx => format!("SET {lock} {token} XX{ttl}"),
                    Verb::SetPx => format!("SET {lock} {token}{ttl}"),
                    Verb::Pexpire | Verb::Limit => format!("PEXPIRE {lock}{}", ttl.replace(" PX", "")),
                    Verb::CompareAndExtend => format!("PEXPIRE {lock}{} if {token}", ttl.replace(" PX", "")),
                    Verb::Get => format!("GET {lock}"),
                    Verb::Del => format!("DEL {lock}"),
                    Verb::CompareAndDelete => format!("DEL {lock} if {token}"),
                    Verb::Incr => format!("INCR {lock}:token"),
                    Verb::Look => format!("GET {lock}"),
                    Verb::Claim => format!("SET {lock} {token}{ttl}"),
                    Verb::Clear => format!("DEL {lock}"),
                    Verb::GetSet => format!("GETSET {lock} {token}"),
                    Verb::ExtendOrCreate => format!("PEXPIRE {lock}{} if {token}, SET if gone", ttl.replace(" PX", "")),
                    Verb::Enter => format!("SET {lock} {token}{ttl} if gone or {token}"),
                    Verb::Exit => format!("DEL {lock} if {token}, with the last hold"),
                    Verb::Subscribe => format!("SUBSCRIBE {lock}"),
                    Verb::Wait => format!("WAIT {}", self.acknowledged),
                }
            }
            Command::Read { account, fence } => format!("read {}{}", self.account(account), with_token(fence)),
            Command::Check { account, fence } => format!("check {}{}", self.account(account), with_token(fence)),
            Command::Write { account, fence, .. } => {
                let value = ledger.carried(tag).map_or_else(|| "?".to_owned(), |v| v.to_string());
                format!("write {} {value}{}", self.account(account), with_token(fence))
            }
        }
    }

    /// The name of the account that a lock protects.
    pub(crate) fn account(&self, account: Resource) -> String {
        if self.locks.len() < 2 { "balance".to_owned() } else { format!("balance of {}", self.lock(account)) }
    }

    /// How an answer is written.
    pub(crate) fn reply(&self, command: Option<Command>, reply: Reply, tag: u32, ledger: &Ledger) -> String {
        let verb = command.and_then(|command| match command {
            Command::Lock { verb, .. } => Some(verb),
            Command::Read { .. } | Command::Check { .. } | Command::Write { .. } => None,
        });
        match reply {
            Reply::Done => match verb {
                Some(
                    Verb::SetNxPx
                    | Verb::SetXxPx
                    | Verb::SetPx
                    | Verb::Claim
                    | Verb::Enter
                    | Verb::ExtendOrCreate
                    | Verb::Subscribe,
                ) => "OK".to_owned(),
                Some(
                    Verb::Setnx
                    | Verb::Pexpire
                    | Verb::Limit
                    | Verb::CompareAndExtend
                    | Verb::Get
                    | Verb::Del
                    | Verb::CompareAndDelete
                    | Verb::Incr
                    | Verb::Look
                    | Verb::Clear
                    | Verb::GetSet
                    | Verb::Exit
                    | Verb::Wait,
                ) => "1".to_owned(),
                None => "token is good".to_owned(),
            },
            Reply::Minted(fence) => format!("token {}", fence.0),
            Reply::Taken { own: true, fence: None } => "nil (own value)".to_owned(),
            Reply::Taken { own: true, fence: Some(fence) } => format!("own value, token {}", fence.0),
            Reply::Taken { own: false, .. } if verb == Some(Verb::Setnx) => "0".to_owned(),
            Reply::Taken { own: false, .. } => "nil".to_owned(),
            Reply::Nothing => match verb {
                Some(Verb::Get | Verb::Look | Verb::GetSet | Verb::SetXxPx) => "nil".to_owned(),
                Some(_) | None => "0".to_owned(),
            },
            Reply::Entry { own, left } => {
                let whose = if own { "its own value" } else { "another value" };
                match left {
                    Some(Ticks(0)) => format!("{whose}, which has expired"),
                    Some(Ticks(left)) => format!("{whose}, which expires in {left}"),
                    None => whose.to_owned(),
                }
            }
            Reply::Account(_) => match (command, ledger.carried(tag)) {
                (Some(Command::Write { .. }), _) => "accepted".to_owned(),
                (_, Some(value)) => format!("balance {value}"),
                (_, None) => "accepted".to_owned(),
            },
            Reply::Stale if self.swaps => "refused: changed since it was read".to_owned(),
            Reply::Stale => "refused: stale token".to_owned(),
            Reply::Freed => "the lock was given back".to_owned(),
        }
    }
}

fn with_token(fence: Option<Fence>) -> String {
    fence.map_or_else(String::new, |fence| format!(" (token {})", fence.0))
}
