//! A state as a few words of bits: what the search keeps, compares and hashes.

use core::hash::{Hash, Hasher};

use protocol::{Command, Fence, Fencing, Nodes, Reply, Resource, Seen, Slot, Tape, Ticks, Time, Token, Verb};
use smallvec::SmallVec;

use crate::message::{Body, Direction, Lane, Message, Sent, Site};
use crate::section::Section;
use crate::server::{Acquisition, Entry, Memory, Replica};
use crate::setup::{Fault, MAX_CLIENTS, Setup};
use crate::world::{Flags, Running, WALL, World};

/// Bits of the set of links that are cut.
const LINK_BITS: u32 = u32::BITS;

/// How many words lie in the state itself; only unusually large worlds need more.
const INLINE_WORDS: usize = 10;

/// Bits of a number that is kept by rank.
pub(crate) const RANK_BITS: u32 = 5;

/// Bits of the number of messages under way. A request and a release to each server for each lock of each client are
/// 168, and more than that may follow them.
const COUNT_BITS: u32 = 9;

/// Bits of the number of words of a section, with which it begins.
const LENGTH_BITS: u32 = 8;

/// Bits of what was wrong with the last step, after the length of the first section.
const FLAG_BITS: u32 = 3;

/// A state of the world, packed.
///
/// Its sections are whole words, and each begins with how many they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packed(SmallVec<[u64; INLINE_WORDS]>);

impl Hash for Packed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for word in &self.0 {
            hasher.write_u64(*word);
        }
    }
}

impl Packed {
    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        let spilled = if self.0.spilled() { self.0.capacity() * size_of::<u64>() } else { 0 };
        size_of::<Self>() + spilled
    }

    /// The sections in their order. The first word of the first also says what was [wrong](Self::FLAGS) with the last step.
    #[inline]
    pub(crate) fn sections(&self) -> impl Iterator<Item = &[u64]> {
        let mut left = &self.0[..];
        core::iter::from_fn(move || {
            let length = usize::from(*left.first()? as u8);
            let (section, others) = left.split_at_checked(length.max(1))?;
            left = others;
            Some(section)
        })
    }

    /// By what the state is known: the hashes of its sections, each at its place, and what was wrong with the last step
    /// add up.
    pub fn hash_sections(&self, setup: &Setup, hash: impl Fn(&[u64]) -> u64) -> u64 {
        let flags = u64::from(self.flags().bits());
        Section::all(setup).zip(self.sections()).fold(flags, |sum, (section, words)| {
            let mut words = Words::from_slice(words);
            if section == Section::Rest {
                words[0] &= !Self::FLAGS;
            }
            sum.wrapping_add(section.at_its_place(hash(&words)))
        })
    }

    /// What was wrong with the last step.
    pub fn flags(&self) -> Flags {
        let bits = self.0.first().map_or(0, |word| word >> LENGTH_BITS);
        Flags { lost_update: bits & 1 != 0, stale_write: bits & 2 != 0, wrong_release: bits & 4 != 0 }
    }

    /// The bits of the first word that are what was wrong with the last step.
    pub(crate) const FLAGS: u64 = (1 << (LENGTH_BITS + FLAG_BITS)) - (1 << LENGTH_BITS);

    /// Puts a state together.
    pub(crate) fn of<'a>(flags: Flags, sections: impl Iterator<Item = &'a [u64]> + Clone) -> Self {
        let mut words = Self::gather(sections.clone()).unwrap_or_else(|| sections.flatten().copied().collect());
        words[0] |= u64::from(flags.bits()) << LENGTH_BITS;
        Self(words)
    }

    /// Puts few words together: one by one is quicker than several copies of memory. None: they are too many.
    #[inline]
    fn gather<'a>(sections: impl Iterator<Item = &'a [u64]>) -> Option<SmallVec<[u64; INLINE_WORDS]>> {
        let mut words = [0; INLINE_WORDS];
        let mut length = 0;
        for section in sections {
            for word in section {
                *words.get_mut(length)? = *word;
                length += 1;
            }
        }
        Some(SmallVec::from_buf_and_len(words, length))
    }
}

