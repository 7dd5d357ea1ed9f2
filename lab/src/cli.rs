//! The flags as they are typed. What they mean together is decided in [`args`](crate::args).

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use check::scenario::{Named, Property};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::args::{Rate, address, bytes, duration, pace, rate};

/// The most threads that somebody may ask for.
const MAX_THREADS: u16 = 512;

const AFTER: &str = "\
Begin with:
  lab check redlock         what Redlock survives, and the shortest way to break it
  lab list                  the scenarios that come with the lab
  lab show redlock          one of them, with every knob explained
  lab check my-lock.toml    a lock of your own";

const USAGE_CHECK: &str = "\
lab check [OPTIONS] <NAME|FILE>...
       lab check [OPTIONS] --all";

const AFTER_CHECK: &str = "\
Exit codes, of several the first that applies:
  70  a bug of the lab
   2  wrong usage
   1  input, output or a bad file
  31  with --expect: a violation that is not expected
  30  with --expect: an expected violation is absent
  12  a safety property is violated
  11  deadlock: no-orphan or deadlock-free is violated
  20  inconclusive: a limit was hit
  21  vacuous: nothing is violated, but a witness was never reached
   0  everything asked for holds; with --expect: all as expected

With --expect, 12 and 11 do not occur: an expected violation is no failure.";

const AFTER_MATRIX: &str = "\
Every cell is a check of its own, as `lab check NAME --faults FAULT` does it; -v and --format json name the command.
Nothing is taken from what a scenario expects.

Results are kept for the next run in $LAB_CACHE, $XDG_CACHE_HOME/lock-lab or ~/.cache/lock-lab. They are read again only by
the very same program, for the very same scenario and questions; what a limit cut short is not kept. Limits hold for what is
computed.

Exit codes: 0 if every cell is known, 20 if one is not (a limit was hit), 1 and 2 as for `lab check`. This is a survey: that a
lock breaks is what it is asked for, so a violation is no failure here. Use `lab check --expect` to guard a lock.";

const AFTER_WEAKEST: &str = "\
For example:
  lab weakest pause-naive                     how long a pause is long enough?
  lab weakest redlock-clocked --ms TTL=30000  the same in milliseconds
  lab weakest my-lock.toml --most 3 --faults pause=2,jump,drop-reply

The faults of the scenario itself are left out of account: sets of faults are tried from none on. Everything is found by
running: \"2 ticks\" means that a check with 2 ticks finds a violation and that an exhaustive check with 1 tick finds none. A
formula such as TTL - margin is printed only if measuring anew in scenarios with greater numbers agrees with it everywhere.

Unless --max-states gives each check a limit, a single fault may take 3,000,000 states, and the checks of any other stage share
12,000,000; what could not be decided within them is told.

Exit codes: 0 if everything is decided, 20 if something is not (a limit was hit, or Ctrl-C), 1 and 2 as for `lab check`. That
a lock breaks is what it is asked for, so a violation is no failure here.";

const AFTER_REPAIR: &str = "\
Every change is a check of its own, and repairs a property only if the property holds afterwards: exhaustively, with every
witness reached. A row of a sheet is named behind a #: redlock#3, or 'redlock#one pause'.

What is turned are the knobs of [lock] and [resource]; with --world also what whoever runs the servers can change. The work,
the clients, the latency and the faults stay as they are: with less to bear, the lock would not be better.

Exit codes: 0 if every violated property has a repair or none is violated, 12 or 11 (as for `lab check`) if one has none, 20
if that could not be decided, 1 and 2 as for `lab check`.";

const USAGE_DIFF: &str = "\
lab diff [OPTIONS] <A> <B>
       lab diff [OPTIONS] <A> --with <KNOB=VALUE>";

const AFTER_DIFF: &str = "\
For example:
  lab diff release-del release-compare-and-delete   the two halves of a pair
  lab diff release-del --with ttl=4                 a scenario, and the same with another value
  lab diff redlock#1 redlock#6                      two rows of a sheet

Exit codes: 0 if all verdicts are the same, 10 if one differs, 20 if that could not be decided, 1 and 2 as for `lab check`.";

