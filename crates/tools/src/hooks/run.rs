//! Running the hooks of the skills that are active.

use std::collections::BTreeSet;
use std::path::Path;

use prowess_policy::{Approved, Bound, Command, Decision, Outcome, Profile, Verdict};
use prowess_shell::script::{canonical, quote, write};
use prowess_shell::{Word, lex, lex_bound};
use prowess_traits::Ran;
use prowess_trust::{SkillTrust, State};
use serde_json::Value;

use super::answer::{Answer, shortened};
use super::event::{EventName, HookEvent, is_about};
use super::read::{Handler, HookSet};
use crate::context::ToolContext;
use crate::expand::SWITCHED_OFF;

/// How often in a row hooks keep an agent from stopping.
const MAX_STOPS: u32 = 8;
/// Programs that give their variables these beginnings.
const PREFIXES: [&str; 3] = ["PROWESS", "CLAUDE", "AGENTICK"];

/// What is remembered about hooks in one session. Whoever keeps the session keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookState {
    fired: BTreeSet<Key>,
    refused: BTreeSet<Key>,
    stops: u32,
}

/// A hook: the skill's name and digest, and the place among its hooks.
type Key = (Box<str>, Box<str>, usize);

impl HookState {
    /// Hooks with `once` that ran: the name and digest of the skill, and the place among its hooks.
    pub fn fired(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.fired
            .iter()
            .map(|(skill, digest, at)| (&**skill, &**digest, *at))
    }

    /// Notes that a hook with `once` ran, in an earlier part of the session or now. Tells whether
    /// that is news.
    pub fn fire(&mut self, skill: &str, digest: &str, at: usize) -> bool {
        self.fired.insert((skill.into(), digest.into(), at))
    }
}

/// What the hooks for an event say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutcome {
    /// The strictest answer; nothing where no hook had one. `Allow` is advice and widens nothing: use
    /// [`HookOutcome::tighten`].
    pub verdict: Option<Verdict>,
    /// Why, from each hook that had the strictest answer.
    pub reasons: Vec<Said>,
    /// The whole work is to stop, and why.
    pub stop: Option<Said>,
    /// What the tool is to receive instead. It must pass the gate like any other input.
    pub updated_input: Option<Value>,
    /// For the model.
    pub context: Vec<Said>,
    /// For the person.
    pub messages: Vec<Said>,
    /// How each hook went that the event is for.
    pub runs: Vec<HookRun>,
}

/// What a hook said: at most 10,000 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The skill whose hook it was.
    pub skill: Box<str>,
    /// The text. It comes from a program: clean it before a terminal shows it.
    pub text: String,
}

/// How a hook went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRun {
    /// The skill whose hook it was.
    pub skill: Box<str>,
    /// The event it was for.
    pub event: EventName,
    /// As the author wrote it; the words where it is started without a shell.
    pub command: Box<str>,
    /// What let it run: a rule, a person. Empty where nothing did.
    pub decision: Box<str>,
    /// How it ended.
    pub end: HookEnd,
    /// Its exit code; nothing where it did not run or was ended.
    pub code: Option<i32>,
    /// How long it took.
    pub milliseconds: u64,
    /// What of its answer was not understood.
    pub faults: Vec<String>,
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookEnd {
    /// Well.
    Fine,
    /// With the exit code that blocks.
    Refused,
    /// Badly, which blocks nothing.
    Failed {
        /// What it complained about.
        complaint: String,
    },
    /// Its time was over, which blocks nothing.
    TimedOut,
    /// It did not run.
    NotRun {
        /// Why.
        why: Box<str>,
    },
}

impl HookOutcome {
    /// Tells whether the event must not happen: the tool is not used, the prompt is not sent, the
    /// agent does not stop.
    pub fn is_blocked(&self) -> bool {
        self.verdict == Some(Verdict::Deny)
    }

    /// What is left of the gate's verdict: the stricter of both.
    #[must_use]
    pub fn tighten(&self, gate: Verdict) -> Verdict {
        self.verdict.map_or(gate, |verdict| verdict.max(gate))
    }

    /// The reasons as one text, of at most 10,000 characters.
    pub fn reason(&self) -> String {
        let texts: Vec<&str> = self.reasons.iter().map(|said| said.text.as_str()).collect();
        shortened(&texts.join("\n"))
    }

