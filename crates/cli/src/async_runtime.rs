//! Runs async work to completion, with cancellation on Ctrl-C.

use std::future::Future;

use crate::output::Failure;
use prowess::CancellationToken;

/// Runs `work` to completion. The first interrupt cancels it, the second one exits the program.
pub(crate) fn on<T, F: Future<Output = Result<T, Failure>>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, Failure> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    runtime.spawn(listen(cancel.clone()));
    let done = runtime.block_on(work(cancel));
    // Blocked tasks must not delay the exit.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

/// Runs work that handles interrupts itself.
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
        .map_err(|error| Failure::new("cannot start the async runtime").cause(error))
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

/// Cancels the token on an interrupt, which is awaited on a separate thread.
pub(crate) fn cancelling(cancel: CancellationToken) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start the async runtime").cause(error))?;
    std::thread::spawn(move || runtime.block_on(listen(cancel)));
    Ok(())
}