/// The words of a section.
pub(crate) type Words = SmallVec<[u64; 4]>;

/// How many readings of wall clocks that lie in the past a state holds at most.
const PAST: u32 = 1 << RANK_BITS;

/// How the states of one setup are packed: how wide their fields are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    time: u32,
    nodes: u32,
    seen: u32,
    /// Bits of a fencing token.
    fence: u32,
    /// What is taken off every fencing token but zero.
    fence_base: u32,
    /// Bits of the age of a message.
    age: u32,
}

impl Layout {
    pub(crate) fn of(setup: &Setup) -> Self {
        let policy = &setup.policy;
        let ahead = setup.offset_of(setup.clients.len() as u8);
        let lease = policy.ttl.map_or(0, |t| t.0) + policy.drift_ticks.0 + ahead;
        let jumps = setup.jump.0 * u32::from(setup.faults.get(Fault::Jump));
        let retry = match policy.retry {
            protocol::Retry::Never => 0,
            protocol::Retry::Fixed(delay) => delay.0,
            protocol::Retry::Jitter(_, most) | protocol::Retry::Exponential(_, most) => most.0,
        };
        let spans = [
            lease + jumps,
            policy.timeout.0,
            policy.renew_every.0,
            policy.give_up_after.map_or(0, |t| t.0),
            policy.program.work.0,
            setup.restart_delay.0,
            setup.longest_pause.map_or(0, |t| t.0),
            setup.longest_partition.map_or(0, |t| t.0),
            setup.fsync_every.0,
            retry,
        ];
        let longest = spans.into_iter().max().unwrap_or(0);
        let (fence, fence_base) = match policy.fencing {
            // The ranks of what lies before, and what the clocks that are ahead read.
            Fencing::ClientClock => (u32::BITS - (PAST + ahead).leading_zeros(), WALL.0 - PAST),
            Fencing::Nothing | Fencing::WithGrant | Fencing::IncrBefore | Fencing::IncrAfter => (RANK_BITS, 0),
        };
        let time = u32::BITS - longest.leading_zeros();
        let seen = 1 + u32::from(has_copies(setup));
        let age = u32::BITS - setup.greatest_age().leading_zeros();
        Self { time, nodes: policy.nodes.into(), seen, fence, fence_base, age }
    }
}

/// Whether requests can be sent again.
fn has_copies(setup: &Setup) -> bool {
    setup.faults.get(Fault::Duplicate) > 0
}

/// A tape that is written.
struct Writer {
    words: Words,
    /// The bits that do not make a whole word yet.
    rest: u64,
    /// How many they are.
    filled: u32,
    layout: Layout,
}

impl Writer {
    fn new(layout: Layout) -> Self {
        Self { words: SmallVec::new(), rest: 0, filled: LENGTH_BITS + FLAG_BITS, layout }
    }

    #[inline(always)]
    fn put(&mut self, value: u32, bits: u32) {
        let value = u64::from(value);
        if value >> bits != 0 {
            too_wide(value, bits);
        }
        self.rest |= value << self.filled;
        self.filled += bits;
        if self.filled >= u64::BITS {
            self.words.push(self.rest);
            self.filled -= u64::BITS;
            self.rest = value >> (bits - self.filled);
        }
    }

    /// Fills up the last word, and gives all of them.
    fn finish(mut self) -> Words {
        if self.filled > 0 {
            self.words.push(self.rest);
        }
        let length = self.words.len() as u64;
        if length >> LENGTH_BITS != 0 {
            too_wide(length, LENGTH_BITS);
        }
        self.words[0] |= length;
        self.words
    }
}

/// A state that does not fit its fields would be taken for another one: better no result than a wrong one.
#[cold]
fn too_wide(value: u64, bits: u32) -> ! {
    panic!("a field of {bits} bits cannot hold {value}")
}

/// A tape that is read.
struct Reader<'a> {
    words: core::slice::Iter<'a, u64>,
    /// The bits of the current word that are still to be read.
    rest: u64,
    /// How many they are.
    left: u32,
    layout: Layout,
}

