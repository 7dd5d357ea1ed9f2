//! The knobs: one table from which files are read and written, described, compared and hashed.

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, LateAnswer, MAX_NODES, OnCancel, Order, Owner, QuorumOf, Reentrance,
    RefusedRenewal, Release, ReleaseTo, Renewal, Subscribe, Ticks, TokenCheck, UnknownAcquire, UnsettledWrite,
    Validity, Visit, Waiting,
};
use world::{Compare, Expiry, MAX_CLIENTS, Network, Persistence, Promote};

use super::form::{Form, Given, Latency, MAX_TICKS, Quorum, Resources, Value};
use super::names::{GrainChoice, Named, RetryKind};
use super::near::plain;

/// The most updates of one client.
pub const MAX_UPDATES: u32 = 4;

/// The most writes of one update.
pub const MAX_WRITES: u32 = 3;

/// The most replicas of a lock server.
pub const MAX_REPLICAS: u32 = 2;

/// A part of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// What the clients decide.
    Lock,
    /// What they do under the lock.
    Work,
    /// What the resource checks.
    Resource,
    /// Where all of it happens.
    World,
}

impl Section {
    /// All sections with knobs, in the documented order.
    pub const ALL: [Self; 4] = [Self::Lock, Self::Work, Self::Resource, Self::World];

    /// How its header is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Work => "work",
            Self::Resource => "resource",
            Self::World => "world",
        }
    }

    /// Its knobs, in the documented order.
    pub fn knobs(self) -> impl Iterator<Item = &'static Knob> + Clone {
        KNOBS.iter().filter(move |k| k.section == self)
    }
}

/// Who can turn a knob, and so whether another value of it makes another lock or another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hand {
    /// Whoever writes the lock, or what it protects.
    Author,
    /// Whoever runs the lock servers and the connections to them.
    Operator,
    /// Nobody: it says what the lock has to bear, or how that is searched.
    Nobody,
}

/// A knob: everything that is known of one key.
#[derive(Debug)]
pub struct Knob {
    /// The key, which no other section uses.
    pub key: &'static str,
    /// The section where it stands in a file.
    pub section: Section,
    /// What it accepts.
    pub form: Form,
    /// Whether its default follows from other knobs.
    pub is_derived: bool,
    /// Who can turn it.
    pub hand: Hand,
    says: &'static str,
    get: fn(&Settings, &Form) -> String,
    stated: fn(&Settings, &Form) -> Option<String>,
    default: fn(&Settings, &Form) -> String,
    set: fn(&mut Settings, &Given, &Form) -> bool,
    copy: fn(&mut Settings, &Settings),
}

impl Knob {
    /// The knob with this key; `-` is as good as `_`, and the section may stand before a dot.
    pub fn named(key: &str) -> Option<&'static Self> {
        let key = plain(key);
        KNOBS.iter().find(|k| match key.split_once('.') {
            Some((section, key)) => k.section.name() == section && k.key == key,
            None => k.key == key,
        })
    }

    /// What it decides, in a sentence or two.
    pub fn says(&self) -> &'static str {
        self.says.trim_start()
    }

    /// The key with its section.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section.name(), self.key)
    }

    /// The value that counts, as TOML: the stated one or the default.
    pub fn get(&self, settings: &Settings) -> String {
        (self.get)(settings, &self.form)
    }

    /// The value as TOML, if it is not left to the default.
    pub fn stated(&self, settings: &Settings) -> Option<String> {
        (self.stated)(settings, &self.form)
    }

    /// The value that counts if none is stated, as TOML. It may follow from other knobs.
    pub fn default(&self, settings: &Settings) -> String {
        (self.default)(settings, &self.form)
    }

    /// Sets the value, if it is of the knob's form.
    pub(super) fn set(&self, settings: &mut Settings, given: &Given) -> bool {
        (self.set)(settings, given, &self.form)
    }

    /// Gives the one the value of the other, stated or not.
    pub(super) fn copy(&self, to: &mut Settings, from: &Settings) {
        (self.copy)(to, from);
    }

    /// Whether the stated value is of the knob's form, as one that code has put there may not be.
    pub(super) fn fits(&self, settings: &Settings) -> bool {
        self.stated(settings).is_none_or(|text| self.set(&mut settings.clone(), &Given::from_text(&text)))
    }
}

