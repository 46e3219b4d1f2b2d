//! Logging to standard error and traces for an OpenTelemetry collector.

use std::fmt::{Debug, Write as _};
use std::io::IsTerminal;
use std::time::Instant;

use crate::output::{Aside, Failure, Printer};
use prowess::traits::telemetry as names;
use prowess_diag::sanitize;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::runtime_setup::Variables;

#[cfg(feature = "otel")]
mod otlp;

/// Requested log output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// Number of `-v` flags.
    pub verbose: u8,
    /// `true` if the command draws on the whole terminal, so that log lines would garble it.
    pub screen: bool,
}

/// Runs `work` with logging and tracing enabled.
pub(crate) fn during<T>(
    asked: Asked,
    variables: &Variables,
    printer: &Printer,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let telemetry = start(asked, variables, printer.live())?;
    let done = work();
    telemetry.finish(printer);
    done
}

/// Active exporters; finished at the end of the program.
struct Telemetry {
    #[cfg(feature = "otel")]
    export: Option<otlp::Export>,
}

fn start(asked: Asked, variables: &Variables, out: Aside) -> Result<Telemetry, Failure> {
    let wanted = filter(asked.verbose, variables("PROWESS_LOG").as_deref())?;
    let lines = wanted
        .filter(|_| !(asked.screen && std::io::stderr().is_terminal()))
        .map(|filter| {
            let lines = Lines {
                filter: filter.clone(),
                began: Instant::now(),
                out,
            };
            lines.with_filter(filter)
        });
    #[cfg(feature = "otel")]
    {
        let export = otlp::Export::from(variables)?;
        if lines.is_some() || export.is_some() {
            let spans = export
                .as_ref()
                .map(|export| export.layer().with_filter(ours(LevelFilter::INFO)));
            // Fails if a subscriber is already installed, which is then kept.
            let _ = tracing_subscriber::registry()
                .with(lines)
                .with(spans)
                .try_init();
        }
        Ok(Telemetry { export })
    }
    #[cfg(not(feature = "otel"))]
    {
        if lines.is_some() {
            let _ = tracing_subscriber::registry().with(lines).try_init();
        }
        Ok(Telemetry {})
    }
}

impl Telemetry {
    /// Sends pending spans, and warns if that fails.
    #[cfg_attr(
        not(feature = "otel"),
        allow(
            clippy::unused_self,
            reason = "without the feature there is nothing to send"
        )
    )]
    fn finish(self, printer: &Printer) {
        #[cfg(feature = "otel")]
        if let Some(Err(why)) = self.export.map(otlp::Export::finish) {
            printer.warn(&format!("cannot send all spans to the collector: {why}"));
        }
        #[cfg(not(feature = "otel"))]
        let _ = printer;
    }
}

/// Returns the log filter, or `None` if logging is off. `-v` overrides the variable.
fn filter(verbose: u8, variable: Option<&str>) -> Result<Option<Targets>, Failure> {
    match (
        verbose,
        variable.map(str::trim).filter(|text| !text.is_empty()),
    ) {
        (0, None) => Ok(None),
        (0, Some(text)) => text.parse().map(Some).map_err(|error| {
            Failure::new("invalid filter in `PROWESS_LOG`")
                .cause(error)
                .hint(
                    "valid filters are e.g. `info`, `prowess=debug` or `prowess_runtime=info,warn`",
                )
        }),
        (1, _) => Ok(Some(ours(LevelFilter::INFO))),
        (_, _) => Ok(Some(ours(LevelFilter::DEBUG))),
    }
}

/// Returns a filter for our own crates.
fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_target("prowess", level)
}

/// Logs a line for each event and each closed span; at `debug` also for each new span.
struct Lines {
    filter: Targets,
    began: Instant,
    out: Aside,
}

/// State of an open span.
struct Open {
    began: Instant,
    told: Told,
}

/// Collects fields for a log line.
#[derive(Default)]
struct Told {
    name: Option<String>,
    rest: String,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            names::SPAN_NAME | "message" => self.name = Some(format!("{value:?}")),
            // Redundant in a log line, or only meant for collectors.
            names::SPAN_KIND | names::SPAN_STATUS | names::OPERATION => {}
            name => {
                let _ = write!(self.rest, " {name}={value:?}");
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl Lines {
    fn write(&self, level: Level, line: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        let level = level.as_str().to_ascii_lowercase();
        // Names come from models and skills: untrusted.
        let line = sanitize::line(line);
        self.out.line(&format!("[{seconds:8.3}] {level:5} {line}"));
    }

    fn tells_beginnings(&self, about: &Metadata<'_>) -> bool {
        self.filter.would_enable(about.target(), &Level::DEBUG)
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut told = Told::default();
        attributes.record(&mut told);
        let about = attributes.metadata();
        if self.tells_beginnings(about) {
            let name = told.name.as_deref().unwrap_or(about.name());
            self.write(Level::DEBUG, &format!("{name} started"));
        }
        span.extensions_mut().insert(Open {
            began: Instant::now(),
            told,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.told);
        }
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut told = Told::default();
        event.record(&mut told);
        let about = event.metadata();
        let message = told.name.as_deref().unwrap_or(about.name());
        self.write(
            *about.level(),
            &format!("{}: {message}{}", about.target(), told.rest),
        );
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let Some(open) = span.extensions_mut().remove::<Open>() else {
            return;
        };
        let about = span.metadata();
        let name = open.told.name.as_deref().unwrap_or(about.name());
        let milliseconds = open.began.elapsed().as_millis();
        self.write(
            *about.level(),
            &format!("{name} ({milliseconds} ms){}", open.told.rest),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enables(verbose: u8, variable: Option<&str>, target: &str, level: Level) -> bool {
        filter(verbose, variable)
            .ok()
            .flatten()
            .is_some_and(|filter| filter.would_enable(target, &level))
    }

    #[test]
    fn logging_is_off_by_default() {
        assert!(matches!(filter(0, None), Ok(None)));
        assert!(matches!(filter(0, Some(" ")), Ok(None)));
    }

    #[test]
    fn verbose_flags_select_info_and_debug_of_our_crates() {
        assert!(enables(1, None, "prowess_runtime::trace", Level::INFO));
        assert!(!enables(1, None, "prowess_runtime::trace", Level::DEBUG));
        assert!(enables(2, None, "prowess_runtime::trace", Level::DEBUG));
        assert!(!enables(2, None, "hyper", Level::ERROR));
    }

    #[test]
    fn log_variable_is_a_filter_and_flag_overrides_it() {
        assert!(enables(0, Some("debug"), "hyper", Level::DEBUG));
        assert!(!enables(0, Some("prowess=debug"), "hyper", Level::ERROR));
        assert!(!enables(1, Some("debug"), "hyper", Level::ERROR));
        let refused = filter(0, Some("prowess=loud")).err();
        assert!(refused.is_some_and(|failure| failure.message.contains("PROWESS_LOG")));
    }
}