    fn add(&mut self, skill: &str, answer: Answer) {
        let said = |text: String| Said {
            skill: skill.into(),
            text,
        };
        if answer.verdict.is_some() && answer.verdict >= self.verdict {
            if answer.verdict > self.verdict {
                self.reasons.clear();
            }
            self.verdict = answer.verdict;
            self.reasons.extend(answer.reason.map(said));
        }
        if self.stop.is_none() {
            self.stop = answer.stop.map(said);
        }
        self.messages.extend(answer.message.map(said));
        self.context.extend(answer.context.into_iter().map(said));
        if answer.input.is_some() {
            self.updated_input = answer.input;
        }
    }
}

/// Runs the hooks that an event is for, of the skills that are active now. Blocks until the last one
/// ended; nothing here is an error, for a hook that cannot run must not stop the work.
pub fn run_hooks(
    context: &ToolContext,
    active: &[(&HookSet, &SkillTrust)],
    event: &HookEvent<'_>,
    state: &mut HookState,
) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    let name = event.name();
    for (set, trust) in active {
        // Looked at when the first hook of the skill wants to run, and not before.
        let mut obstacle: Option<Option<Box<str>>> = None;
        for (at, handler) in set.handlers.iter().enumerate() {
            let key: Key = (trust.name.clone(), trust.digest.as_str().into(), at);
            let spent = handler.once && state.fired.contains(&key);
            if handler.event != name || spent || !is_for(handler, event, &outcome, context) {
                continue;
            }
            let job = Job::new(context, trust, handler);
            let obstacle = obstacle.get_or_insert_with(|| obstacle_of(context, trust));
            let ran = match obstacle {
                Some(why) => Err(why.clone()),
                None => job.approve(state, &key).and_then(|approved| {
                    let input = current_input(event, &outcome);
                    let text = event.text(context, input, state.stops > 0);
                    let ran = job.run(&approved, &text)?;
                    Ok((approved.by().into(), ran))
                }),
            };
            let run = match ran {
                Ok((decision, ran)) => {
                    if handler.once {
                        state.fired.insert(key);
                    }
                    let mut answer = Answer::of(name, &ran);
                    let faults = std::mem::take(&mut answer.faults);
                    outcome.add(&trust.name, answer);
                    job.record(decision, end_of(&ran), &ran, faults)
                }
                Err(why) => job.record(
                    Box::default(),
                    HookEnd::NotRun { why },
                    &Ran::default(),
                    Vec::new(),
                ),
            };
            outcome.runs.push(run);
        }
    }
    settle(name, &mut outcome, state);
    outcome
}

/// Counts how often in a row an agent was kept from stopping, and lets it stop in the end.
fn settle(event: EventName, outcome: &mut HookOutcome, state: &mut HookState) {
    if outcome.is_blocked() {
        outcome.updated_input = None;
    }
    match event {
        // One hook that ends the work is enough.
        EventName::Stop if outcome.stop.is_some() => {
            (outcome.verdict, state.stops) = (None, 0);
            outcome.reasons.clear();
        }
        EventName::Stop if outcome.is_blocked() && state.stops < MAX_STOPS => state.stops += 1,
        EventName::Stop if outcome.is_blocked() => {
            (outcome.verdict, state.stops) = (None, 0);
            let skill = outcome
                .reasons
                .first()
                .map(|said| said.skill.clone())
                .unwrap_or_default();
            outcome.reasons.clear();
            let text = format!(
                "hooks kept the agent from stopping {MAX_STOPS} times in a row; it stops now"
            );
            outcome.messages.push(Said { skill, text });
        }
        EventName::Stop | EventName::UserPromptSubmit => state.stops = 0,
        EventName::PreToolUse | EventName::PostToolUse | EventName::SessionStart => {}
    }
}

/// The input of the tool as the hooks so far left it.
fn current_input<'a>(event: &HookEvent<'a>, outcome: &'a HookOutcome) -> &'a Value {
    let given = event.tool().map_or(&Value::Null, |tool| tool.input);
    outcome.updated_input.as_ref().unwrap_or(given)
}

fn is_for(
    handler: &Handler,
    event: &HookEvent<'_>,
    outcome: &HookOutcome,
    context: &ToolContext,
) -> bool {
    let subjects = event.subjects();
    let named = subjects.is_empty() || subjects.iter().any(|name| handler.matcher.matches(name));
    named
        && match (&handler.condition, event.tool()) {
            (None, _) => true,
            (Some(rule), Some(tool)) => {
                is_about(&rule.text, &tool, current_input(event, outcome), context)
            }
            (Some(_), None) => false,
        }
}

