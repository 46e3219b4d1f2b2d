//! Waiting for something that takes long, with a way to stop it.

use std::future::Future;

use crate::output::Failure;
use prowess::CancellationToken;

/// Waits for work. The first interrupt cancels it, the second one ends the program.
pub(crate) fn on<T, F: Future<Output = Result<T, Failure>>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, Failure> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    runtime.spawn(listen(cancel.clone()));
    let done = runtime.block_on(work(cancel));
    // Whatever still hangs must not keep the person waiting.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

/// Waits for work that looks after interrupts itself.
pub(crate) fn without_interrupts<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start").cause(error))
}

async fn listen(cancel: CancellationToken) {
    let interrupted = async || tokio::signal::ctrl_c().await.is_ok();
    if !interrupted().await {
        return;
    }
    cancel.cancel();
    if interrupted().await {
        crate::output::leave(crate::output::Exit::Interrupted);
    }
}

/// Cancels something when an interrupt comes, on a thread of its own.
pub(crate) fn cancelling(cancel: CancellationToken) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start").cause(error))?;
    std::thread::spawn(move || runtime.block_on(listen(cancel)));
    Ok(())
}
