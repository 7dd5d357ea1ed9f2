//! `lab trace`.

use crate::args::Settled;
use crate::cli::{Form, ShowTrace};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, tell};
use crate::render;
use crate::tracefile::{TraceFile, TraceForm, read};

/// Shows a trace that was written to a file.
pub(super) fn run(raw: ShowTrace, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let form = raw.format.map(|format| match format {
        Form::Text => TraceForm::Text,
        Form::Json => TraceForm::Json,
        Form::Itf => TraceForm::Itf,
        Form::Mermaid => TraceForm::Mermaid,
    });
    let out = raw.out.map(|path| TraceFile::new("--out", path, form)).transpose()?;
    let found = read(&raw.file, raw.property)?;
    if found.others > 0 && !settled.quiet {
        tell(&format!(
            "the first of {} traces: {}, {}; --property names another\n",
            found.others + 1,
            shown(&found.trace.scenario.title),
            shown(&found.trace.property.name)
        ));
    }
    match out {
        Some(file) => {
            file.write(&render::trace::written(&found.trace, file.form, settled, false))?;
            if !settled.quiet {
                tell(&format!("The trace is in {}\n", shown(&file.path.to_string_lossy())));
            }
        }
        None => {
            let form = form.unwrap_or(TraceForm::Text);
            output.put(&render::trace::written(&found.trace, form, settled, settled.colour))?;
        }
    }
    Ok(Exit::Holds)
}
