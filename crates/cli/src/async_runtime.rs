//! Runs work to completion, with cancellation on Ctrl-C and other signals that end a program.

use std::future::Future;

use crate::output::Failure;
use prowess::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs `work` to completion. The first interrupt cancels it, the second one exits the program.
pub(crate) fn on<T, F: Future<Output = Result<T, Failure>>>(
    work: impl FnOnce(CancellationToken) -> F,
) -> Result<T, Failure> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    runtime.spawn(listen(move || token.cancel()));
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

async fn listen(cancel: impl FnOnce()) {
    let Ok(mut signals) = Signals::new() else {
        return;
    };
    signals.next().await;
    cancel();
    signals.next().await;
    crate::output::leave(crate::output::Exit::Interrupted);
}

/// The signals that end a command line program: `INT`, `TERM` and `HUP`.
struct Signals([Option<Signal>; 3]);

impl Signals {
    /// Starts to handle the signals, except those that the parent process has ignored: `nohup` does.
    fn new() -> std::io::Result<Self> {
        let ignored = ignored_signals();
        let handle = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| signal(kind)).transpose()
        };
        Ok(Self([
            handle(SignalKind::interrupt())?,
            handle(SignalKind::terminate())?,
            handle(SignalKind::hangup())?,
        ]))
    }

    /// Waits for one of them.
    async fn next(&mut self) {
        async fn received(signal: &mut Option<Signal>) {
            let received = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if received.is_none() {
                std::future::pending::<()>().await;
            }
        }
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
            () = received(hangup) => {}
        }
    }
}

/// Returns the set of signals that this process ignores, as far as the system says.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.unwrap_or(0)
}

/// Calls `cancel` on the first interrupt, which is awaited on a separate thread. The second one exits
/// the program.
pub(crate) fn cancelling(cancel: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new("cannot start the async runtime").cause(error))?;
    std::thread::spawn(move || runtime.block_on(listen(cancel)));
    Ok(())
}
