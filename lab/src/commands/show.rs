//! `lab show`.

use check::catalogue;

use crate::args::Settled;
use crate::cli::Show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::render;
use crate::target::Target;

/// Shows a scenario.
pub(super) fn run(show: &Show, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let target = Target::find(&show.target)?;
    let pair = match &target.scenario.pair {
        Some(id) => catalogue::find(id).map_err(|errors| Failure::Bug(errors.to_string()))?,
        None => None,
    };
    output.put(&render::show::text(&target, pair.as_ref(), settled))?;
    Ok(Exit::Holds)
}
