//! What a trace can be shown as. A renderer reads a [`Trace`](crate::Trace) and nothing else.

pub mod itf;
pub mod json;
pub mod mermaid;
pub mod terminal;
pub mod text;
