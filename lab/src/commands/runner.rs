//! `lab runner`: the job runner as a service.

use crate::backend::Backend;
use crate::cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lock::without_password;
use crate::output::Output;
use crate::runner;

use super::up::runtime;

/// Serves until it is asked to end.
pub(super) fn run(raw: cli::Runner, output: &mut Output) -> Result<Exit, Failure> {
    runner::log(&raw.log, raw.log_format)?;
    // The service can be up before its server is: /healthz says so.
    let mut backend = Backend::unasked(&raw.servers, 1)?;
    let url = backend.urls()[0].clone();
    let whose = if backend.own().is_empty() { "" } else { " (our own: it ends with the runner)" };
    let settings = runner::Settings { ttl: raw.ttl, work: raw.work, rate: raw.rate, grace: raw.grace };
    runtime()?.block_on(async {
        let service = runner::Service::bind((raw.host, raw.port).into(), &url, settings).await?;
        let address = service.address();
        output.put(&format!(
            "The job runner listens on http://{address}\n  locks are on {}{whose}\n\nTry it:\n  curl -i -X POST \
             http://{address}/run/42\n\nCtrl-C stops it.\n",
            without_password(&url)
        ))?;
        service.run().await
    })?;
    drop(backend);
    Ok(Exit::Holds)
}