impl<'a> Reader<'a> {
    fn new(words: &'a [u64], layout: Layout) -> Self {
        let mut words = words.iter();
        let used = LENGTH_BITS + FLAG_BITS;
        let rest = words.next().copied().unwrap_or(0) >> used;
        Self { words, rest, left: u64::BITS - used, layout }
    }

    #[inline(always)]
    fn get(&mut self, bits: u32) -> u32 {
        let mut value = self.rest;
        if bits <= self.left {
            self.left -= bits;
            self.rest >>= bits;
        } else {
            let next = self.words.next().copied().unwrap_or(0);
            value |= next << self.left;
            let taken = bits - self.left;
            self.rest = next >> taken;
            self.left = u64::BITS - taken;
        }
        (value & ((1 << bits) - 1)) as u32
    }
}

/// What both directions have in common: everything is a number of some width.
trait Bits {
    fn layout(&self) -> Layout;
    fn bits(&mut self, value: &mut u32, bits: u32);
}

impl Bits for Writer {
    #[inline(always)]
    fn layout(&self) -> Layout {
        self.layout
    }

    #[inline(always)]
    fn bits(&mut self, value: &mut u32, bits: u32) {
        self.put(*value, bits);
    }
}

impl Bits for Reader<'_> {
    #[inline(always)]
    fn layout(&self) -> Layout {
        self.layout
    }

    #[inline(always)]
    fn bits(&mut self, value: &mut u32, bits: u32) {
        *value = self.get(bits);
    }
}

/// The tape of a world.
struct WorldTape<B>(B);

impl<B: Bits> WorldTape<B> {
    /// The age of a message.
    #[inline(always)]
    fn age(&mut self, value: &mut u8) {
        let width = self.0.layout().age;
        self.small(value, width);
    }
}

impl<B: Bits> Tape for WorldTape<B> {
    #[inline(always)]
    fn number(&mut self, value: &mut u32, bits: u32) {
        self.0.bits(value, bits);
    }

    #[inline(always)]
    fn time(&mut self, value: &mut Time) {
        let width = self.0.layout().time;
        self.0.bits(&mut value.0, width);
    }

    #[inline(always)]
    fn nodes(&mut self, value: &mut Nodes) {
        let width = self.0.layout().nodes;
        self.small(&mut value.0, width);
    }

    #[inline(always)]
    fn token(&mut self, value: &mut Token) {
        self.0.bits(&mut value.0, RANK_BITS);
    }

    #[inline(always)]
    fn fence(&mut self, value: &mut Fence) {
        let Layout { fence, fence_base, .. } = self.0.layout();
        let mut code = if value.0 == 0 { 0 } else { value.0.wrapping_sub(fence_base) };
        self.0.bits(&mut code, fence);
        value.0 = if code == 0 { 0 } else { code + fence_base };
    }

    #[inline(always)]
    fn seen(&mut self, value: &mut Seen) {
        let width = self.0.layout().seen;
        self.0.bits(&mut value.0, width);
    }
}

impl World {
    /// Packs the world. It has to be [canonical](Self::canonicalise).
    pub fn pack(&mut self, setup: &Setup) -> Packed {
        let sections: SmallVec<[Words; 6]> =
            Section::all(setup).map(|section| self.pack_section(setup, section)).collect();
        Packed::of(self.flags, sections.iter().map(|words| &words[..]))
    }

    /// Becomes the world that was packed. Whatever it was before, it has to be of the same setup.
    pub fn unpack(&mut self, setup: &Setup, packed: &Packed) {
        self.flags = packed.flags();
        for (section, words) in Section::all(setup).zip(packed.sections()) {
            self.unpack_section(setup, section, words);
        }
    }

    /// Packs a section. The world has to be canonical.
    pub(crate) fn pack_section(&mut self, setup: &Setup, section: Section) -> Words {
        let mut tape = WorldTape(Writer::new(self.layout));
        self.fold_section(setup, section, &mut tape);
        tape.0.finish()
    }

    /// Puts back a section that was packed.
    pub(crate) fn unpack_section(&mut self, setup: &Setup, section: Section, words: &[u64]) {
        let mut tape = WorldTape(Reader::new(words, self.layout));
        self.fold_section(setup, section, &mut tape);
    }