/// Defines [`Settings`] and [`KNOBS`]. A knob that is `unless stated f` has an optional field and the default `f`. The
/// knobs of a section are all turned by the same hand, but those that say another one.
macro_rules! knobs {
    ($($section:ident by $hand:ident { $(
        $(#[doc = $says:literal])+
        $key:ident: $ty:ty = $default:expr, $form:expr $(, unless stated $derived:path)? $(, by $own:ident)?;
    )+ })+) => {
        /// The value of every knob, as a file says it. None is a default that follows from other knobs, or no limit.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings { $($(
            $(#[doc = $says])+
            pub $key: $ty,
        )+)+ }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($($key: $default,)+)+ }
            }
        }

        /// All knobs, in the documented order.
        pub static KNOBS: &[Knob] = &[$($(Knob {
            key: stringify!($key),
            section: Section::$section,
            form: $form,
            is_derived: knobs!(@is_derived $($derived)?),
            hand: knobs!(@hand $hand $($own)?),
            says: concat!($($says),+),
            get: |settings, form| knobs!(@get settings, form, $key $(, $derived)?),
            stated: |settings, form| knobs!(@stated settings, form, $key, $ty, $default $(, $derived)?),
            default: |_settings, form| knobs!(@default _settings, form, $ty, $default $(, $derived)?),
            set: |settings, given, form| match <$ty as Value>::read(given, form) {
                Some(value) => {
                    settings.$key = value;
                    true
                }
                None => false,
            },
            copy: |to, from| to.$key.clone_from(&from.$key),
        },)+)+];
    };
    (@hand $hand:ident) => {
        Hand::$hand
    };
    (@hand $hand:ident $own:ident) => {
        Hand::$own
    };
    (@is_derived) => {
        false
    };
    (@is_derived $derived:path) => {
        true
    };
    (@get $settings:ident, $form:ident, $key:ident) => {
        $settings.$key.write($form)
    };
    (@get $settings:ident, $form:ident, $key:ident, $derived:path) => {
        match &$settings.$key {
            Some(value) => value.write($form),
            None => $derived($settings).write($form),
        }
    };
    (@stated $settings:ident, $form:ident, $key:ident, $ty:ty, $default:expr) => {{
        let default: $ty = $default;
        ($settings.$key != default).then(|| $settings.$key.write($form))
    }};
    (@stated $settings:ident, $form:ident, $key:ident, $ty:ty, $default:expr, $derived:path) => {
        $settings.$key.as_ref().map(|value| value.write($form))
    };
    (@default $settings:ident, $form:ident, $ty:ty, $default:expr) => {{
        let default: $ty = $default;
        default.write($form)
    }};
    (@default $settings:ident, $form:ident, $ty:ty, $default:expr, $derived:path) => {
        $derived($settings).write($form)
    };
}

