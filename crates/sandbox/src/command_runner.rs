//! The runner as the trait that tools use.

use std::sync::Arc;

use prowess_policy::{Approved, Command, Profile};
use prowess_traits::{CommandError, CommandOutput, CommandResult, CommandRunner, Stoppable};

use crate::cancel::Stop;
use crate::capture::Captured;
use crate::outcome::{End, LayerStatus, Note, Stopped};
use crate::runner::{CommandOptions, Runner};

impl CommandRunner for Runner {
    fn run(
        &self,
        command: &Approved<Command>,
        profile: &Profile,
        input: Option<&[u8]>,
    ) -> Result<CommandResult, CommandError> {
        let cancel = self.stop.as_ref().map(Stop::current);
        let options = CommandOptions {
            stdin: input,
            cancel: cancel.as_ref(),
            ..CommandOptions::default()
        };
        let outcome = Self::run(self, command, profile, options).map_err(|error| CommandError {
            message: error.to_string(),
        })?;
        let (code, signal) = match outcome.end {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(signal)),
        };
        let layers = outcome.layers.iter().map(|layer| {
            let state = match &layer.state {
                LayerStatus::On => "on".into(),
                LayerStatus::Missing(why) => format!("missing: {why}"),
                LayerStatus::Off(why) => format!("off: {why}"),
            };
            (layer.layer.name().into(), state.into())
        });
        Ok(CommandResult {
            code,
            signal,
            stopped: outcome.stopped.map(|stopped| match stopped {
                Stopped::Deadline => "deadline",
                Stopped::Cancelled => "cancelled",
            }),
            stdout: output(&outcome.stdout),
            stderr: noted(output(&outcome.stderr), &outcome.notes),
            milliseconds: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
            layers: layers.collect(),
        })
    }

    fn stoppable(&self) -> Option<Stoppable> {
        let stop = Stop::new().ok()?;
        let runner = Arc::new(self.clone().stopped_by(stop.clone()));
        Some(Stoppable {
            runner,
            stop: Box::new(move || stop.stop()),
        })
    }
}

/// Adds the notes about what the command did to the end of its errors.
fn noted(mut errors: CommandOutput, notes: &[Note]) -> CommandOutput {
    for note in notes.iter().filter(|note| is_for_model(note)) {
        if !errors.text.is_empty() && !errors.text.ends_with('\n') {
            errors.text.push('\n');
        }
        errors.text.push_str(&format!("prowess: {note}\n"));
    }
    errors
}

/// Returns `true` for a note about what the command did. The others are about the machine and the
/// settings, and are for the person.
fn is_for_model(note: &Note) -> bool {
    match note {
        Note::Removed { .. }
        | Note::NotRemoved { .. }
        | Note::IndexRestored { .. }
        | Note::IndexNotRestored { .. }
        | Note::Added { .. }
        | Note::LinkedOut { .. }
        | Note::Replaced { .. } => true,
        Note::VariableRefused { .. }
        | Note::PathFolderLeftOut { .. }
        | Note::NotThere { .. }
        | Note::Unprotected { .. }
        | Note::NotWritable { .. }
        | Note::ClosedBy { .. }
        | Note::HomeGranted { .. }
        | Note::InPlaceOfFile { .. }
        | Note::SharedProc
        | Note::ProcessesUnlimited
        | Note::Survivors(_)
        | Note::ScratchLeft { .. }
        | Note::Unchecked => false,
    }
}

fn output(captured: &Captured) -> CommandOutput {
    CommandOutput {
        text: captured.text().into_owned(),
        bytes: captured.total,
        omitted: captured.omitted(),
    }
}