const AFTER_STRESS: &str = "\
For example:
  lab stress redlock --workers 16 --for 30s           more workers, for longer
  lab stress release-del --pause-rate 0.01            more pauses
  lab stress setnx --kill 0.001                       workers that die and come back
  lab stress fenced --redis 127.0.0.1:6379 --plot run.svg

Every worker is a thread with connections of its own and runs the program of the checker: take the lock, read the account,
write it back. A pause stops the whole thread. The checker is asked first, about the scenario with the work and the
faults that it is run with.

Exit codes, of several the first that applies:
   2  wrong usage
   1  a server or a file fails
  31  something was seen that the checker says cannot be
  12  a safety property was seen violated, as the checker says it can be
  11  a lock stands for ever when all workers have left
  20  nothing was seen, and the checker could not decide everything
  21  vacuous: nothing was seen, but no fault fell into a held lease, or no update was made
   0  nothing was seen";

const AFTER_REPLAY: &str = "\
For example:
  lab check release-del --trace-out trace.json   write a counterexample
  lab replay trace.json                          make it happen
  lab replay trace.json --watch                  and see each step
  lab replay trace.json --with release=compare-and-delete
                                                 the same schedule, another lock: where do they part?
  lab check release-del --replay                 in one go

Real redis-server processes, the real cores, and the choices of the trace. Clocks are moved by hand, so no time is waited for.
After each step what can be seen is compared with the model: what was sent and answered, what stands on the servers and for
how long, what the account holds, what the clients believe.

Exit codes:
   0  reproduced; with --with: the schedule does no harm
  12  with --with: the harm is done all the same
  40  diverged: the model and the real run part, or the trace is not as the model tells it
  41  all steps were taken, and nothing came of it
  42  real servers cannot be made to do it
   1  a file is bad, or a server fails
   2  wrong usage";

const AFTER_CONFORM: &str = "\
For example:
  lab conform redlock --walks 100                every row of the sheet
  lab conform redlock#1 --walks 1000 --seed 7    one of them, other walks
  lab conform my-lock.toml --faults pause=1,restart=1

Each walk takes steps that the model allows, drawn at random, in the model and on real servers, and compares after each step
what can be seen. The same seed draws the same walks.

Exit codes: 0 if they never part, 40 if they do, 42 if no walk could be taken to its end, 1 and 2 as for `lab replay`.";

const AFTER_UP: &str = "\
For example:
  lab up                                    one server, on a free port
  lab up redlock                            five of them
  lab up --format json                      a line of JSON, and then it waits

They listen on loopback only. Ctrl-C or SIGTERM stops them, and nothing is left behind; nor is it if the lab is killed.
The exit code is 0, or 1 if a server cannot be started or ends by itself.";

const AFTER_DOCTOR: &str = "\
Exit codes: 0 if all that is needed is there, 1 if something is missing that commands with servers need (the commands that
only search need nothing).";

const AFTER_RUNNER: &str = "\
  POST /run/JOB   runs the job (GET as well): 200 when it is done
                  400 no job's name, 409 it runs already, 429 asked for too often, both with Retry-After,
                  500 the lock was lost and the work cancelled, 503 Redis does not answer, or the runner ends
  GET /metrics    for Prometheus
  GET /healthz    200 if Redis answers, or else 503

Ctrl-C or SIGTERM: nothing new is accepted, jobs go on for --grace, and every lock is given back. A second one cancels them
at once. The exit code is 0, or 1 if the port is taken or a server cannot be started.";

const AFTER_TRACE: &str = "\
For example:
  lab check redlock-restart --trace-out trace.json   write a trace
  lab trace trace.json -v                            show it again, with what each step changed
  lab trace trace.json -o trace.mmd                  turn it into a sequence diagram
  lab check redlock --format json | lab trace -      show the first trace of a report

The exit code is 0, or 1 if the file cannot be read, is no trace, or cannot be written.";