    fn fold_section<B: Bits>(&mut self, setup: &Setup, section: Section, tape: &mut WorldTape<B>) {
        match section {
            Section::Rest => self.fold_rest(setup, tape),
            Section::Client(client) => {
                self.fold_client(setup, client, tape);
                self.fold_mail(setup, client, tape);
            }
            Section::Node(node) => self.fold_node(setup, node, tape),
        }
    }

    fn fold_rest(&mut self, setup: &Setup, tape: &mut impl Tape) {
        for fault in setup.faults.kinds() {
            let mut left = self.faults.get(fault);
            tape.small(&mut left, 4);
            self.faults.set(fault, left);
        }
        let checked = setup.policy.program.check.takes_tokens();
        for account in self.accounts.iter_mut() {
            tape.small(&mut account.grant, RANK_BITS);
            if checked {
                tape.fence(&mut account.fence);
            }
        }
        self.fold_disks(setup, tape);
        self.fold_replicas(setup, tape);
        self.fold_cuts(setup, tape);
    }

    fn fold_client(&mut self, setup: &Setup, index: u8, tape: &mut impl Tape) {
        let config = Self::config(setup, index);
        let client = &mut *self.clients[index as usize];
        let mut running = client.running as u8;
        tape.small(&mut running, 2);
        client.running = match running {
            1 => Running::Paused,
            2 => Running::Crashed,
            _ => Running::Yes,
        };
        match client.running {
            Running::Paused if setup.longest_pause.is_some() => fold_span(&mut client.pause_left, tape),
            Running::Yes | Running::Paused | Running::Crashed => client.pause_left = 0,
        }
        client.worker.fold(&config, tape);
        for (slot, _) in Self::slots(setup, index) {
            tape.small(&mut client.grants[slot.0 as usize], RANK_BITS);
        }
    }

    fn fold_node(&mut self, setup: &Setup, index: u8, tape: &mut impl Tape) {
        let node = &mut *self.nodes[index as usize];
        fold_memory(&mut node.memory, setup, tape);
        if setup.policy.is_notified() {
            for clients in &mut node.subscribers[..setup.resources as usize] {
                tape.small(clients, MAX_CLIENTS as u32);
            }
        }
        if setup.restart_delay.0 > 0 {
            fold_span(&mut node.down, tape);
        }
    }

    fn fold_replicas(&mut self, setup: &Setup, tape: &mut impl Tape) {
        let left = self.replicas_left(setup);
        self.replicas.resize(left, Replica::default());
        for replica in self.replicas.iter_mut() {
            fold_memory(&mut replica.memory, setup, tape);
            if Self::ranks_replicas(setup) {
                tape.flag(&mut replica.is_newest);
            }
        }
    }

    fn fold_cuts(&mut self, setup: &Setup, tape: &mut impl Tape) {
        if setup.faults.get(Fault::Partition) == 0 {
            return;
        }
        tape.number(&mut self.cut.0, LINK_BITS);
        let bounded = if setup.longest_partition.is_some() { self.cut.0.count_ones() } else { 0 };
        self.cut_left.resize(bounded as usize, 0);
        self.cut_left.iter_mut().for_each(|left| fold_span(left, tape));
    }

    fn fold_disks(&mut self, setup: &Setup, tape: &mut impl Tape) {
        if !self.needs_disk(setup) {
            self.saved.clear();
            *self.until_sync = 0;
            return;
        }
        fold_span(&mut self.until_sync, tape);
        self.saved.resize(setup.policy.nodes as usize, Memory::default());
        for memory in self.saved.iter_mut() {
            fold_memory(memory, setup, tape);
        }
    }

    fn fold_mail<B: Bits>(&mut self, setup: &Setup, client: u8, tape: &mut WorldTape<B>) {
        let mail = &mut *self.mail[client as usize];
        let mut count = mail.len() as u32;
        tape.number(&mut count, COUNT_BITS);
        let blank = Message {
            lane: Lane { client, site: Site::Store, direction: Direction::Request },
            slot: Slot(0),
            body: Body::Reply(Reply::Done),
            age: 0,
            delayed: false,
            awaited: false,
            bereft: false,
            sent: Sent::Once,
            tag: 0,
        };
        mail.resize(count as usize, blank);
        for message in mail.iter_mut() {
            fold_message(message, setup, tape);
        }
    }
}

