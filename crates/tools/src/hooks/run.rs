//! Runs the hooks of active skills.

use std::collections::BTreeSet;
use std::path::Path;

use prowess_diag::wording::{shorten, tick};
use prowess_policy::{
    Actor, Approved, BoundScript, CitedRule, Command, Decision, Effect, GateOutcome,
    PermissionRules, Profile, Verdict,
};
use prowess_shell::script::{canonical, quote, write};
use prowess_shell::{Word, lex, lex_bound};
use prowess_traits::CommandResult;
use prowess_trust::{SkillRole, SkillTrust, TrustState};
use serde_json::Value;

use super::answer::{Answer, shortened};
use super::event::{EventName, HookEvent, is_about};
use super::parse::{Handler, HookSet};
use crate::context::ToolContext;
use crate::injected_commands::SWITCHED_OFF;
use crate::skill_access::{names_of, run_denial};

/// Maximum number of consecutive times that hooks can keep an agent from stopping.
const MAX_STOPS: u32 = 8;
/// Prefixes of the variables passed to hooks.
const PREFIXES: [&str; 3] = ["PROWESS", "CLAUDE", "AGENTICK"];

/// State of the hooks in one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookState {
    fired: BTreeSet<Key>,
    refused: BTreeSet<Key>,
    stops: u32,
}

/// Identifies a hook: name and digest of the skill, and index of the hook.
type Key = (Box<str>, Box<str>, usize);

impl HookState {
    /// Returns the `once` hooks that ran: name and digest of the skill, and index of the hook.
    pub fn fired(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.fired
            .iter()
            .map(|(skill, digest, at)| (&**skill, &**digest, *at))
    }

    /// Records that a `once` hook ran, now or earlier in the session. Returns `true` if it was not
    /// recorded before.
    pub fn fire(&mut self, skill: &str, digest: &str, at: usize) -> bool {
        self.fired.insert((skill.into(), digest.into(), at))
    }
}

/// Combined result of the hooks of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutcome {
    /// The strictest decision; `None` if no hook made one. `Allow` is advisory and widens nothing:
    /// use [`HookOutcome::tighten`].
    pub verdict: Option<Verdict>,
    /// Reasons of all hooks that made the strictest decision.
    pub reasons: Vec<Said>,
    /// Reason to stop the whole session, if a hook asked for that.
    pub stop: Option<Said>,
    /// Replacement for the tool's input. It must pass the gate like any other input.
    pub updated_input: Option<Value>,
    /// Context for the model.
    pub context: Vec<Said>,
    /// Messages for the user.
    pub messages: Vec<Said>,
    /// Runs of all hooks of the event.
    pub runs: Vec<HookRun>,
}

/// Text of a hook, at most 10,000 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Skill of the hook.
    pub skill: Box<str>,
    /// The text. It comes from a program: sanitize it before printing it to a terminal.
    pub text: String,
}

/// Run of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRun {
    /// Skill of the hook.
    pub skill: Box<str>,
    /// Event of the hook.
    pub event: EventName,
    /// The command as written, or the quoted words if it runs without a shell.
    pub command: Box<str>,
    /// The rule or user that allowed it. Empty if it was not allowed.
    pub decision: Box<str>,
    /// Result of the run.
    pub end: HookEnd,
    /// Exit code; `None` if it did not run or was killed.
    pub code: Option<i32>,
    /// Duration.
    pub milliseconds: u64,
    /// Parts of the answer that are invalid.
    pub faults: Vec<String>,
}

/// Result of running a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookEnd {
    /// The hook succeeded.
    Fine,
    /// The hook exited with the code that blocks.
    Refused,
    /// The hook failed, which does not block.
    Failed {
        /// Its standard error.
        complaint: String,
    },
    /// The hook timed out, which does not block.
    TimedOut,
    /// The hook did not run.
    NotRun {
        /// Reason.
        why: Box<str>,
    },
}

impl HookOutcome {
    /// Returns `true` if the event is blocked: the tool is not used, the prompt is not sent, the
    /// agent does not stop.
    pub fn is_blocked(&self) -> bool {
        self.verdict == Some(Verdict::Deny)
    }