/// A deterministic model checker and teaching workbench for distributed locks.
#[derive(Debug, Parser)]
#[command(name = "lab", version, about, after_help = AFTER, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The flags of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Globals {
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are honoured
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        visible_alias = "colour",
        help_heading = "Output"
    )]
    pub(crate) color: When,
    /// Use nothing but ASCII characters
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) ascii: bool,
    /// Print as if for a terminal this wide [default: that of the terminal, or 80]
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..=400), help_heading = "Output")]
    pub(crate) width: Option<u16>,
    /// Print the verdicts only: no progress, no trace, no hints
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print more: all witnesses, what each step changed, how likely a hash collision was
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the scenarios that come with the lab
    List(List),
    /// Show a scenario: its file, every knob explained, and what it expects
    Show(Show),
    /// Check scenarios exhaustively and show the shortest counterexample
    Check(Box<Check>),
    /// Compute the lock safety matrix: which faults break which locks
    Matrix(Box<Matrix>),
    /// Find the smallest faults that break a lock: the shortest pause, the smallest jump, the least drift
    Weakest(Box<Weakest>),
    /// Find the knobs to turn so that a violated property holds
    Repair(Box<Repair>),
    /// Compare two scenarios: which verdicts differ, and which keys make the difference
    Diff(Box<Diff>),
    /// Put real locks on real servers under stress, beside what the checker says of them
    Stress(Box<Stress>),
    /// Make a counterexample happen on real servers, step for step
    Replay(Box<Replay>),
    /// Hold the model against real servers, on random walks
    Conform(Box<Conform>),
    /// Start lock servers to try things on
    Up(Up),
    /// Say what of the lab can run here, and what to install for the rest
    Doctor(Doctor),
    /// Serve the job runner: one run of a job at a time, over HTTP
    Runner(Runner),
    /// Show a trace that `lab check` wrote, or turn it into another form
    Trace(ShowTrace),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a man page
    Man {
        /// The command that it is about [default: all of lab]
        #[arg(value_parser = ["list", "show", "check", "matrix", "weakest", "repair", "diff", "stress", "replay", "conform", "up", "doctor", "runner", "trace", "completions", "man"])]
        command: Option<String>,
    },
}

/// The flags of `lab list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// The flags of `lab show`.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The name of a scenario that comes with the lab, or a file
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: String,
}

/// The flags of `lab check`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_CHECK, override_usage = USAGE_CHECK)]
pub(crate) struct Check {
    /// Scenarios: names from `lab list`, or files
    #[arg(value_name = "NAME|FILE", required_unless_present = "all", value_hint = ValueHint::FilePath)]
    pub(crate) targets: Vec<String>,
    /// Check every scenario that comes with the lab
    #[arg(long, conflicts_with = "targets")]
    pub(crate) all: bool,

    /// Turn a knob; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to check")]
    pub(crate) set: Vec<String>,
    /// Allow these faults instead of those of the scenario, such as pause=1,restart=1, or none
    #[arg(long, value_name = "FAULTS", help_heading = "What to check")]
    pub(crate) faults: Vec<String>,
    /// Ask for this property only; may be given several times
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', value_parser = property(), hide_possible_values = false, help_heading = "What to check")]
    pub(crate) property: Vec<Property>,
    /// How much happens in one step [default: as the scenario says]
    #[arg(long, help_heading = "What to check")]
    pub(crate) grain: Option<Grain>,
    /// Compare with the verdicts that the scenario expects; exit with 0 if all match
    #[arg(long, help_heading = "What to check")]
    pub(crate) expect: bool,
    /// Report every violating state, not only the first of each property
    #[arg(long, conflicts_with = "all", help_heading = "What to check")]
    pub(crate) all_violations: bool,

    /// Which explorer searches
    #[arg(long, value_name = "ENGINE", default_value = "levels", help_heading = "How to search")]
    pub(crate) engine: Engine,
    /// Take states for one that differ only in the places of like clients and servers; it never changes a verdict
    #[arg(long, help_heading = "How to search")]
    pub(crate) symmetry: bool,
    #[command(flatten)]
    pub(crate) search: Search,

    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
    /// Write the trace that is shown into this file: text (.txt), JSON (.json), the Informal Trace Format (.itf.json) or
    /// a mermaid diagram (.mmd, .mermaid)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) trace_out: Option<PathBuf>,
    /// Make the trace that is shown happen on real servers, as `lab replay` does
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(crate) replay: bool,
}

