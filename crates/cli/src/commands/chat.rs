//! `prowess chat`

use crate::output::{Exit, Failure, Printer};

use crate::args::GlobalArgs;
use crate::commands::run::about;
use crate::env::Environment;
use crate::setup::{ModelArgs, Setup};
use crate::wait;
use prowess_tui::chat::{Begin, ChatError, ChatLink, ChatOptions, Face};

/// What is typed behind `chat`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Talk to a model that has your skills\n\nOn a terminal this is a screen with streaming, questions and history; `/help` lists its commands. Elsewhere every line of standard input is a message, and answers go to standard output.",
    after_help = "\
Examples:
  prowess chat --model echo                      a model that says it back
  prowess chat --model echo --plain              lines instead of a screen"
)]
pub(crate) struct ChatArgs {
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Lines instead of a screen
    #[arg(long)]
    pub plain: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub model: ModelArgs,
}

/// Talks until the person leaves.
pub(crate) fn run(
    args: &ChatArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut setup = Setup::open(global, environment, printer)?;
    let colours = printer.has_colours();
    let history = environment
        .state_folder()
        .map(|folder| folder.join("history"));
    let limits = args.model.limits()?;
    let _servers = setup.connect(printer)?;
    let ChatLink {
        watcher,
        approver,
        ui,
    } = ChatLink::new(Face::choose(args.plain));
    // The chat itself decides what an interrupt means: it ends a turn, not the talk.
    wait::without_interrupts(async move {
        let chosen = setup.model(&args.model).await?;
        let info = chosen.model.about();
        printer.status(&about(&info.name, &chosen.why, info.note.as_deref()));
        let runtime = setup.runtime(
            &args.model,
            chosen.model,
            approver,
            vec![watcher],
            |settings| {
                settings.background = true;
                // A person is there to stop it; only what they ask for is a limit.
                settings.budget = limits;
            },
        )?;
        let begin = match &args.resume {
            Some(id) => Begin::Resume { id: id.clone() },
            None => Begin::New {
                title: "chat".to_owned(),
            },
        };
        let end = ui
            .run(runtime, begin, ChatOptions { history, colours })
            .await
            .map_err(|error| failure(&error))?;
        printer.status(&end.line());
        Ok(Exit::Code(end.code))
    })
}

fn failure(error: &ChatError) -> Failure {
    let base = Failure::new(error.to_string());
    match error {
        ChatError::Session { hints, .. } => hints.iter().cloned().fold(base, Failure::hint),
        ChatError::Input(cause) | ChatError::Terminal(cause) => base.cause(cause),
        ChatError::ScreenPanicked => {
            base.hint("this is a bug in Prowess: please report it with the lines above")
        }
        _ => base,
    }
}
