//! Panics become a message and an exit code.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;

/// The first panic, which is the cause of any others.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Does the work; if any thread of it panics, gives what the panic said and where.
///
/// Nothing is printed, unless the environment asks for backtraces.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let wants_backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        keep(info);
        if wants_backtrace {
            default(info);
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let first = FIRST.lock().ok().and_then(|mut first| first.take());
        first.unwrap_or_else(|| "something panicked".to_owned())
    })
}

fn keep(info: &PanicHookInfo<'_>) {
    let said = info.payload_as_str().unwrap_or("something panicked");
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    if let Ok(mut first) = FIRST.lock() {
        first.get_or_insert_with(|| format!("{said}{place}"));
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let said = guarded(|| panic!("seven is {}", "odd")).map(|()| 0).unwrap_err();
        assert!(said.starts_with("seven is odd (") && said.contains("guard.rs:"), "{said}");
        assert_eq!(guarded(|| 7), Ok(7));
    }
}
