//! `lab list`.

use crate::args::Settled;
use crate::cli::{Format, List};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::render;
use crate::target::Target;

/// Lists the catalogue.
pub(super) fn run(list: &List, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let scenarios: Vec<_> = Target::all()?.into_iter().map(|target| target.scenario).collect();
    output.put(&match list.format {
        Format::Text => render::list::text(&scenarios, settled),
        Format::Json => render::json::list(&scenarios),
    })?;
    Ok(Exit::Holds)
}
