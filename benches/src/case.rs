//! What is measured: a space of states, and an engine that searches all of it.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;

use check::explore::{Expand, Exploration, Options, Unwatched, explore};
use check::scenario::Scenario;
use check::{LockModel, catalogue};
use stateright::{Checker as _, Model as _};
use stateright_030::Checker as _;

use crate::lease;
use crate::small::Small;

/// A space of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// The [small Redlock](Small): how many clients, how many nodes, how long a lease.
    Small(u32, u32, u64),
    /// The world of a scenario.
    World(World),
    /// The [plain lease](lease), written twice.
    Lease(lease::Size),
}

/// A scenario of the catalogue, with some of it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// Its id.
    pub id: String,
    /// Of a sheet, the title of the row.
    pub row: Option<String>,
    /// The faults instead of its own, as on the command line.
    pub faults: Option<String>,
    /// Knobs that are turned, as on the command line.
    pub sets: Vec<String>,
}

/// Who searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Ours, for the properties of single states, on so many threads.
    Levels(NonZeroUsize),
    /// Ours, which also decides whether the lock can always become free and every client always finish.
    Graph(NonZeroUsize),
    /// stateright 0.31.0, breadth first, one thread.
    Stateright,
    /// stateright 0.30.2, breadth first, one thread.
    Stateright030,
}

impl Engine {
    /// Ours, for the properties of single states, on one thread: the engine that is compared with the others.
    pub const LEVELS: Self = Self::Levels(NonZeroUsize::MIN);
    /// Ours, for all properties, on one thread.
    pub const GRAPH: Self = Self::Graph(NonZeroUsize::MIN);

    fn named(name: &str) -> Option<Self> {
        let (name, threads) = name.split_once('*').unwrap_or((name, "1"));
        let threads = threads.parse().ok()?;
        match name {
            "levels" => Some(Self::Levels(threads)),
            "graph" => Some(Self::Graph(threads)),
            "stateright" => Some(Self::Stateright),
            "stateright-0.30" => Some(Self::Stateright030),
            _ => None,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Levels(threads) => write!(f, "levels*{threads}"),
            Self::Graph(threads) => write!(f, "graph*{threads}"),
            Self::Stateright => f.write_str("stateright"),
            Self::Stateright030 => f.write_str("stateright-0.30"),
        }
    }
}

/// How large a space turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Different states.
    pub unique: u64,
    /// Initial states and successors, each as often as it occurred.
    pub generated: u64,
    /// The most steps that a state is away from the first.
    pub depth: u64,
}

/// A search that is ready to run. Building its model is not measured.
pub type Search = Box<dyn FnOnce() -> Counts>;

/// Prepares a search.
///
/// # Errors
///
/// If there is no such scenario, or the engine has no such model.
pub fn prepare(space: &Space, engine: Engine) -> io::Result<Search> {
    match space {
        Space::Small(clients, nodes, ttl) => Ok(small(Small::new(*clients, *nodes, *ttl, 0), engine)),
        Space::World(world) => lock_model(LockModel::new(world.setup()?), engine),
        Space::Lease(size) => {
            let setup = size.world().setup()?;
            match engine {
                Engine::Levels(_) | Engine::Graph(_) => lock_model(LockModel::new(setup), engine),
                Engine::Stateright => {
                    let model = lease::actors(setup);
                    Ok(Box::new(move || by_stateright(model.checker())))
                }
                Engine::Stateright030 => Err(without(engine)),
            }
        }
    }
}

fn small(model: Small, engine: Engine) -> Search {
    match engine {
        Engine::Levels(threads) | Engine::Graph(threads) => Box::new(move || ours(&model, threads, 0)),
        Engine::Stateright => Box::new(move || by_stateright(stateright::Model::checker(model))),
        Engine::Stateright030 => Box::new(move || by_stateright_030(stateright_030::Model::checker(model))),
    }
}

/// The goals of a [`LockModel`]: that every lock is free, and that every client has finished.
const GOALS: u8 = 0b11;

fn lock_model(model: LockModel, engine: Engine) -> io::Result<Search> {
    Ok(match engine {
        Engine::Levels(threads) => Box::new(move || ours(&model, threads, 0)),
        Engine::Graph(threads) => Box::new(move || ours(&model, threads, GOALS)),
        Engine::Stateright => Box::new(move || by_stateright(model.checker())),
        Engine::Stateright030 => return Err(without(engine)),
    })
}

fn without(engine: Engine) -> io::Error {
    io::Error::other(format!("{engine} has only the small model"))
}

fn ours<M>(model: &M, threads: NonZeroUsize, goals: u8) -> Counts
where
    M: Expand + Sync,
    M::State: std::hash::Hash + Send + Sync,
{
    let Exploration { unique, generated, depth, .. } =
        &explore(model, &Options { threads, goals, ..Options::default() }, &mut Unwatched);
    Counts { unique: *unique, generated: *generated, depth: u64::from(*depth) }
}