fn fold_span(span: &mut u8, tape: &mut impl Tape) {
    let mut time = Time((*span).into());
    tape.time(&mut time);
    *span = time.0 as u8;
}

fn fold_memory(memory: &mut Memory, setup: &Setup, tape: &mut impl Tape) {
    let mints = setup.policy.fencing.is_counted();
    let counts = setup.policy.reentrance.is_counted();
    for resource in 0..setup.resources as usize {
        let entry = &mut memory.entries[resource];
        let blank = Acquisition { client: 0, slot: Slot(0), token: Token(0), bereft: false };
        let mut present = entry.is_some();
        tape.flag(&mut present);
        if !present {
            *entry = None;
        } else {
            fold_entry(entry.get_or_insert(Entry { by: blank, left: None, holds: 0 }), counts, tape);
        }
        if mints {
            tape.fence(&mut memory.counters[resource]);
        }
    }
}

fn fold_sent(sent: &mut Sent, tape: &mut impl Tape) {
    let mut number = *sent as u8;
    tape.small(&mut number, 2);
    *sent = match number {
        1 => Sent::Twice,
        2 => Sent::Again,
        _ => Sent::Once,
    };
}

fn fold_entry(entry: &mut Entry, counts: bool, tape: &mut impl Tape) {
    tape.small(&mut entry.by.client, 2);
    tape.small(&mut entry.by.slot.0, 2);
    tape.token(&mut entry.by.token);
    tape.flag(&mut entry.by.bereft);
    tape.option(&mut entry.left, |tape, left| fold_span(left, tape));
    if counts {
        tape.small(&mut entry.holds, 4);
    }
}

fn fold_message<B: Bits>(message: &mut Message, setup: &Setup, tape: &mut WorldTape<B>) {
    let mut head = pack_head(message);
    tape.number(&mut head, HEAD_BITS);
    unpack_head(head, message);
    tape.age(&mut message.age);
    if has_copies(setup) {
        fold_sent(&mut message.sent, tape);
    }
    match message.lane.direction {
        Direction::Request => fold_request(&mut message.body, tape),
        Direction::Reply => fold_reply(&mut message.body, tape),
    }
}

/// How many bits the fields take that every message has.
const HEAD_BITS: u32 = 9;

/// The number that stands for the resource among those of the nodes.
const STORE: u8 = 7;

fn pack_head(message: &Message) -> u32 {
    let site = match message.lane.site {
        Site::Node(node) => node,
        Site::Store => STORE,
    };
    u32::from(site)
        | u32::from(message.slot.0) << 3
        | u32::from(message.lane.direction == Direction::Reply) << 5
        | u32::from(message.delayed) << 6
        | u32::from(message.awaited) << 7
        | u32::from(message.bereft) << 8
}

fn unpack_head(head: u32, message: &mut Message) {
    let bit = |at: u32| head >> at & 1 != 0;
    let site = (head & 7) as u8;
    message.lane.site = if site == STORE { Site::Store } else { Site::Node(site) };
    message.lane.direction = if bit(5) { Direction::Reply } else { Direction::Request };
    message.slot = Slot((head >> 3 & 3) as u8);
    message.delayed = bit(6);
    message.awaited = bit(7);
    message.bereft = bit(8);
}

fn fold_reply(body: &mut Body, tape: &mut impl Tape) {
    let mut reply = match *body {
        Body::Reply(reply) => reply,
        Body::Request { .. } => Reply::Done,
    };
    let before = reply_tag(reply);
    let mut tag = before;
    tape.small(&mut tag, 3);
    if tag != before {
        reply = blank_reply(tag);
    }
    match &mut reply {
        Reply::Done | Reply::Nothing | Reply::Stale | Reply::Freed => {}
        Reply::Minted(fence) => tape.fence(fence),
        Reply::Taken { own, fence } => {
            tape.flag(own);
            tape.option(fence, |tape, fence| tape.fence(fence));
        }
        Reply::Entry { own, left } => {
            tape.flag(own);
            tape.option(left, |tape, left| {
                let mut time = Time(left.0);
                tape.time(&mut time);
                *left = Ticks(time.0);
            });
        }
        Reply::Account(seen) => tape.seen(seen),
    }
    *body = Body::Reply(reply);
}