/// Why none of a skill's hooks runs.
fn obstacle_of(context: &ToolContext, trust: &SkillTrust) -> Option<Box<str>> {
    if !trust.is_trusted() {
        return Some("the skill is not trusted".into());
    }
    if !context.settings.commands {
        return Some(SWITCHED_OFF.trim_matches(['[', ']']).into());
    }
    if context.services.runner.is_none() {
        return Some("this program runs no commands".into());
    }
    // A skill can change while it is active: by the agent's own hand, for one.
    let place = trust.place.as_ref().filter(|_| trust.required)?;
    match context
        .services
        .trust
        .as_ref()
        .map(|store| store.state(place))
    {
        Some(Ok(State::Trusted(record))) if record.digest == trust.digest => None,
        _ => Some("the skill changed since it was loaded, or is no longer trusted".into()),
    }
}

fn end_of(ran: &Ran) -> HookEnd {
    match (ran.stopped, ran.code) {
        (Some("deadline"), _) => HookEnd::TimedOut,
        (None, Some(0)) => HookEnd::Fine,
        (None, Some(2)) => HookEnd::Refused,
        _ => HookEnd::Failed {
            complaint: shortened(ran.stderr.text.trim()),
        },
    }
}

/// A hook on its way.
struct Job<'a> {
    context: &'a ToolContext,
    trust: &'a SkillTrust,
    handler: &'a Handler,
    profile: Profile,
    variables: Vec<(String, String)>,
    /// The line for the shell.
    script: String,
    /// What runs, with every value in its place; nothing where that cannot be told. A person's answer
    /// counts for exactly this, so that a yes for the session is found again.
    line: Option<String>,
}

impl<'a> Job<'a> {
    fn new(context: &'a ToolContext, trust: &'a SkillTrust, handler: &'a Handler) -> Self {
        let mut profile = context.profile(Some(trust));
        profile.limits.deadline_ms = handler.timeout_ms;
        let folder = trust.place.as_ref().map(|_| profile.cwd.clone());
        // The gate judges paths from the root of the project, so that is where hooks start.
        profile.cwd.clone_from(&context.settings.paths.workspace);
        let values = [
            ("SKILL_DIR", folder.as_deref().and_then(Path::to_str)),
            ("PROJECT_DIR", context.settings.paths.workspace.to_str()),
            ("SESSION_ID", context.settings.session.as_deref()),
        ];
        let mut variables = Vec::new();
        for (name, value) in values {
            let Some(value) = value else { continue };
            variables.extend(PREFIXES.map(|prefix| (format!("{prefix}_{name}"), value.to_owned())));
        }
        let boxed =
            |(name, value): &(String, String)| (name.as_str().into(), value.as_str().into());
        profile.environment.extend(variables.iter().map(boxed));
        let command = &*handler.command;
        let own = folder
            .as_deref()
            .and_then(|folder| own_program(command, folder));
        let exec = handler.arguments.as_ref().map(|arguments| {
            let program = match own {
                Some(own) if own.len() == command.len() => {
                    format!("${{PROWESS_SKILL_DIR}}/{}", relative(own))
                }
                _ => command.to_owned(),
            };
            let words = std::iter::once(&*program).chain(arguments.iter().map(|word| &**word));
            exec_line(
                &words
                    .map(|word| Word::plain(filled(word, &variables)))
                    .collect::<Vec<_>>(),
            )
        });
        let script = match own {
            Some(own) => {
                format!(
                    "\"$PROWESS_SKILL_DIR\"/{}{}",
                    relative(own),
                    &command[own.len()..]
                )
            }
            None => command.to_owned(),
        };
        let line = exec.or_else(|| plain_line(&script, &variables));
        Self {
            context,
            trust,
            handler,
            profile,
            variables,
            script,
            line,
        }
    }

    /// Asks the gate, and a person where it wants one, but not again in a session.
    fn approve(&self, state: &mut HookState, key: &Key) -> Result<Approved<Command>, Box<str>> {
        let actor = self.trust.actor(self.context.settings.confine);
        let variables: Vec<(&str, &str)> = self
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let bound = Bound {
            script: &self.script,
            display: &self.script,
            positionals: &[],
            variables: &variables,
        };
        if state.refused.contains(key) {
            let gate = self.context.gate();
            let again = match &self.line {
                Some(line) => gate.command(line, &actor),
                None => gate.bound(&bound, &actor),
            };
            if let Outcome::Ask(pending) = again {
                return Err(not_allowed(pending.decision()));
            }
        }
        let answer = match &self.line {
            Some(line) => self.context.approve(line, &actor),
            None => self.context.approve_bound(&bound, &actor),
        };
        answer.map_err(|decision| {
            if decision.verdict == Verdict::Ask {
                state.refused.insert(key.clone());
            }
            not_allowed(&decision)
        })
    }

