//! A trace in any form.

use trace::Trace;
use trace::render::{itf, json, mermaid, terminal};

use crate::args::Settled;
use crate::tracefile::TraceForm;

/// The trace, with a newline at the end. Only text has colours.
pub(crate) fn written(trace: &Trace, form: TraceForm, settled: &Settled, colour: bool) -> String {
    match form {
        TraceForm::Text => {
            let style =
                terminal::Style { width: settled.width, colour, ascii: settled.ascii, changes: settled.verbose };
            terminal::render(trace, &style)
        }
        TraceForm::Json => json::to_json(trace),
        TraceForm::Itf => itf::to_itf(trace),
        TraceForm::Mermaid => mermaid::to_mermaid(trace),
    }
}