/// The flags of every search.
#[derive(Args, Clone, Debug)]
pub(crate) struct Search {
    /// On how many threads; it never changes what comes out [default: all processors]
    #[arg(long, value_name = "N", value_parser = threads(), help_heading = "How to search")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Visit at most so many states in each check
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "How to search")]
    pub(crate) max_states: Option<u64>,
    /// Take at most so many steps in each check
    #[arg(long, value_name = "N", help_heading = "How to search")]
    pub(crate) max_depth: Option<u32>,
    /// Stop each check after so long: 10, 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How to search")]
    pub(crate) timeout: Option<Duration>,
    /// Stop each check when it occupies so many bytes: 500M, 2G
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "How to search")]
    pub(crate) memory: Option<u64>,
}

/// The servers of a command that needs some.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Servers {
    /// Use this server, such as redis://127.0.0.1:6379/ or 127.0.0.1:6379; may be given several times [default: start our
    /// own on free ports, and stop them at the end]
    #[arg(long, value_name = "URL", value_delimiter = ',', value_parser = address, help_heading = "Servers")]
    pub(crate) redis: Vec<String>,
}

/// The flags of `lab stress`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_STRESS)]
pub(crate) struct Stress {
    /// A scenario: a name from `lab list`, a row of a sheet behind a #, or a file
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: String,
    /// Turn a knob; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to run")]
    pub(crate) set: Vec<String>,
    /// So many workers, each a thread with connections of its own
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "What to run")]
    pub(crate) workers: u16,
    /// For so long: 10s, 2m, 1h
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "What to run")]
    pub(crate) duration: Duration,
    /// How long a tick of the scenario is, in whole milliseconds [default: so that a TTL is about 100ms]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "What to run")]
    pub(crate) tick: Option<Duration>,
    /// So many ticks of work in each update, beside its requests
    #[arg(long, value_name = "TICKS", default_value_t = 0, help_heading = "What to run")]
    pub(crate) work: u32,

    /// After which share of its steps a worker stops for a while
    #[arg(long, value_name = "RATE", default_value = "0.002", value_parser = rate, help_heading = "Faults")]
    pub(crate) pause_rate: f64,
    /// For how long at most [default: as the scenario bounds it, or twice the TTL]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Faults")]
    pub(crate) longest_pause: Option<Duration>,
    /// After which share of its steps a worker dies; another takes its place at once
    #[arg(long, value_name = "RATE", default_value = "0", value_parser = rate, help_heading = "Faults")]
    pub(crate) kill: f64,
    /// Kill one of the lock servers that often, and start it again
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "redis", help_heading = "Faults")]
    pub(crate) restart: Option<Duration>,

    #[command(flatten)]
    pub(crate) servers: Servers,
    #[command(flatten)]
    pub(crate) search: Search,

    /// Draw the run into this SVG file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The flags of `lab replay`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_REPLAY)]
pub(crate) struct Replay {
    /// A trace, or a report with traces, as `lab check` writes them; - reads from stdin
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    /// Of a report, the trace of this property
    #[arg(long, value_name = "PROPERTY", value_parser = property(), hide_possible_values = true)]
    pub(crate) property: Option<Property>,
    /// Turn a knob: the same schedule against another lock; may be given several times
    #[arg(long, value_name = "KNOB=VALUE")]
    pub(crate) with: Vec<String>,
    /// Do it so often; every run has to come out alike
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,
    /// Print the steps as they happen
    #[arg(long)]
    pub(crate) watch: bool,
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The flags of `lab conform`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_CONFORM)]
pub(crate) struct Conform {
    /// A scenario: a name from `lab list`, a row of a sheet behind a #, or a file
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: String,
    /// Turn a knob; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// Allow these faults instead of those of the scenario, such as pause=1,restart=1, or none
    #[arg(long, value_name = "FAULTS")]
    pub(crate) faults: Vec<String>,
    /// Take so many walks
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) walks: u32,
    /// Of so many steps each, at most
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) steps: u32,
    /// Draw the walks from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The flags of `lab up`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_UP)]
pub(crate) struct Up {
    /// What for
    #[arg(value_name = "WHAT", default_value = "redis")]
    pub(crate) what: UpWhat,
    /// How many servers [default: 1 for redis, 5 for redlock]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=7))]
    pub(crate) servers: Option<u8>,
    /// What they bring to disk, in their temporary folder
    #[arg(long, value_name = "WHEN", default_value = "nothing")]
    pub(crate) persistence: UpPersistence,
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// What servers are started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UpWhat {
    /// A lock on one server
    Redis,
    /// A lock of which a majority of independent servers decides
    Redlock,
}