/// Searches with a builder of either release: the traits have the same methods.
macro_rules! search_with {
    ($name:ident, $stateright:ident) => {
        fn $name<M>(builder: $stateright::CheckerBuilder<M>) -> Counts
        where
            M: $stateright::Model + Send + Sync + 'static,
            M::State: std::hash::Hash + fmt::Debug + Clone + PartialEq + Send + Sync + 'static,
            M::Action: Clone + PartialEq,
        {
            let checker = builder.threads(1).spawn_bfs().join();
            Counts {
                unique: checker.unique_state_count() as u64,
                generated: checker.state_count() as u64,
                // stateright counts the states on the way, not the steps.
                depth: checker.max_depth().saturating_sub(1) as u64,
            }
        }
    };
}

search_with!(by_stateright, stateright);
search_with!(by_stateright_030, stateright_030);

impl World {
    /// A row of the sheet `redlock`.
    #[must_use]
    pub fn redlock(row: &str) -> Self {
        Self { id: "redlock".to_owned(), row: Some(row.to_owned()), ..Self::default() }
    }

    fn scenario(&self) -> io::Result<Scenario> {
        let found = catalogue::find(&self.id).map_err(io::Error::other)?;
        let mut scenario = found.ok_or_else(|| io::Error::other(format!("there is no scenario {}", self.id)))?;
        for set in &self.sets {
            scenario.set(set).map_err(io::Error::other)?;
        }
        if let Some(faults) = &self.faults {
            scenario.set_faults(faults).map_err(io::Error::other)?;
        }
        let Some(title) = &self.row else { return Ok(scenario) };
        let row = scenario.expand().into_iter().find(|row| row.title == *title);
        row.ok_or_else(|| io::Error::other(format!("{} has no row \"{title}\"", self.id)))
    }

    /// What it is made of.
    ///
    /// # Errors
    ///
    /// If there is no such scenario or row, or what is changed is refused.
    pub fn setup(&self) -> io::Result<world::Setup> {
        self.scenario()?.resolve().map_err(io::Error::other)
    }
}

impl Space {
    /// The small Redlock with which searches are compared: two clients, three nodes, leases of three ticks.
    pub const SMALL: Self = Self::Small(2, 3, 3);
    /// One that is searched in no time: leases of one tick.
    pub const TINY: Self = Self::Small(2, 3, 1);
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

impl Space {
    /// The space in words, as the binary takes them.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Small(clients, nodes, ttl) => {
                vec!["small".to_owned(), clients.to_string(), nodes.to_string(), ttl.to_string()]
            }
            Self::Lease(size) => vec!["lease".to_owned(), size.latency.to_string(), size.updates.to_string()],
            Self::World(World { id, row, faults, sets }) => {
                let row = row.iter().map(|row| format!("row={row}"));
                let faults = faults.iter().map(|faults| format!("faults={faults}"));
                let sets = sets.iter().map(|set| format!("set={set}"));
                ["world".to_owned(), id.clone()].into_iter().chain(row).chain(faults).chain(sets).collect()
            }
        }
    }

    fn from_words(words: &[&str]) -> Option<Self> {
        match words {
            [kind, clients, nodes, ttl] if *kind == "small" => {
                Some(Self::Small(clients.parse().ok()?, nodes.parse().ok()?, ttl.parse().ok()?))
            }
            [kind, latency, updates] if *kind == "lease" => {
                Some(Self::Lease(lease::Size { latency: latency.parse().ok()?, updates: updates.parse().ok()? }))
            }
            [kind, id, changes @ ..] if *kind == "world" => {
                let mut world = World { id: (*id).to_owned(), ..World::default() };
                for change in changes {
                    match change.split_once('=')? {
                        ("row", row) => world.row = Some(row.to_owned()),
                        ("faults", faults) => world.faults = Some(faults.to_owned()),
                        ("set", set) => world.sets.push(set.to_owned()),
                        _ => return None,
                    }
                }
                Some(Self::World(world))
            }
            _ => None,
        }
    }
}

/// An engine and a space, from words.
#[must_use]
pub fn parse(words: &[&str]) -> Option<(Engine, Space)> {
    let (engine, space) = words.split_first()?;
    Some((Engine::named(engine)?, Space::from_words(space)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back() {
        let world = World {
            faults: Some("pause=1,restart=1".to_owned()),
            sets: vec!["ttl=4".to_owned(), "latency=[0, 1]".to_owned()],
            ..World::redlock("one pause")
        };
        let spaces = [Space::Small(2, 3, 1), Space::Lease(lease::Size { latency: 2, updates: 3 }), Space::World(world)];
        let two = NonZeroUsize::new(2).unwrap();
        let engines = [Engine::Levels(two), Engine::Graph(two), Engine::Stateright, Engine::Stateright030];
        for space in spaces {
            for engine in engines {
                let words: Vec<_> = [engine.to_string()].into_iter().chain(space.words()).collect();
                let words: Vec<_> = words.iter().map(String::as_str).collect();
                assert_eq!(parse(&words), Some((engine, space.clone())), "{words:?}");
            }
        }
        assert_eq!(parse(&["levels", "world"]), None);
        assert_eq!(parse(&["bfs", "small", "2", "3", "1"]), None);
    }
}