knobs! {
    Lock by Author {
        /// How a client asks a lock server for the lock.
        acquire: Acquire = Acquire::SetNxPx, Form::Words(Acquire::WORDS);
        /// What a client writes into the entry to know its own again.
        owner: Owner = Owner::PerAcquisition, Form::Words(Owner::WORDS);
        /// How a client gives the lock back to a server.
        release: Release = Release::CompareAndDelete, Form::Words(Release::WORDS);
        /// Which servers hear of a release, or of the clean-up after a failed acquire.
        release_to: ReleaseTo = ReleaseTo::All, Form::Words(ReleaseTo::WORDS);
        /// How long a lease lasts.
        ttl: Option<Ticks> = Some(Ticks(3)), Form::ticks(1).or("none", "It never ends.");
        /// How many servers must grant the lock.
        quorum: Quorum = Quorum::Majority,
            Form::count("nodes", MAX_NODES as u32).or("majority", "More than half of the nodes.");
        /// Of which servers a quorum must grant the lock.
        quorum_of: QuorumOf = QuorumOf::All, Form::Words(QuorumOf::WORDS);
        /// In which order the servers are asked.
        visit: Visit = Visit::InOrder, Form::Words(Visit::WORDS);
        /// How long a client waits for a reply before the result is unknown.
        /// If it is not stated: twice the greatest latency and one tick.
        timeout: Option<Ticks> = None, Form::ticks(1), unless stated Settings::timeout;
        /// From when a client counts the validity of a grant.
        validity: Validity = Validity::FromSending, Form::Words(Validity::WORDS);
        /// What a client does with the allowance for clocks that drift.
        drift: Drift = Drift::Subtracted, Form::Words(Drift::WORDS);
        /// The allowance for clocks that drift.
        drift_ticks: Ticks = Ticks(0), Form::ticks(0);
        /// What a holder believes.
        holder: Holder = Holder::Clocked, Form::Words(Holder::WORDS);
        /// How long before its deadline a clocked holder stops believing.
        /// Its writes are safe only if this is at least the greatest latency.
        margin: Ticks = Ticks(0), Form::ticks(0);
        /// What a client makes of a request for the lock whose result it does not know.
        unknown: UnknownAcquire = UnknownAcquire::OwnValueHeld, Form::Words(UnknownAcquire::WORDS);
        /// How a holder asks for more time.
        renewal: Renewal = Renewal::Never, Form::Words(Renewal::WORDS);
        /// How long after a grant or a renewal it does so.
        renew_every: Ticks = Ticks(1), Form::ticks(1);
        /// How often it does so.
        renewals: Option<u8> = None, Form::count("renewals", MAX_TICKS).or("unlimited", "As long as it holds the lock.");
        /// What a holder makes of a refused renewal.
        refused_renewal: RefusedRenewal = RefusedRenewal::Lost, Form::Words(RefusedRenewal::WORDS);
        /// What an answer does that comes when its lease has lapsed.
        late_answer: LateAnswer = LateAnswer::Ignored, Form::Words(LateAnswer::WORDS);
        /// Where the fencing token comes from.
        fencing: Fencing = Fencing::Nothing, Form::Words(Fencing::WORDS);
        /// What becomes of an acquire of a lock that the same client holds already.
        reentrance: Reentrance = Reentrance::Nothing, Form::Words(Reentrance::WORDS);
        /// How a client that was refused learns that it should try again.
        waiting: Waiting = Waiting::Poll, Form::Words(Waiting::WORDS);
        /// When a client subscribes to notifications.
        subscribe: Subscribe = Subscribe::BeforeTrying, Form::Words(Subscribe::WORDS);
        /// Whether a client that waits for a notification also tries again after a delay, as `retry` says.
        fallback_poll: bool = true, Form::Flag;
        /// When a client tries again after a failed attempt.
        retry: RetryKind = RetryKind::Fixed, Form::Words(RetryKind::WORDS);
        /// The delay before the next attempt: the only one, the least, or the first.
        retry_delay: Ticks = Ticks(1), Form::ticks(1);
        /// The greatest delay of a jittered or exponential retry.
        /// If it is not stated: twice the `retry_delay`.
        retry_delay_max: Option<Ticks> = None, Form::ticks(1), unless stated Settings::retry_delay_max;
        /// How many attempts an acquire has.
        attempts: Option<u8> = None, Form::count("attempts", MAX_TICKS).or("unlimited", "It never runs out of them.");
        /// How long an acquire goes on trying.
        give_up_after: Option<Ticks> = None, Form::ticks(1).or("unlimited", "It never gives up.");
        /// In which order a client takes several locks.
        order: Order = Order::AsGiven, Form::Words(Order::WORDS);
        /// What a client does when one of several locks is taken.
        conflict: Conflict = Conflict::Wait, Form::Words(Conflict::WORDS);
        /// What a client does about its lock while a write of its own is unsettled.
        unsettled_write: UnsettledWrite = UnsettledWrite::Waits, Form::Words(UnsettledWrite::WORDS);
        /// What a cancelled operation leaves behind.
        on_cancel: OnCancel = OnCancel::CleansUp, Form::Words(OnCancel::WORDS);
    }
    Work by Nobody {
        /// How long a client computes between the read and each write.
        work: Ticks = Ticks(1), Form::ticks(0);
        /// How many writes one update makes, all under the same acquisition.
        writes: u8 = 1, Form::count("writes", MAX_WRITES);
        /// How many updates each client makes, each under an acquisition of its own.
        updates: u8 = 1, Form::count("updates", MAX_UPDATES);
    }
    Resource by Author {
        /// What the resource checks before it accepts a write.
        check: TokenCheck = TokenCheck::Nothing, Form::Words(TokenCheck::WORDS);
        /// Which fencing tokens the resource accepts.
        compare: Compare = Compare::GreaterOrEqual, Form::Words(Compare::WORDS);
    }
    World by Nobody {
        /// How many clients there are.
        /// If it is not stated: as many as `resources` has lists, or two.
        clients: Option<u8> = None, Form::count("clients", MAX_CLIENTS as u32), unless stated Settings::clients;
        /// How many lock servers there are.
        nodes: u8 = 1, Form::count("nodes", MAX_NODES as u32), by Operator;
        /// The locks of each client, in the order of its own list.
        /// If it is not stated: the one lock "lock" for everybody.
        resources: Option<Resources> = None, Form::Resources, unless stated Settings::resources;
        /// The least and the greatest number of ticks that a message is under way.
        latency: Latency = Latency { least: Ticks(0), greatest: Ticks(0) }, Form::Latency;
        /// In which order the messages of one connection and direction arrive.
        network: Network = Network::Fifo, Form::Words(Network::WORDS), by Operator;
        /// What a lock server remembers over a restart.
        persistence: Persistence = Persistence::Nothing, Form::Words(Persistence::WORDS), by Operator;
        /// How often a server writes its memory to disk, with `persistence` \"every-second\".
        fsync_every: Ticks = Ticks(1), Form::ticks(1), by Operator;
        /// How long a restarted server is down.
        restart_delay: Ticks = Ticks(0), Form::ticks(0), by Operator;
        /// How many replicas the lock server has. They copy it when they come to it.
        replicas: u8 = 0, Form::number("replicas", 0, MAX_REPLICAS), by Operator;
        /// By how many replicas a grant or a renewal has to be acknowledged before it counts (`WAIT`).
        acknowledged: u8 = 0, Form::number("replicas", 0, MAX_REPLICAS), by Author;
        /// Which replica takes the place of a master that is lost.
        promote: Promote = Promote::Any, Form::Words(Promote::WORDS), by Operator;
        /// By how many ticks a wall clock jumps, forward or back.
        /// If it is not stated: by the ttl, or by one tick without a ttl.
        jump: Option<Ticks> = None, Form::ticks(1), unless stated Settings::jump;
        /// By which clock the entries of a lock server expire.
        expiry: Expiry = Expiry::Wall, Form::Words(Expiry::WORDS), by Operator;
        /// By how many ticks the wall clock of each client is ahead of that of the client before.
        /// Only locks that keep times of day notice.
        offset: Ticks = Ticks(0), Form::ticks(0);
        /// For how many ticks a pause lasts at most. A pause of the same client again is another one.
        longest_pause: Option<Ticks> = None, Form::ticks(0).or("unlimited", "Until somebody ends it, if ever.");
        /// For how many ticks a delayed message stays under way beyond the greatest latency, at most.
        longest_delay: Option<Ticks> = None, Form::ticks(0).or("unlimited", "Until it arrives, if ever.");
        /// For how many ticks a link is cut at most.
        longest_partition: Option<Ticks> = None, Form::ticks(0).or("unlimited", "Until somebody heals it, if ever.");
        /// Whether a crashed client starts again, without memory.
        rejoin: bool = false, Form::Flag;
        /// How much happens in one step.
        grain: GrainChoice = GrainChoice::Auto, Form::Words(GrainChoice::WORDS);
    }
}

