//! What a command does to an entry.

use protocol::Verb;

/// What a command of a core is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It asks for the lock, or takes it over.
    Takes,
    /// It asks for more time: an entry that it puts anew is the grant that its sender has already.
    Renews,
    /// It gives the lock back.
    Frees,
    /// It changes no entry that anybody holds.
    Nothing,
}

/// When a command makes the entry a new one of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Puts {
    /// Never.
    Never,
    /// If there is none.
    IfAbsent,
    /// If there is one.
    IfPresent,
    /// Whatever there is.
    Always,
}

impl Deed {
    /// What a verb is there for.
    pub(crate) fn of(verb: Verb) -> Self {
        match verb {
            Verb::SetNxPx | Verb::Setnx | Verb::Enter | Verb::Claim | Verb::GetSet => Self::Takes,
            Verb::SetXxPx
            | Verb::SetPx
            | Verb::Pexpire
            | Verb::Limit
            | Verb::CompareAndExtend
            | Verb::ExtendOrCreate => Self::Renews,
            Verb::Del | Verb::CompareAndDelete | Verb::Exit => Self::Frees,
            Verb::Get | Verb::Look | Verb::Clear | Verb::Incr | Verb::Wait | Verb::Subscribe => Self::Nothing,
        }
    }

    /// Whether it must not take effect on another's entry.
    pub(crate) fn is_about_own(self) -> bool {
        matches!(self, Self::Renews | Self::Frees)
    }
}

impl Puts {
    /// When a verb puts an entry.
    pub(crate) fn of(verb: Verb) -> Self {
        match verb {
            Verb::SetNxPx | Verb::Setnx | Verb::Enter | Verb::ExtendOrCreate => Self::IfAbsent,
            Verb::SetXxPx => Self::IfPresent,
            Verb::SetPx | Verb::Claim | Verb::GetSet => Self::Always,
            Verb::Pexpire
            | Verb::Limit
            | Verb::CompareAndExtend
            | Verb::Get
            | Verb::Look
            | Verb::Del
            | Verb::Clear
            | Verb::CompareAndDelete
            | Verb::Exit
            | Verb::Incr
            | Verb::Wait
            | Verb::Subscribe => Self::Never,
        }
    }

    /// Whether it puts one where one stands.
    pub(crate) fn overwrites(self) -> bool {
        matches!(self, Self::IfPresent | Self::Always)
    }
}