    /// Returns the stricter of the gate's verdict and the hooks' decision.
    #[must_use]
    pub fn tighten(&self, gate: Verdict) -> Verdict {
        self.verdict.map_or(gate, |verdict| verdict.max(gate))
    }

    /// Returns the reasons as one text of at most 10,000 characters.
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

/// Runs the hooks of an event for the active skills. Blocks until the last one ended. Never fails: if
/// a rule or a setting prevents a hook that checks a tool call, the outcome refuses that call.
pub fn run_hooks(
    context: &ToolContext,
    active: &[(&HookSet, &SkillTrust)],
    event: &HookEvent<'_>,
    state: &mut HookState,
) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    let name = event.name();
    let mut restrictions = PermissionRules::default();
    for tools in active.iter().filter_map(|(_, trust)| trust.restrictions()) {
        restrictions.restrict(tools);
    }
    for (set, trust) in active {
        // Computed only when the first hook of the skill is about to run.
        let mut obstacle: Option<Option<Obstacle>> = None;
        for (at, handler) in set.handlers.iter().enumerate() {
            let key: Key = (trust.name.clone(), trust.digest.as_str().into(), at);
            let spent = handler.once && state.fired.contains(&key);
            if handler.event != name || spent || !is_for(handler, event, &outcome, context) {
                continue;
            }
            let job = Job::new(context, trust, handler);
            let obstacle = obstacle.get_or_insert_with(|| obstacle_of(context, trust));
            let ran = match obstacle {
                Some(obstacle) => {
                    job.note(obstacle);
                    Err(obstacle.clone())
                }
                None => job
                    .approve(&restrictions, state, &key)
                    .and_then(|approved| {
                        let input = current_input(event, &outcome);
                        let text = event.text(context, input, state.stops > 0);
                        let ran = job.run(&approved, &text).map_err(Obstacle::failed)?;
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
                Err(obstacle) => {
                    if let Some(verdict) = obstacle.verdict.filter(|_| checks_calls(name)) {
                        let command = tick(shorten(job.command(), 80));
                        let why = format!("its hook {command} could not run: {}", obstacle.why);
                        outcome.add(&trust.name, Answer::instead(verdict, why));
                    }
                    let (end, ran) = (
                        HookEnd::NotRun { why: obstacle.why },
                        CommandResult::default(),
                    );
                    job.record(Box::default(), end, &ran, Vec::new())
                }
            };
            outcome.runs.push(run);
        }
    }
    settle(name, &mut outcome, state);
    outcome
}

/// Returns `true` for an event at which hooks decide about a tool call.
fn checks_calls(event: EventName) -> bool {
    event == EventName::PreToolUse
}

/// The reason why a hook did not run.
#[derive(Clone, Debug)]
struct Obstacle {
    why: Box<str>,
    /// The verdict about the call that the hook checks: a rule, a setting or another skill must not
    /// switch off a check. `None` if the hook has no say: its skill is not trusted.
    verdict: Option<Verdict>,
}

impl Obstacle {
    fn none(why: &str) -> Self {
        Self::failed(why.into())
    }

    /// A hook that fails does not block.
    fn failed(why: Box<str>) -> Self {
        Self { why, verdict: None }
    }

    fn setting(why: Box<str>) -> Self {
        Self {
            why,
            verdict: Some(Verdict::Deny),
        }
    }

    fn of(decision: &Decision) -> Self {
        Self {
            why: not_allowed(decision),
            verdict: Some(decision.verdict.max(Verdict::Ask)),
        }
    }
}

/// Returns the reason why a hook of a skill that checks tool calls cannot run, if a rule or a setting
/// prevents it.
pub fn hook_obstacle(context: &ToolContext, hooks: &HookSet, trust: &SkillTrust) -> Option<String> {
    let checks = || {
        let handlers = hooks.handlers.iter();
        handlers.filter(|handler| checks_calls(handler.event))
    };
    let first = checks().next()?;
    let by_rule = |handler: &Handler| {
        let job = Job::new(context, trust, handler);
        let restrictions = PermissionRules::default();
        let actor = trust.actor(SkillRole::Author, context.settings.confine, &restrictions);
        let decision = job.with_bound(|job, bound| job.decide(bound, &actor))?;
        let is_asked = |rule: &CitedRule| rule.effect == Effect::Ask;
        let counts =
            decision.verdict == Verdict::Deny || decision.rule.as_ref().is_some_and(is_asked);
        counts.then(|| (job.command().to_owned(), Obstacle::of(&decision)))
    };
    let (command, obstacle) = match obstacle_of(context, trust) {
        Some(obstacle) => (first.command.to_string(), obstacle),
        None => checks().find_map(by_rule)?,
    };
    let effect = match obstacle.verdict? {
        Verdict::Deny => "the tool calls that it checks are refused",
        Verdict::Ask | Verdict::Allow => "it and the tool calls that it checks need approval",
    };
    let command = tick(shorten(&command, 80));
    Some(format!(
        "its hook {command} cannot run: {}; {effect}",
        obstacle.why
    ))
}

/// Counts consecutive refusals to stop, and finally lets the agent stop.
fn settle(event: EventName, outcome: &mut HookOutcome, state: &mut HookState) {
    if outcome.is_blocked() {
        outcome.updated_input = None;
    }
    match event {
        // One hook that stops the session is enough.
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
                "hooks prevented the agent from stopping {MAX_STOPS} times in a row; stopping now"
            );
            outcome.messages.push(Said { skill, text });
        }
        EventName::Stop | EventName::UserPromptSubmit => state.stops = 0,
        EventName::PreToolUse | EventName::PostToolUse | EventName::SessionStart => {}
    }
}