impl Settings {
    /// The timeout that counts.
    pub fn timeout(&self) -> Ticks {
        self.timeout.unwrap_or(Ticks(self.latency.greatest.0.saturating_mul(2).saturating_add(1)))
    }

    /// The greatest retry delay that counts.
    pub fn retry_delay_max(&self) -> Ticks {
        let double = self.retry_delay.0.saturating_mul(2).min(MAX_TICKS);
        self.retry_delay_max.unwrap_or(Ticks(double.max(self.retry_delay.0)))
    }

    /// The number of clients that counts.
    pub fn clients(&self) -> u8 {
        let lists = self.resources.as_ref().map_or(2, |r| r.0.len());
        self.clients.unwrap_or(u8::try_from(lists).unwrap_or(u8::MAX))
    }

    /// The locks of each client that count.
    pub fn resources(&self) -> Resources {
        self.resources
            .clone()
            .unwrap_or_else(|| Resources(vec![vec!["lock".to_owned()]; usize::from(self.clients.unwrap_or(2))]))
    }

    /// The jump of a wall clock that counts.
    pub fn jump(&self) -> Ticks {
        self.jump.or(self.ttl).unwrap_or(Ticks(1))
    }

    /// The quorum that counts.
    pub fn quorum(&self) -> u8 {
        match self.quorum {
            Quorum::Majority => self.nodes / 2 + 1,
            Quorum::Count(count) => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_documented() {
        let mut keys: Vec<_> = KNOBS.iter().map(|k| k.key).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
        for knob in KNOBS {
            assert!(knob.says().ends_with('.'), "{}", knob.key);
            assert_eq!(Knob::named(&knob.path()).map(|k| k.key), Some(knob.key));
        }
    }

    #[test]
    fn who_turns_a_knob_follows_from_what_it_is() {
        let keys = |hand| -> Vec<_> { KNOBS.iter().filter(|k| k.hand == hand).map(|k| k.key).collect() };
        let operators =
            ["nodes", "network", "persistence", "fsync_every", "restart_delay", "replicas", "promote", "expiry"];
        assert_eq!(keys(Hand::Operator), operators);
        let given = [
            "work",
            "writes",
            "updates",
            "clients",
            "resources",
            "latency",
            "jump",
            "offset",
            "longest_pause",
            "longest_delay",
            "longest_partition",
            "rejoin",
            "grain",
        ];
        assert_eq!(keys(Hand::Nobody), given);
        assert!(Section::Lock.knobs().chain(Section::Resource.knobs()).all(|k| k.hand == Hand::Author));
    }

    #[test]
    fn every_default_fits_and_is_not_stated() {
        let settings = Settings::default();
        for knob in KNOBS {
            assert_eq!(knob.stated(&settings), None, "{}", knob.key);
            assert_eq!(knob.get(&settings), knob.default(&settings), "{}", knob.key);
            let mut again = settings.clone();
            assert!(knob.set(&mut again, &Given::from_text(&knob.get(&settings))), "{}", knob.key);
        }
    }

    #[test]
    fn every_word_of_every_knob_can_be_set_and_read_back() {
        for knob in KNOBS {
            for word in knob.form.words() {
                let mut settings = Settings::default();
                assert!(knob.set(&mut settings, &Given::from_text(word.name)), "{} = {}", knob.key, word.name);
                assert_eq!(knob.get(&settings), format!("\"{}\"", word.name));
                assert_eq!(knob.form.meaning(&knob.get(&settings)), Some(word.says));
                assert!(word.says.ends_with('.'));
            }
        }
    }

    #[test]
    fn a_value_of_the_wrong_form_changes_nothing() {
        for knob in KNOBS {
            for text in ["nonsense", "1.5", "-1", "61", "99999999999999999999999999999999999999999", "[]", "[[]]"] {
                let mut settings = Settings::default();
                assert!(!knob.set(&mut settings, &Given::from_text(text)), "{} = {text}", knob.key);
                assert_eq!(settings, Settings::default());
            }
        }
    }

    #[test]
    fn defaults_follow_other_knobs() {
        let settings = Settings {
            latency: Latency { least: Ticks(1), greatest: Ticks(2) },
            ttl: Some(Ticks(7)),
            resources: Some(Resources(vec![vec!["a".to_owned()]; 3])),
            nodes: 5,
            retry_delay: Ticks(4),
            ..Settings::default()
        };
        assert_eq!(settings.timeout(), Ticks(5));
        assert_eq!(settings.jump(), Ticks(7));
        assert_eq!(settings.clients(), 3);
        assert_eq!(settings.quorum(), 3);
        assert_eq!(settings.retry_delay_max(), Ticks(8));
        let settings = Settings { clients: Some(4), ..Settings::default() };
        assert_eq!(settings.resources().0.len(), 4);
    }
}