/// What servers bring to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UpPersistence {
    /// Nothing: a server that restarts has forgotten everything
    Nothing,
    /// Everything, about once a second
    EverySecond,
    /// Everything, before it answers
    Always,
}

/// The flags of `lab doctor`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_DOCTOR)]
pub(crate) struct Doctor {
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// The flags of `lab runner`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_RUNNER)]
pub(crate) struct Runner {
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 3001)]
    pub(crate) port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// How long a lock lasts without a renewal; it is renewed while the job runs
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Jobs")]
    pub(crate) ttl: Duration,
    /// How long the work of a job takes
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, help_heading = "Jobs")]
    pub(crate) work: Duration,
    /// How often each job may be asked for, counted on the server for all runners together, or none for no limit
    #[arg(long, value_name = "N/TIME", default_value = "30/1m", value_parser = pace, help_heading = "Jobs")]
    pub(crate) rate: Rate,
    /// How long jobs may go on when the runner is asked to end; then they are cancelled
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Jobs")]
    pub(crate) grace: Duration,
    /// What is logged on stderr: a level, or targets and levels such as info,lab::lock=debug
    #[arg(long, value_name = "FILTER", default_value = "info", help_heading = "Output")]
    pub(crate) log: String,
    /// The form of the log
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) log_format: Format,
}

/// The flags of `lab matrix`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_MATRIX)]
pub(crate) struct Matrix {
    /// The rows: names from `lab list`, or files [default: the locks that everybody asks about]
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) targets: Vec<String>,

    /// Turn a knob in all rows; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to check")]
    pub(crate) set: Vec<String>,
    /// The columns, such as pause=2,restart [default: one of each fault]
    #[arg(long, value_name = "FAULTS", help_heading = "What to check")]
    pub(crate) faults: Vec<String>,

    #[command(flatten)]
    pub(crate) search: Search,
    /// Neither read nor keep results
    #[arg(long, help_heading = "How to search")]
    pub(crate) no_cache: bool,
    /// Compute everything anew, and keep the results
    #[arg(long, conflicts_with = "no_cache", help_heading = "How to search")]
    pub(crate) refresh: bool,

    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: MatrixFormat,
}

/// The form of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixFormat {
    /// To read; -v explains every cell
    Text,
    /// For programs; lab/SCHEMA.md describes it
    Json,
    /// A table to paste into a README
    Markdown,
}

/// The flags of `lab weakest`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_WEAKEST)]
pub(crate) struct Weakest {
    /// A scenario: a name from `lab list`, or a file
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: String,

    /// Turn a knob; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to check")]
    pub(crate) set: Vec<String>,
    /// Draw from these faults, such as pause=2,jump [default: from all, as often as --most says]
    #[arg(long, value_name = "FAULTS", help_heading = "What to check")]
    pub(crate) faults: Vec<String>,
    /// Ask for this property only; may be given several times
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', value_parser = property(), hide_possible_values = false, help_heading = "What to check")]
    pub(crate) property: Vec<Property>,
    /// Try sets of so many faults; of drift alone, more are tried
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=4), help_heading = "What to check")]
    pub(crate) most: u8,
    /// Do not put magnitudes in terms of the numbers of the scenario
    #[arg(long, help_heading = "What to check")]
    pub(crate) no_formula: bool,

    #[command(flatten)]
    pub(crate) search: Search,

    /// Say how long a number of the scenario is in milliseconds, such as TTL=30000, and speak of milliseconds
    #[arg(long, value_name = "KEY=MS", help_heading = "Output")]
    pub(crate) ms: Vec<String>,
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The flags of `lab repair`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_REPAIR)]
pub(crate) struct Repair {
    /// The scenario: a name from `lab list` or a file, and of a sheet the row: NAME#ROW
    #[arg(value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) target: String,

    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Also turn what whoever runs the lock servers can change: persistence, nodes, replicas, the network
    #[arg(long, help_heading = "What to turn")]
    pub(crate) world: bool,
    /// When to turn two knobs at once
    #[arg(long, value_name = "WHEN", default_value = "needed", help_heading = "What to turn")]
    pub(crate) pairs: PairsWhen,