/// Returns the input of the tool as changed by the hooks so far.
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

/// Returns the reason why none of a skill's hooks can run.
fn obstacle_of(context: &ToolContext, trust: &SkillTrust) -> Option<Obstacle> {
    if !trust.is_trusted() {
        return Some(Obstacle::none("the skill is not trusted"));
    }
    if !context.settings.commands {
        let why = SWITCHED_OFF.trim_matches(['[', ']']);
        return Some(Obstacle::setting(why.into()));
    }
    let resolved = context.resolve_recorded(&trust.name).ok();
    let also = resolved.as_ref().map(|(skill, _)| names_of(skill));
    let also = also.unwrap_or_default();
    if let Some(denial) = run_denial(context, &trust.name, &also) {
        return Some(Obstacle::of(&denial));
    }
    if context.services.runner.is_none() {
        return Some(Obstacle::none("running commands is not supported here"));
    }
    // A skill can change while it is active, for example by an edit of the agent.
    let place = trust.place.as_ref().filter(|_| trust.required)?;
    match context
        .services
        .trust
        .as_ref()
        .map(|store| store.state(trust.kind, place))
    {
        Some(Ok(TrustState::Trusted(record))) if record.digest == trust.digest => None,
        _ => {
            let why = "the skill changed since it was loaded, or is no longer trusted";
            Some(Obstacle::setting(why.into()))
        }
    }
}

fn end_of(ran: &CommandResult) -> HookEnd {
    match (ran.stopped, ran.code) {
        (Some("deadline"), _) => HookEnd::TimedOut,
        (None, Some(0)) => HookEnd::Fine,
        (None, Some(2)) => HookEnd::Refused,
        _ => HookEnd::Failed {
            complaint: shortened(ran.stderr.text.trim()),
        },
    }
}

/// A hook that is about to run.
struct Job<'a> {
    context: &'a ToolContext,
    trust: &'a SkillTrust,
    handler: &'a Handler,
    profile: Profile,
    variables: Vec<(String, String)>,
    /// The shell command line.
    script: String,
    /// The command with all values expanded; `None` if that is not possible. Approvals are bound to
    /// exactly this text, so that an approval for the session is found again.
    line: Option<String>,
}