fn reply_tag(reply: Reply) -> u8 {
    match reply {
        Reply::Done => 0,
        Reply::Minted(_) => 1,
        Reply::Taken { .. } => 2,
        Reply::Nothing => 3,
        Reply::Entry { .. } => 4,
        Reply::Account(_) => 5,
        Reply::Stale => 6,
        Reply::Freed => 7,
    }
}

fn blank_reply(tag: u8) -> Reply {
    match tag {
        1 => Reply::Minted(Fence(0)),
        2 => Reply::Taken { own: false, fence: None },
        3 => Reply::Nothing,
        4 => Reply::Entry { own: false, left: None },
        5 => Reply::Account(Seen(0)),
        6 => Reply::Stale,
        7 => Reply::Freed,
        _ => Reply::Done,
    }
}

/// The verbs by their number on the tape.
const VERBS: [Verb; 20] = [
    Verb::SetNxPx,
    Verb::Setnx,
    Verb::SetXxPx,
    Verb::SetPx,
    Verb::Pexpire,
    Verb::CompareAndExtend,
    Verb::Get,
    Verb::Del,
    Verb::CompareAndDelete,
    Verb::Incr,
    Verb::Look,
    Verb::Claim,
    Verb::Clear,
    Verb::GetSet,
    Verb::ExtendOrCreate,
    Verb::Enter,
    Verb::Exit,
    Verb::Subscribe,
    Verb::Wait,
    Verb::Limit,
];

/// The numbers of the other commands, after those of the verbs.
const READ: u8 = VERBS.len() as u8;
const CHECK: u8 = READ + 1;
const WRITE: u8 = READ + 2;

fn fold_request(body: &mut Body, tape: &mut impl Tape) {
    let blank = Command::Read { account: Resource(0), fence: None };
    let (mut command, mut grant) = match *body {
        Body::Request { command, grant } => (command, grant),
        Body::Reply(_) => (blank, 0),
    };
    let before = command_tag(&command);
    let mut tag = before;
    tape.small(&mut tag, 5);
    if tag != before {
        command = blank_command(tag);
    }
    match &mut command {
        Command::Lock { resource, token, mint, .. } => {
            grant = 0;
            tape.small(&mut resource.0, 2);
            tape.token(token);
            tape.flag(mint);
        }
        Command::Read { account, fence } | Command::Check { account, fence } => {
            grant = 0;
            tape.small(&mut account.0, 2);
            tape.option(fence, |tape, fence| tape.fence(fence));
        }
        Command::Write { account, fence, seen } => {
            tape.small(&mut account.0, 2);
            tape.option(fence, |tape, fence| tape.fence(fence));
            tape.seen(seen);
            tape.small(&mut grant, RANK_BITS);
        }
    }
    *body = Body::Request { command, grant };
}

fn command_tag(command: &Command) -> u8 {
    match command {
        Command::Lock { verb, .. } => *verb as u8,
        Command::Read { .. } => READ,
        Command::Check { .. } => CHECK,
        Command::Write { .. } => WRITE,
    }
}

fn blank_command(tag: u8) -> Command {
    let account = Resource(0);
    match tag {
        READ => Command::Read { account, fence: None },
        CHECK => Command::Check { account, fence: None },
        WRITE => Command::Write { account, fence: None, seen: Seen(0) },
        verb => {
            let verb = VERBS[usize::from(verb).min(VERBS.len() - 1)];
            Command::Lock { resource: account, verb, token: Token(0), mint: false }
        }
    }
}

const _: () = assert!(protocol::MAX_NODES <= STORE as usize, "a node must not be taken for the resource");
