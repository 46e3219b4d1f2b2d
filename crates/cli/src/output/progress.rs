//! Progress spinner on standard error, removed when the work is done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::printer::Printer;

/// Delay before progress is shown.
const PATIENCE: Duration = Duration::from_millis(300);

/// Counts processed skills, and shows the count after a delay.
#[derive(Debug)]
pub(crate) struct Progress {
    wanted: bool,
    started: Instant,
    done: AtomicUsize,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(printer: &Printer) -> Self {
        Self {
            wanted: printer.shows_progress(),
            started: Instant::now(),
            done: AtomicUsize::new(0),
            bar: OnceLock::new(),
        }
    }

    /// Counts one more skill.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.wanted && done.is_multiple_of(64) && self.started.elapsed() > PATIENCE {
            self.bar.get_or_init(spinner).set_position(done as u64);
        }
    }

    /// Returns the elapsed time as text.
    pub(crate) fn elapsed(&self) -> String {
        let elapsed = self.started.elapsed();
        match elapsed.as_millis() {
            0 => "less than 1 ms".to_owned(),
            ms if ms < 1000 => format!("{ms} ms"),
            _ => format!("{:.1} s", elapsed.as_secs_f64()),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {pos} skills")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