    fn run(&self, approved: &Approved<Command>, input: &[u8]) -> Result<Ran, Box<str>> {
        let runner = self
            .context
            .services
            .runner
            .as_ref()
            .ok_or("this program runs no commands")?;
        runner
            .run(approved, &self.profile, Some(input))
            .map_err(|error| error.message.into())
    }

    /// As the author wrote it; the words where there is no shell.
    fn command(&self) -> &str {
        match (&self.handler.arguments, &self.line) {
            (Some(_), Some(line)) => line,
            _ => &self.handler.command,
        }
    }

    fn record(&self, decision: Box<str>, end: HookEnd, ran: &Ran, faults: Vec<String>) -> HookRun {
        HookRun {
            skill: self.trust.name.clone(),
            event: self.handler.event,
            command: self.command().into(),
            decision,
            end,
            code: ran.code,
            milliseconds: ran.milliseconds,
            faults,
        }
    }
}

fn not_allowed(decision: &Decision) -> Box<str> {
    format!("not allowed: {}", decision.reason).into()
}

/// The program of a command where it is a file of the skill, named by its path from the skill's folder
/// (`./scripts/check.sh`). That file is what a person trusted; one of the same name in a project is not.
fn own_program<'a>(command: &'a str, folder: &Path) -> Option<&'a str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let end = command.find(|c| !plain(c)).unwrap_or(command.len());
    let (program, rest) = command.split_at(end);
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&', '<', '>']);
    let below = !program.starts_with('/') && program.split('/').all(|part| part != "..");
    (ends && below && program.contains('/') && folder.join(program).is_file()).then_some(program)
}

fn relative(program: &str) -> &str {
    program.strip_prefix("./").unwrap_or(program)
}

/// A line for the shell with its values in place, as the gate reads it; nothing where it cannot.
fn plain_line(script: &str, variables: &[(String, String)]) -> Option<String> {
    let value = |name: &str| {
        let found = variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let script = lex_bound(script, &value).ok()?;
    Some(match &*script.commands {
        [only] if only.redirects.is_empty() && !only.words.iter().any(Word::is_glob) => {
            exec_line(&only.words)
        }
        _ => write(&script),
    })
}

/// One line that is exactly these words: as people write it where that is the same.
fn exec_line(words: &[Word]) -> String {
    let line = canonical(words);
    let same = lex(&line).is_ok_and(|script| {
        matches!(&*script.commands, [only] if only.redirects.is_empty() && only.words == words)
    });
    if same {
        return line;
    }
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        quote(&word.text, &mut line);
    }
    line
}

/// Puts values in the place of `${NAME}`, in one pass: what stands in a value stays as it is.
fn filled(text: &str, variables: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        filled.push_str(before);
        let known = behind.split_once('}').and_then(|(name, rest)| {
            let (_, value) = variables.iter().find(|(known, _)| known == name)?;
            Some((value.as_str(), rest))
        });
        let (value, behind) = known.unwrap_or(("${", behind));
        filled.push_str(value);
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let line = |words: &[&str]| {
            exec_line(
                &words
                    .iter()
                    .map(|word| Word::plain(*word))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(line(&["npm", "run", "build"]), "npm run build");
        for words in [
            &["ls", "*.md", "?", "~"][..],
            &[
                "echo", "", "a b", "it's", "$HOME", "`x`", "$(x)", ";", "&&", ">", "#", "{a,b}",
            ],
        ] {
            let script =
                lex(&line(words)).unwrap_or_else(|refusal| panic!("{words:?} {refusal:?}"));
            let [only] = &*script.commands else {
                panic!("{words:?}")
            };
            assert!(only.words.iter().all(|word| !word.is_glob()), "{words:?}");
            assert!(
                only.words
                    .iter()
                    .map(|word| &*word.text)
                    .eq(words.iter().copied()),
                "{words:?}"
            );
        }
        // What the gate does not read is quoted all the same, for a person may say yes to it.
        assert_eq!(line(&["A=1", "b"]), "'A=1' 'b'");
        assert_eq!(line(&["if", "true"]), "'if' 'true'");
    }

    #[test]
    fn values_are_put_in_once() {
        let variables = [
            ("A".to_owned(), "${B}".to_owned()),
            ("B".to_owned(), "x".to_owned()),
        ];
        for (text, wanted) in [
            ("${A}/${B}", "${B}/x"),
            ("${C}${B}", "${C}x"),
            ("${", "${"),
            ("${${B}}", "${x}"),
            ("$A $", "$A $"),
            ("${B", "${B"),
        ] {
            assert_eq!(filled(text, &variables), wanted);
        }
    }
}