    #[command(flatten)]
    pub(crate) search: Search,
    /// Stop everything after so long, and print what is known: 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How to search")]
    pub(crate) within: Option<Duration>,

    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// When two knobs are turned at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PairsWhen {
    /// For what no single change repairs without breaking something else
    Needed,
    /// Also for the rest
    Always,
    /// Never
    Never,
}

/// The flags of `lab diff`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_DIFF, override_usage = USAGE_DIFF)]
pub(crate) struct Diff {
    /// The first scenario: a name from `lab list` or a file, and of a sheet the row: NAME#ROW
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) left: String,
    /// The second [default: the first, with what --with says]
    #[arg(value_name = "B", required_unless_present_any = ["with", "with_faults"], value_hint = ValueHint::FilePath)]
    pub(crate) right: Option<String>,

    /// Turn a knob in the second scenario only
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to check")]
    pub(crate) with: Vec<String>,
    /// Allow these faults in the second scenario only
    #[arg(long, value_name = "FAULTS", help_heading = "What to check")]
    pub(crate) with_faults: Vec<String>,
    #[command(flatten)]
    pub(crate) asked: Asked,

    #[command(flatten)]
    pub(crate) search: Search,
    /// Stop everything after so long, and print what is known: 10s, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How to search")]
    pub(crate) within: Option<Duration>,

    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,
}

/// The flags that say what is asked of which scenario.
#[derive(Args, Clone, Debug)]
pub(crate) struct Asked {
    /// Turn a knob; `lab show` explains all of them
    #[arg(long, value_name = "KNOB=VALUE", help_heading = "What to check")]
    pub(crate) set: Vec<String>,
    /// Allow these faults instead of those of the scenario, such as pause=1,restart=1, or none
    #[arg(long, value_name = "FAULTS", help_heading = "What to check")]
    pub(crate) faults: Vec<String>,
    /// Ask for this property only; may be given several times
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', value_parser = property(), help_heading = "What to check")]
    pub(crate) property: Vec<Property>,
}

/// The flags of `lab trace`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_TRACE)]
pub(crate) struct ShowTrace {
    /// What --trace-out FILE.json or --format json of `lab check` wrote; - is stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: String,
    /// The form of the output [default: as the name after --out says, or text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Form>,
    /// Write it into this file: .txt, .json, .itf.json, .mmd or .mermaid, unless --format says what it is
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Of a report with several traces, the first of this property [default: the first]
    #[arg(long, value_name = "PROPERTY", value_parser = property())]
    pub(crate) property: Option<Property>,
}

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// To read; -v shows what each step changed
    Text,
    /// To keep, to send and to show again
    Json,
    /// Apalache's Informal Trace Format (JSON): a state for each step, for tools
    Itf,
    /// A sequence diagram, which GitHub, GitLab and mdBook draw
    Mermaid,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// To read
    Text,
    /// For programs; lab/SCHEMA.md describes it
    Json,
}

/// Which explorer searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Level by level: the shortest counterexamples, the same on any number of threads
    Levels,
    /// The breadth-first search of the crate stateright, to compare with; it knows no graph properties
    Stateright,
}

/// How much happens in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grain {
    /// An exchange is one step where nothing can fall between a request and its reply
    Auto,
    /// Request and reply are steps of their own
    Message,
    /// Request and reply are one step
    Exchange,
}

fn property() -> impl TypedValueParser<Value = Property> {
    let names = Property::WORDS.iter().map(|word| clap::builder::PossibleValue::new(word.name).help(word.says));
    PossibleValuesParser::new(names).try_map(|name| Property::named(&name).ok_or("no property"))
}

fn threads() -> impl TypedValueParser<Value = NonZeroUsize> {
    clap::value_parser!(u16)
        .range(1..=i64::from(MAX_THREADS))
        .try_map(|count| NonZeroUsize::new(usize::from(count)).ok_or("none"))
}

#[cfg(test)]
mod tests {
    use super::Cli;

    #[test]
    fn the_flags_fit_together() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