impl<'a> Job<'a> {
    fn new(context: &'a ToolContext, trust: &'a SkillTrust, handler: &'a Handler) -> Self {
        let mut profile = context.profile(Some(trust));
        profile.limits.deadline_ms = handler.timeout_ms;
        let folder = trust.place.as_ref().map(|_| profile.cwd.clone());
        // The gate resolves paths from the project root, so hooks start there.
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

    /// Returns the decision of the gate if the hook may not run without a prompt.
    fn decide(&self, bound: &BoundScript<'_>, actor: &Actor<'_>) -> Option<Decision> {
        let gate = self.context.gate();
        let outcome = match &self.line {
            Some(line) => gate.command(line, actor),
            None => gate.bound(bound, actor),
        };
        match outcome {
            GateOutcome::Allowed(..) => None,
            GateOutcome::Ask(pending) => Some(pending.decision().clone()),
            GateOutcome::Denied(decision) => Some(decision),
        }
    }

    fn with_bound<T>(&self, act: impl FnOnce(&Self, &BoundScript<'_>) -> T) -> T {
        let variables: Vec<(&str, &str)> = self
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let bound = BoundScript {
            script: &self.script,
            display: &self.script,
            positionals: &[],
            variables: &variables,
        };
        act(self, &bound)
    }

    /// Records that the hook did not run, if a call depends on it.
    fn note(&self, obstacle: &Obstacle) {
        if let Some(verdict) = obstacle.verdict {
            let decision = Decision::new(verdict, &*obstacle.why);
            let what = format!("Hook {}", self.command());
            // The call is refused whether or not the decision can be recorded.
            let _ = self
                .context
                .note(&what, &decision, None, Some(&self.trust.name));
        }
    }

    /// Asks the gate, and the user if needed, but only once per session.
    fn approve(
        &self,
        restrictions: &PermissionRules,
        state: &mut HookState,
        key: &Key,
    ) -> Result<Approved<Command>, Obstacle> {
        let confine = self.context.settings.confine;
        let actor = self.trust.actor(SkillRole::Author, confine, restrictions);
        self.with_bound(|job, bound| {
            if state.refused.contains(key)
                && let Some(decision) = job.decide(bound, &actor)
                && decision.verdict == Verdict::Ask
            {
                return Err(Obstacle::of(&decision));
            }
            let answer = match &job.line {
                Some(line) => job.context.approve(line, &actor),
                None => job.context.approve_bound(bound, &actor),
            };
            answer.map_err(|decision| {
                if decision.verdict == Verdict::Ask {
                    state.refused.insert(key.clone());
                }
                Obstacle::of(&decision)
            })
        })
    }

    fn run(&self, approved: &Approved<Command>, input: &[u8]) -> Result<CommandResult, Box<str>> {
        let runner = self
            .context
            .services
            .runner
            .as_ref()
            .ok_or("running commands is not supported here")?;
        runner
            .run(approved, &self.profile, Some(input))
            .map_err(|error| error.message.into())
    }

    /// Returns the command as written, or the quoted words if it runs without a shell.
    fn command(&self) -> &str {
        match (&self.handler.arguments, &self.line) {
            (Some(_), Some(line)) => line,
            _ => &self.handler.command,
        }
    }

    fn record(
        &self,
        decision: Box<str>,
        end: HookEnd,
        ran: &CommandResult,
        faults: Vec<String>,
    ) -> HookRun {
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
    format!("not allowed: {}", decision.explain()).into()
}

/// Returns the program of a command if it is a file of the skill, given as a path relative to the
/// skill's folder (`./scripts/check.sh`). That file is trusted; a file of the same name in a
/// project is not.
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

/// Returns a shell command line with its values expanded, as the gate reads it; `None` if that is
/// not possible.
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

/// Quotes words as one command line, without quotes where none are needed.
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

/// Expands `${NAME}` in one pass: values are not expanded again.
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
    fn quoted_words_round_trip() {
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
        // Words that the gate does not parse are quoted too, because the user may approve them.
        assert_eq!(line(&["A=1", "b"]), "'A=1' 'b'");
        assert_eq!(line(&["if", "true"]), "'if' 'true'");
    }

    #[test]
    fn variables_are_expanded_once() {
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
