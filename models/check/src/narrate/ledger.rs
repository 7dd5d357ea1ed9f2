//! The money behind the accounts. The search only needs to know whether what was read is still current; a reader
//! wants to see the balance come out wrong.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Command, Reply, Resource, Slot, Token, Verb};
use world::{Event, Setup, Site};

use super::words::Words;

/// What every account holds at the beginning.
pub(crate) const DEPOSIT: i64 = 100;

/// What every write takes off.
pub(crate) const WITHDRAWAL: i64 = 10;

/// A message that a trace has told of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) client: u8,
    pub(crate) site: Site,
    pub(crate) slot: Slot,
    /// The command; of a reply, the command that it answers.
    pub(crate) command: Command,
    /// The answer, if it is one.
    pub(crate) reply: Option<Reply>,
}

/// An accepted write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) client: u8,
    pub(crate) account: Resource,
    /// What the account held when the write came.
    pub(crate) found: i64,
    /// What it holds now.
    pub(crate) left: i64,
    /// Whether the same write, sent twice, had been accepted before.
    pub(crate) again: bool,
}

/// Balances, and what each message carries.
pub(crate) struct Ledger {
    balances: Vec<i64>,
    /// What each client last read or wrote.
    seen: Vec<i64>,
    /// The amounts in messages.
    carried: BTreeMap<u32, i64>,
    told: BTreeMap<u32, Told>,
    /// The message that a copy is of.
    originals: BTreeMap<u32, u32>,
    /// The writes that have been accepted, under the names of the originals.
    written: BTreeSet<u32>,
    pub(crate) accepted: Vec<Accepted>,
}

impl Ledger {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            balances: vec![DEPOSIT; usize::from(setup.resources)],
            seen: vec![DEPOSIT; setup.clients.len()],
            carried: BTreeMap::new(),
            told: BTreeMap::new(),
            originals: BTreeMap::new(),
            written: BTreeSet::new(),
            accepted: Vec::new(),
        }
    }

    pub(crate) fn balances(&self) -> Vec<i64> {
        self.balances.clone()
    }

    /// The amount in a message.
    pub(crate) fn carried(&self, tag: u32) -> Option<i64> {
        self.carried.get(&tag).copied()
    }

    /// What is known of a message.
    pub(crate) fn told(&self, tag: u32) -> Option<Told> {
        self.told.get(&tag).copied()
    }

    /// What a message says.
    pub(crate) fn text(&self, tag: u32, words: &Words) -> String {
        match self.told(tag) {
            None => "a message".to_owned(),
            Some(told) => match told.reply {
                None => words.command(told.client, told.slot, told.command, tag, self),
                Some(reply) => words.reply(Some(told.command), reply, tag, self),
            },
        }
    }

    /// Takes an event into account.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::Sent { client, site, slot, tag, command } = *event {
            self.told.insert(tag, Told { client, site, slot, command, reply: None });
            if let Command::Write { .. } = command {
                self.carried.insert(tag, self.seen[usize::from(client)] - WITHDRAWAL);
            }
        }
        if let Event::Duplicated { tag, copy } = *event {
            self.originals.insert(copy, tag);
            if let Some(told) = self.told(tag) {
                self.told.insert(copy, told);
            }
            if let Some(value) = self.carried(tag) {
                self.carried.insert(copy, value);
            }
        }
        if let Event::Served { client, site, slot, tag, command, reply, answer } = *event {
            if let (Command::Write { account, .. }, Reply::Account(_)) = (command, reply) {
                self.write(client, account, tag);
            }
            let Some(answer) = answer else { return };
            self.told.insert(answer, Told { client, site, slot, command, reply: Some(reply) });
            if let Reply::Account(_) = reply {
                self.carried.insert(answer, self.balances[usize::from(command.resource().0)]);
            }
        }
        if let Event::Published { node, client, slot, tag } = *event {
            // What it answers, in a way, is the subscription.
            let command = Command::Lock { resource: Resource(0), verb: Verb::Subscribe, token: Token(0), mint: false };
            let site = Site::Node(node);
            self.told.insert(tag, Told { client, site, slot, command, reply: Some(Reply::Freed) });
        }
        if let Event::Answered { client, tag, .. } = *event
            && let Some(value) = self.carried(tag)
        {
            self.seen[usize::from(client)] = value;
        }
    }

    fn write(&mut self, client: u8, account: Resource, tag: u32) {
        let found = self.balances[usize::from(account.0)];
        let left = self.carried(tag).unwrap_or(found);
        self.balances[usize::from(account.0)] = left;
        let again = !self.written.insert(self.originals.get(&tag).copied().unwrap_or(tag));
        self.accepted.push(Accepted { client, account, found, left, again });
    }
}
