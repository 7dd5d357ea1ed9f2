//! What has gone wrong in a real run, seen from outside: from keys before and after each request, from the answers of the
//! account, and from what the cores believe.

use std::collections::BTreeMap;

use check::scenario::Property;
use protocol::{Resource, Seen, Slot, Token, Verb};
use world::Acquisition;

use super::run::{DEPOSIT, WITHDRAWAL};
use crate::account::Answer;
use crate::words::{Deed, Puts};

/// A key: its value, and the milliseconds that are left of it (−1: no end).
pub(super) type Key = (Option<Vec<u8>>, i64);

/// What was to be seen of one request at a lock server.
pub(super) struct Sight {
    pub(super) node: u8,
    pub(super) resource: Resource,
    pub(super) verb: Verb,
    pub(super) by: Acquisition,
    /// The key of the lock before.
    pub(super) was: Key,
    /// And after.
    pub(super) is: Key,
    /// Whether the server says that it has done it.
    pub(super) is_done: bool,
    /// How many servers must grant a lock.
    pub(super) quorum: u8,
    /// Whether a client may hold a lock several times.
    pub(super) nests: bool,
}

/// What has been seen so far.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// Whose each entry is.
    owners: BTreeMap<(u8, Resource), Acquisition>,
    /// The number of each acquisition that was granted by a quorum.
    grants: BTreeMap<(u8, Slot, Token), u32>,
    granted: u32,
    /// The latest grant of which each account has accepted a write.
    accepted: BTreeMap<Resource, u32>,
    withdrawals: u32,
    /// The evidence for each property that is violated, the first time.
    evidence: BTreeMap<Property, String>,
}

impl Damage {
    /// Everything that was seen that a property forbids, with the evidence.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Property, &str)> {
        self.evidence.iter().map(|(property, says)| (*property, says.as_str()))
    }

    /// Notes evidence, the first time.
    pub(super) fn note(&mut self, property: Property, says: impl FnOnce() -> String) {
        self.evidence.entry(property).or_insert_with(says);
    }

    /// Forgets evidence that was of a moment.
    pub(super) fn pass(&mut self, property: Property) {
        self.evidence.remove(&property);
    }

    /// The number of a grant; zero: there is none.
    pub(super) fn grant(&self, client: u8, slot: Slot, token: Token) -> u32 {
        self.grants.get(&(client, slot, token)).copied().unwrap_or(0)
    }

    /// Whose the entry on a server is.
    pub(super) fn owner(&self, node: u8, resource: Resource) -> Option<Acquisition> {
        self.owners.get(&(node, resource)).copied()
    }

    pub(super) fn crash(&mut self, client: u8) {
        self.owners.values_mut().filter(|owner| owner.client == client).for_each(|owner| owner.bereft = true);
    }

    pub(super) fn forget(&mut self, node: u8) {
        self.owners.retain(|(there, _), _| *there != node);
    }

    /// A lock server has carried out a request.
    pub(super) fn served(&mut self, sight: Sight) {
        let Sight { node, resource, verb, by, was, is, is_done, quorum, nests } = sight;
        let (place, deed) = ((node, resource), Deed::of(verb));
        let frees = deed == Deed::Frees;
        if was.0.is_none() {
            self.owners.remove(&place);
        }
        let owner = self.owner(node, resource);
        let is_own = owner.is_none_or(|owner| owner.is(by) || nests && !frees && owner.client == by.client);
        // Of a lock that is held several times, only the last release frees it; a renewal at once changes nothing to be seen.
        let took_effect = was.0.is_some() && if frees { is.0.is_none() } else { is_done };
        if deed.is_about_own() && took_effect && !is_own {
            let did = if is.0.is_none() { "deleted" } else { "took effect on" };
            let (value, whose) = (text(&was.0), owner.map_or('?', |owner| name(owner.client)));
            self.note(Property::NoWrongRelease, || {
                format!(
                    "the lock on server {} held {value}, the acquisition of {whose}; {} of {} {did} it",
                    node + 1,
                    if frees { "the release" } else { "the renewal" },
                    name(by.client)
                )
            });
        }
        if is.0.is_none() {
            self.owners.remove(&place);
        } else if was.0.is_none() || Puts::of(verb).overwrites() && was != is {
            self.owners.insert(place, by);
            self.count_grant(resource, by, quorum);
        }
    }

    /// A client has heard that it has a lock. Where fewer servers than a quorum are enough, this is when it is granted.
    pub(super) fn told(&mut self, client: u8, slot: Slot, token: Token) {
        let Self { grants, granted, .. } = self;
        grants.entry((client, slot, token)).or_insert_with(|| {
            *granted += 1;
            *granted
        });
    }

    /// A quorum that comes to hold the entries of an acquisition is a grant. What a renewal puts anew is none.
    fn count_grant(&mut self, resource: Resource, by: Acquisition, quorum: u8) {
        let key = (by.client, by.slot, by.token);
        let holds = self.owners.iter().filter(|((_, lock), owner)| *lock == resource && owner.is(by)).count();
        if holds == usize::from(quorum) && !self.grants.contains_key(&key) {
            self.granted += 1;
            self.grants.insert(key, self.granted);
        }
    }

    /// The account has answered a write.
    pub(super) fn write(&mut self, client: u8, account: Resource, answer: Answer, seen: Seen, grant: u32) {
        let Answer::Accepted { now, before, again } = answer else { return };
        if again {
            return;
        }
        self.withdrawals += 1;
        let withdrawals = self.withdrawals;
        if answer.lost_update(seen) {
            self.note(Property::NoLostUpdate, || {
                format!(
                    "the balance is {}: {withdrawals} withdrawals of {WITHDRAWAL} from {DEPOSIT} were accepted; {} had read \
                     version {} and overwrote version {}",
                    now.balance,
                    name(client),
                    seen.0,
                    before.version
                )
            });
        }
        let latest = self.accepted.entry(account).or_default();
        let (last, is_stale) = (*latest, grant != 0 && grant < *latest);
        *latest = last.max(grant);
        if is_stale {
            self.note(Property::NoStaleWrite, || {
                format!(
                    "the account accepted a write of {} under grant {grant} after one under grant {last}",
                    name(client)
                )
            });
        }
    }
}

/// A client as people call it.
pub(super) fn name(client: u8) -> char {
    char::from(b'A' + client)
}

/// What a key holds, as people read it.
pub(super) fn text(value: &Option<Vec<u8>>) -> String {
    value.as_ref().map_or("nothing".to_owned(), |value| value.escape_ascii().to_string())
}
