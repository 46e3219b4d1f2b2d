//! `prowess chat`

use crate::output::{Exit, Failure, Printer};
use clap_complete::ArgValueCandidates;

use crate::args::GlobalArgs;
use crate::async_runtime;
use crate::commands::run::about;
use crate::commands::{completions, session};
use crate::env::Environment;
use crate::runtime_setup::{ModelArgs, Setup, WaitArgs};
use crate::visible_skills::warn_unusable;
use prowess_tui::chat::{ChatError, ChatLink, ChatMode, ChatOptions, ChatStart};

/// Arguments of `chat`.
#[derive(Debug, clap::Args)]
#[command(
    about = "Chat with a model that has your skills\n\nOn a terminal, opens a full-screen chat with streaming, prompts and history; `/help` lists its commands. Otherwise, each line of standard input is a message, and replies go to standard output.",
    after_help = "\
Examples:
  prowess chat --model echo                      use the built-in echo model
  prowess chat --model echo --plain              use plain lines
  prowess chat --model echo --agent Explore      chat with an agent"
)]
pub(crate) struct ChatArgs {
    /// Resume this session
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Chat with this agent or team
    #[arg(long, value_name = "NAME", conflicts_with = "resume", add = ArgValueCandidates::new(completions::agent_names))]
    pub agent: Option<String>,
    /// Do not use the full-screen interface
    #[arg(long)]
    pub plain: bool,
    /// The model, its limits, permissions.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Prompts without a terminal.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs the chat. `history` is the input history file.
pub(crate) fn run(
    args: &ChatArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let here = match &args.resume {
        Some(id) => session::place_of(id, environment, printer)?,
        None => environment.clone(),
    };
    let environment = &here;
    let mut setup = Setup::open(global, environment, printer)?;
    setup.wait(&args.wait);
    warn_unusable(&setup.services.registry, environment, printer);
    let colours = printer.has_colours();
    let history = environment
        .state_folder()
        .map(|folder| folder.join("history"));
    let limits = args.model.limits()?;
    if let Some(agent) = &args.agent {
        setup.check_agent(agent)?;
    }
    let _servers = setup.connect(args.agent.as_deref(), printer)?;
    let _watching = setup.watch();
    let ChatLink {
        watcher,
        approver,
        ui,
    } = ChatLink::new(ChatMode::choose(args.plain));
    // The chat handles interrupts itself: they cancel a turn, not the chat.
    async_runtime::without_interrupts(async move {
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
                settings.is_model_chosen = args.model.model.is_some();
                // The user can stop it at any time, so only explicit limits apply.
                settings.budget = limits;
            },
        )?;
        let begin = match (&args.resume, &args.agent) {
            (Some(id), _) => ChatStart::Resume { id: id.clone() },
            (None, Some(name)) => ChatStart::Agent {
                name: name.clone(),
                title: format!("chat with {name}"),
            },
            (None, None) => ChatStart::New {
                title: "chat".to_owned(),
            },
        };
        let end = ui
            .run(
                runtime,
                begin,
                ChatOptions {
                    history,
                    colors: colours,
                },
            )
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
            base.hint("this is a bug in Prowess; report it with the lines above")
        }
        _ => base,
    }
}
