//! The decision itself: deny, then ask, then allow, then the mode.

use crate::approved::{Approved, Command, Plan};
use crate::decision::{Cited, Decision, Verdict};
use crate::grant::{Answer, Grant, Granted, Lifetime};
use crate::matching::{self, Fit};
use crate::mode::Mode;
use crate::paths::{self, Located, Places};
use crate::request::{Action, Actor, SkillActor};
use crate::rule::{Arguments, Commands, Effect, Rule, Subject, like};
use crate::rules::{Placed, RuleSet};
use prowess_shell::script::{self, canonical};
use prowess_shell::{Redirect, Refusal, Script, Simple, finder, lex, lex_bound, programs};

/// A script of a skill's author, with the values that its variables have.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The script, which never holds a value itself.
    pub script: &'a str,
    /// As the author wrote it, for questions and records.
    pub display: &'a str,
    /// `$0`, `$1` and so on.
    pub positionals: &'a [&'a str],
    /// Variables by name.
    pub variables: &'a [(&'a str, &'a str)],
}

impl<'a> Bound<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        match name.parse::<usize>() {
            // Whether `01` is `1` is for shells to argue about.
            Ok(at) if at.to_string() == name => self.positionals.get(at).copied(),
            Ok(_) => None,
            Err(_) => self
                .variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value),
        }
    }

    /// What runs where nobody could prove what the script does: the script as it is, with its values
    /// beside it.
    fn plan(&self) -> Plan {
        let mut words: Vec<Box<str>> = vec!["env".into()];
        words.extend(
            self.variables
                .iter()
                .map(|(name, value)| format!("{name}={value}").into()),
        );
        words.extend(["bash", "--norc", "--noprofile", "-c", self.script].map(Box::from));
        words.extend(self.positionals.iter().map(|value| Box::from(*value)));
        Plan::Words(words)
    }
}

/// Decides. Holds everything a decision hangs on, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// The rules of the person, of the project and of the program.
    pub rules: RuleSet,
    /// What happens where no rule is.
    pub mode: Mode,
    /// Answers that still count.
    pub grants: Vec<Grant>,
    /// Where relative paths begin.
    pub places: Places,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It may run.
    Allowed(Approved<Command>, Decision),
    /// A person must answer first.
    Ask(Pending),
    /// It may not run.
    Denied(Decision),
}

impl Outcome {
    /// Gives the command the text by which people know it.
    fn rename(&mut self, text: &str) {
        match self {
            Self::Allowed(approved, _) => approved.value_mut().text = text.into(),
            Self::Ask(pending) => pending.command.text = text.into(),
            Self::Denied(_) => {}
        }
    }

    /// The decision behind it.
    pub fn decision(&self) -> &Decision {
        match self {
            Self::Allowed(_, decision) | Self::Denied(decision) => decision,
            Self::Ask(pending) => &pending.decision,
        }
    }
}

/// A command that waits for a person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    command: Command,
    /// What a yes for longer is about: the command with its values in place.
    key: Box<str>,
    decision: Decision,
    skill: Option<(Box<str>, Box<str>)>,
}

impl Pending {
    /// Why the person is asked.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What would run.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// Takes the answer. A yes for longer also gives the grant to keep.
    pub fn answer(self, answer: Answer) -> Result<(Approved<Command>, Option<Grant>), Decision> {
        let (lifetime, what) = match answer {
            Answer::No => {
                return Err(Decision {
                    verdict: Verdict::Deny,
                    reason: "a person said no".into(),
                    ..self.decision
                });
            }
            Answer::Once => return Ok((Approved::new(self.command, "a person, this once"), None)),
            Answer::Session => (Lifetime::Session, Granted::Verbatim(self.key.clone())),
            Answer::Always => (Lifetime::Always, Granted::Verbatim(self.key.clone())),
            Answer::Tool => match Rule::parse("Bash", Effect::Allow) {
                Ok(rule) => (Lifetime::Session, Granted::Rule(rule)),
                Err(_) => (Lifetime::Session, Granted::Verbatim(self.key.clone())),
            },
        };
        let grant = Grant {
            what,
            lifetime,
            skill: self.skill,
        };
        Ok((Approved::new(self.command, "a person"), Some(grant)))
    }
}

impl Gate {
    /// Decides about anything. For commands, [`Gate::command`] also says what would run.
    pub fn decide(&self, action: &Action<'_>, actor: &Actor<'_>) -> Decision {
        match action {
            Action::Command { text } => self.examine(text, actor).0,
            _ => self.judge(action, actor),
        }
    }

    /// Decides about a command line.
    pub fn command(&self, text: &str, actor: &Actor<'_>) -> Outcome {
        let (decision, script) = self.examine(text, actor);
        let plan = match &script {
            Ok(script) => Plan::of(script),
            Err(_) => Plan::AsTyped(text.into()),
        };
        self.outcome(
            Command {
                text: text.into(),
                plan,
            },
            decision,
            actor,
        )
    }

    #[expect(
        clippy::unused_self,
        reason = "only the gate turns a decision into an approval"
    )]
    fn outcome(&self, command: Command, decision: Decision, actor: &Actor<'_>) -> Outcome {
        match decision.verdict {
            Verdict::Allow => {
                let by = decision
                    .rule
                    .as_ref()
                    .map_or(&*decision.reason, |rule| &*rule.text);
                Outcome::Allowed(Approved::new(command, by), decision)
            }
            Verdict::Ask => {
                let skill = actor
                    .skill
                    .as_ref()
                    .map(|skill| (skill.name.into(), skill.digest.into()));
                let key = command.text.clone();
                Outcome::Ask(Pending {
                    command,
                    key,
                    decision,
                    skill,
                })
            }
            Verdict::Deny => Outcome::Denied(decision),
        }
    }

    /// Decides about a script of a skill's author. With the values in place it is judged like any
    /// line. One that cannot be proved plain may run where the skill may run every command (`Bash`):
    /// a person trusted exactly this text.
    pub fn bound(&self, bound: &Bound<'_>, actor: &Actor<'_>) -> Outcome {
        let lookup = |name: &str| bound.value(name);
        if let Ok(script) = lex_bound(bound.script, &lookup) {
            let mut outcome = self.command(&script::write(&script), actor);
            outcome.rename(bound.display);
            return outcome;
        }
        let command = Command {
            text: bound.display.into(),
            plan: bound.plan(),
        };
        let (mut decision, _) = self.examine(bound.script, actor);
        let restricted = self.restricted(bound.script, None, actor);
        let anything = actor
            .skill
            .as_ref()
            .filter(|skill| skill.trusted)
            .and_then(|skill| {
                let any = |placed: &&Placed| {
                    matches!(placed.rule.subject, Subject::Command(Commands::Any))
                };
                skill.tools.of(Effect::Allow).find(any)
            });
        if let Some(placed) = anything.filter(|_| restricted.is_none() && self.mode != Mode::Plan) {
            let reason = "the skill may run every command, and a person trusts its text";
            decision = Decision::new(Verdict::Allow, reason).by(placed.cite());
        }
        let key = format!("{:?}", (bound.script, bound.positionals, bound.variables));
        let same =
            |granted: &Granted| matches!(granted, Granted::Verbatim(granted) if **granted == *key);
        if let Some(grant) = self.granted(actor, same).filter(|_| restricted.is_none()) {
            decision = grant;
        }
        let mut outcome = self.outcome(command, decision, actor);
        if let Outcome::Ask(pending) = &mut outcome {
            pending.key = key.into();
        }
        outcome
    }

    /// Both sets of rules that are about an actor's requests, the person's first.
    fn sets<'a>(&'a self, actor: &'a Actor<'_>) -> impl Iterator<Item = &'a RuleSet> {
        std::iter::once(&self.rules).chain(actor.skill.as_ref().map(|skill| skill.tools))
    }

    fn restricting<'a>(
        &'a self,
        actor: &'a Actor<'_>,
        effect: Effect,
    ) -> impl Iterator<Item = &'a Placed> {
        self.sets(actor).flat_map(move |set| set.of(effect))
    }

    /// Decides about a command line, and tells how it was understood.
    pub fn examine(&self, text: &str, actor: &Actor<'_>) -> (Decision, Result<Script, Refusal>) {
        let script = lex(text);
        if let Some(decision) = inert(actor) {
            return (decision, script);
        }
        let restricted = self.restricted(text, script.as_ref().ok(), actor);
        if let Some(decision) = restricted.as_ref().filter(|d| d.verdict == Verdict::Deny) {
            return (decision.clone(), script);
        }
        let decision = match &script {
            Ok(parsed) => self.permitted(text, parsed, actor),
            Err(refusal) => self.unproved(text, *refusal, actor),
        };
        (self.settle(stricter(decision, restricted)), script)
    }

    /// In mode `allow` nobody is asked.
    fn settle(&self, decision: Decision) -> Decision {
        if self.mode == Mode::Allow && decision.verdict == Verdict::Ask {
            let reason = format!("{}, and mode `allow` asks nobody", decision.reason).into();
            return Decision {
                verdict: Verdict::Deny,
                reason,
                ..decision
            };
        }
        decision
    }

    /// What deny and ask rules say of a line, however it is written.
    fn restricted(
        &self,
        text: &str,
        script: Option<&Script>,
        actor: &Actor<'_>,
    ) -> Option<Decision> {
        let lost = self.lost(actor);
        let any = |effect| self.sets(actor).any(|set| set.has_command_rules(effect));
        let (denies, asks) = (any(Effect::Deny), any(Effect::Ask));
        if !denies && !asks {
            return lost;
        }
        let findings = finder::find(text);
        let everything = matching::every_command(&findings);
        let commands = &everything.commands;
        let files = self.files(&findings, commands, actor);
        let found = |effect| {
            self.restricting(actor, effect).find_map(|placed| {
                self.hits(placed, script, commands, &files)
                    .map(|found| (placed, cut(&found)))
            })
        };
        if let Some((placed, what)) = found(Effect::Deny) {
            let reason = format!("a rule forbids `{what}`");
            return Some(Decision::new(Verdict::Deny, reason).by(placed.cite()));
        }
        let endless = everything
            .incomplete
            .then_some("it starts more programs than can be looked at");
        let unread = findings.unreadable.filter(|_| script.is_none()).or(endless);
        if let Some(why) = unread.filter(|_| denies) {
            let reason = format!("{why}, so the deny rules cannot be checked");
            return Some(Decision::new(Verdict::Deny, reason).remedy("write it plainly"));
        }
        if lost.is_some() {
            return lost;
        }
        // Mode `yolo` is a person's yes to everything that they did not forbid.
        let (placed, what) = found(Effect::Ask).filter(|_| self.mode != Mode::Yolo)?;
        let reason = format!("a rule wants a question before `{what}`");
        Some(Decision::new(Verdict::Ask, reason).by(placed.cite()))
    }

    /// What is to be said where a restricting rule cannot be read.
    fn lost(&self, actor: &Actor<'_>) -> Option<Decision> {
        let lost = self.sets(actor).find_map(RuleSet::lost_restriction)?;
        let reason = format!(
            "the {} rule `{}` of {} cannot be read ({}), so nobody knows what it was to stop",
            lost.effect.as_str(),
            lost.fault.text,
            lost.source,
            lost.fault.why
        );
        Some(Decision::new(Verdict::Ask, reason).remedy("mend that rule"))
    }

    /// The files that a line seems to name, looked at once for all rules about files.
    fn files<'f>(
        &self,
        findings: &'f finder::Findings,
        commands: &'f [Vec<finder::Loose>],
        actor: &Actor<'_>,
    ) -> Files<'f> {
        let about = |wanted: fn(&Subject) -> bool| {
            self.sets(actor)
                .flat_map(RuleSet::all)
                .any(|placed| placed.effect != Effect::Allow && wanted(&placed.rule.subject))
        };
        let locate = |(path, pattern): (&'f str, bool)| (Located::new(path, &self.places), pattern);
        let mut files = Files::default();
        if about(|subject| matches!(subject, Subject::Read(_))) {
            let operands = commands
                .iter()
                .flat_map(|words| matching::file_words(words));
            files.read = operands
                .chain(findings.reads.iter().map(|path| (&**path, false)))
                .map(locate)
                .collect();
        }
        if about(|subject| matches!(subject, Subject::Write(_))) {
            let changing = commands
                .iter()
                .filter(|words| matching::changes_files(words));
            let operands = changing.flat_map(|words| matching::file_words(words));
            files.written = operands
                .chain(findings.writes.iter().map(|path| (&**path, false)))
                .map(locate)
                .collect();
        }
        files
    }

    /// What of a line a deny or ask rule is about.
    fn hits(
        &self,
        placed: &Placed,
        line_read: Option<&Script>,
        commands: &[Vec<finder::Loose>],
        files: &Files<'_>,
    ) -> Option<String> {
        let spell = |words: &[finder::Loose]| {
            words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
                .trim()
                .to_owned()
        };
        match &placed.rule.subject {
            Subject::Everything => Some("everything".into()),
            // A rule about a whole line is about that line.
            Subject::Command(Commands::Exact(line)) if line_read == Some(line) => {
                Some(script::write(line))
            }
            Subject::Command(rule) => commands
                .iter()
                .find(|words| matching::forbids(rule, words))
                .map(|words| spell(words)),
            Subject::Read(glob) => files
                .read
                .iter()
                .find(|(file, pattern)| {
                    file.is_in(glob, &self.places, true)
                        || *pattern && matching::may_become(file.written(), glob)
                })
                .map(|(file, _)| file.written().to_owned()),
            Subject::Write(glob) => files
                .written
                .iter()
                .find(|(file, pattern)| {
                    file.is_in(glob, &self.places, true)
                        || *pattern && matching::may_become(file.written(), glob)
                })
                .map(|(file, _)| file.written().to_owned()),
            _ => None,
        }
    }

    /// What is left for a line that was understood and that no rule stops.
    fn permitted(&self, text: &str, script: &Script, actor: &Actor<'_>) -> Decision {
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling) {
            let outside = script.commands.iter().find(|command| {
                !skill
                    .tools
                    .of(Effect::Allow)
                    .any(|placed| match &placed.rule.subject {
                        Subject::Command(rule) => {
                            matching::allows(rule, script, command) != Fit::No
                        }
                        _ => false,
                    })
            });
            if let Some(command) = outside {
                return beyond_ceiling(skill, &canonical(&command.words));
            }
        }
        if self.mode == Mode::Plan {
            return Decision::new(Verdict::Deny, "nothing runs in plan mode");
        }
        if let Some(grant) = self.granted(actor, |granted| match granted {
            Granted::Verbatim(granted) => **granted == *text,
            Granted::Rule(rule) => match &rule.subject {
                Subject::Command(rule) => script.commands.iter().all(|command| {
                    matches!(
                        matching::allows(rule, script, command),
                        Fit::Yes | Fit::Exactly
                    )
                }),
                _ => false,
            },
        }) {
            return grant;
        }
        let mut rule: Option<Cited> = None;
        for command in &script.commands {
            match self.allowed(script, command, actor) {
                Ok(cited) => rule = rule.or(Some(cited)),
                Err(decision) => return self.by_mode(decision),
            }
        }
        let reason = match script.commands.len() {
            1 => "a rule allows it".into(),
            count => format!("rules allow each of its {count} commands"),
        };
        Decision {
            rule,
            ..Decision::new(Verdict::Allow, reason)
        }
    }

    /// Finds the rule that allows one command of a line, with its redirections.
    fn allowed(
        &self,
        script: &Script,
        command: &Simple,
        actor: &Actor<'_>,
    ) -> Result<Cited, Decision> {
        let mut objection = None;
        let mut found = None;
        for placed in self.restricting(actor, Effect::Allow) {
            let Subject::Command(rule) = &placed.rule.subject else {
                continue;
            };
            match matching::allows(rule, script, command) {
                Fit::No => {}
                Fit::But(hit) => {
                    objection.get_or_insert((hit, placed));
                }
                Fit::Exactly => return Ok(placed.cite()),
                Fit::Yes => {
                    found = Some(placed);
                    break;
                }
            }
        }
        let line = canonical(&command.words);
        let everything = |placed: &Placed| {
            matches!(
                placed.rule.subject,
                Subject::Command(Commands::Any) | Subject::Everything
            )
        };
        // Where something is forbidden, `Bash` does not stand for code that nobody looks into.
        let banned = |effect| self.sets(actor).any(|set| set.has_bans(effect));
        if let Some(placed) = found.filter(|placed| everything(placed))
            && (banned(Effect::Deny) || banned(Effect::Ask))
            && matching::is_opaque(&command.words)
        {
            let reason = format!(
                "`{}` runs code in which nobody looks for what is forbidden",
                cut(&line)
            );
            let remedy = format!("allow exactly this: {}", exact_rule(&line));
            return Err(Decision::new(Verdict::Ask, reason)
                .by(placed.cite())
                .remedy(remedy));
        }
        let Some(placed) = found else {
            return Err(match objection {
                Some((hit, placed)) => {
                    let reason = match command.words.get(hit.at) {
                        Some(word) if hit.at > 0 => {
                            format!("`{}` in `{}` {}", cut(&word.text), cut(&line), hit.why)
                        }
                        _ => format!("`{}` {}", cut(&line), hit.why),
                    };
                    let remedy = format!("allow exactly this: {}", exact_rule(&line));
                    Decision::new(Verdict::Ask, reason)
                        .by(placed.cite())
                        .remedy(remedy)
                }
                None => Decision::new(Verdict::Ask, format!("no rule allows `{}`", cut(&line)))
                    .remedy(format!("allow it with {}", suggest(command))),
            });
        };
        for redirect in command
            .redirects
            .iter()
            .filter(|redirect| !matching::is_harmless(redirect))
        {
            let (target, writes) = match redirect {
                Redirect::Read(target) => (target, false),
                Redirect::Write { target, .. } => (target, true),
                Redirect::Copy { .. } => continue,
            };
            if !self.file_allowed(target, writes, actor) {
                let (verb, tool) = if writes {
                    ("writes", "Edit")
                } else {
                    ("reads", "Read")
                };
                return Err(Decision::new(
                    Verdict::Ask,
                    format!("it {verb} the file `{}` by redirection", cut(target)),
                )
                .remedy(format!("allow the file with {}", file_rule(tool, target))));
            }
        }
        Ok(placed.cite())
    }

    fn file_allowed(&self, path: &str, writes: bool, actor: &Actor<'_>) -> bool {
        // Bash makes connections of these names.
        if path.contains("/dev/tcp/") || path.contains("/dev/udp/") {
            return false;
        }
        self.restricting(actor, Effect::Allow)
            .any(|placed| match &placed.rule.subject {
                Subject::Write(glob) if writes => paths::covers(glob, path, &self.places, false),
                Subject::Read(glob) if !writes => paths::covers(glob, path, &self.places, false),
                _ => false,
            })
    }

    /// What is left for a line that nobody can prove plain.
    fn unproved(&self, text: &str, refusal: Refusal, actor: &Actor<'_>) -> Decision {
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling) {
            return beyond_ceiling(skill, &cut(text));
        }
        if self.mode == Mode::Plan {
            return Decision::new(Verdict::Deny, "nothing runs in plan mode");
        }
        let same =
            |granted: &Granted| matches!(granted, Granted::Verbatim(granted) if **granted == *text);
        if let Some(grant) = self.granted(actor, same) {
            return grant;
        }
        let reason = format!("it cannot be proved what this runs: it has {}", refusal.why);
        self.by_mode(
            Decision::new(Verdict::Ask, reason)
                .remedy("write it as plain commands, or put it into a script and allow that"),
        )
    }

    fn granted(&self, actor: &Actor<'_>, covers: impl Fn(&Granted) -> bool) -> Option<Decision> {
        let asker = actor.skill.as_ref().map(|skill| (skill.name, skill.digest));
        let fits = |grant: &&Grant| {
            let to = grant
                .skill
                .as_ref()
                .map(|(name, digest)| (&**name, &**digest));
            to == asker && covers(&grant.what)
        };
        self.grants.iter().find(fits).map(|grant| {
            let reason = match grant.lifetime {
                Lifetime::Session => "a person allowed it for this session",
                Lifetime::Always => "a person allowed it for good",
            };
            Decision::new(Verdict::Allow, reason)
        })
    }

    /// Turns a question into what the mode makes of it.
    fn by_mode(&self, decision: Decision) -> Decision {
        match self.mode {
            Mode::Ask | Mode::AcceptEdits => decision,
            Mode::Allow => Decision {
                verdict: Verdict::Deny,
                reason: format!(
                    "{}, and mode `allow` refuses what no rule allows",
                    decision.reason
                )
                .into(),
                ..decision
            },
            Mode::Plan => Decision::new(Verdict::Deny, "nothing is changed in plan mode"),
            Mode::Yolo => Decision::new(Verdict::Allow, "mode `yolo` allows what no rule forbids"),
        }
    }

    /// Decides about everything but commands.
    fn judge(&self, action: &Action<'_>, actor: &Actor<'_>) -> Decision {
        let looks = matches!(action, Action::Read { .. })
            || matches!(
                action,
                Action::Skill {
                    action: "load" | "read" | "list",
                    ..
                }
            );
        if let Some(decision) = inert(actor).filter(|_| !looks) {
            return decision;
        }
        let find = |effect| {
            self.restricting(actor, effect)
                .find(|placed| self.about(placed, action, true))
        };
        if let Some(placed) = find(Effect::Deny) {
            return Decision::new(Verdict::Deny, "a rule forbids it").by(placed.cite());
        }
        let asked = find(Effect::Ask)
            .filter(|_| self.mode != Mode::Yolo)
            .map(|placed| {
                Decision::new(Verdict::Ask, "a rule wants a question first").by(placed.cite())
            });
        let restricted = self.lost(actor).or(asked);
        self.settle(stricter(
            self.judge_freely(action, actor, looks),
            restricted,
        ))
    }

    /// What is left where no rule stops it.
    fn judge_freely(&self, action: &Action<'_>, actor: &Actor<'_>, looks: bool) -> Decision {
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling)
            && !skill
                .tools
                .of(Effect::Allow)
                .any(|placed| self.about(placed, action, false))
        {
            return beyond_ceiling(skill, &name_of(action));
        }
        let touches = matches!(
            action,
            Action::Write { .. } | Action::Fetch { .. } | Action::Tool { .. }
        );
        if touches && self.mode == Mode::Plan {
            return Decision::new(Verdict::Deny, "nothing is changed in plan mode");
        }
        if let Some(grant) = self.granted(actor, |granted| match granted {
            Granted::Rule(rule) => self.subject_fits(&rule.subject, action, false),
            Granted::Verbatim(_) => false,
        }) {
            return grant;
        }
        if let Some(placed) = self
            .restricting(actor, Effect::Allow)
            .find(|placed| self.about(placed, action, false))
        {
            return Decision::new(Verdict::Allow, "a rule allows it").by(placed.cite());
        }
        match (action, self.mode) {
            (Action::Skill { .. }, _) if looks => {
                Decision::new(Verdict::Allow, "looking at a skill changes nothing")
            }
            (Action::Read { path }, _) if paths::is_inside(path, &self.places) => {
                Decision::new(Verdict::Allow, "it is inside the project")
            }
            (Action::Write { path }, Mode::AcceptEdits) if paths::is_inside(path, &self.places) => {
                Decision::new(
                    Verdict::Allow,
                    "mode `accept-edits` allows writing inside the project",
                )
            }
            _ => {
                let name = name_of(action);
                self.by_mode(
                    Decision::new(Verdict::Ask, format!("no rule allows {}", cut(&name)))
                        .remedy(format!("allow it with {}", rule_for(action))),
                )
            }
        }
    }

    fn about(&self, placed: &Placed, action: &Action<'_>, forbids: bool) -> bool {
        self.subject_fits(&placed.rule.subject, action, forbids)
    }

    fn subject_fits(&self, subject: &Subject, action: &Action<'_>, forbids: bool) -> bool {
        match (subject, action) {
            (Subject::Everything, _) => true,
            (Subject::Read(glob), Action::Read { path })
            | (Subject::Write(glob), Action::Write { path }) => {
                paths::covers(glob, path, &self.places, forbids)
            }
            // Who may not read a file may not replace it unseen either.
            (Subject::Read(glob), Action::Write { path }) if forbids => {
                paths::covers(glob, path, &self.places, true)
            }
            (Subject::Host(pattern), Action::Fetch { host }) => host_fits(pattern, host),
            (Subject::Tool(pattern), Action::Tool { name, .. }) => like(pattern, name),
            (Subject::Mcp { server, tool }, Action::Tool { name, .. }) => name
                .strip_prefix("mcp__")
                .and_then(|rest| rest.split_once("__"))
                .is_some_and(|(its_server, its_tool)| {
                    like(server, its_server)
                        && tool.as_ref().is_none_or(|tool| like(tool, its_tool))
                }),
            (
                Subject::Argument { tool, name, value },
                Action::Tool {
                    name: called,
                    arguments,
                },
            ) => {
                like(tool, called)
                    && arguments
                        .iter()
                        .any(|(key, given)| **name == **key && like(value, given))
            }
            (
                Subject::Skill {
                    name,
                    action: wanted,
                    arguments,
                },
                Action::Skill {
                    name: its_name,
                    also,
                    action,
                    arguments: given,
                },
            ) => {
                let called = if forbids {
                    std::iter::once(its_name).chain(also.iter()).any(|n| {
                        like(name, n) || n.rsplit(':').next().is_some_and(|n| like(name, n))
                    })
                } else {
                    like(name, its_name)
                };
                let fits = match arguments {
                    Arguments::Any => true,
                    Arguments::Plain => forbids || given.trim().is_empty(),
                    Arguments::Like(pattern) => like(pattern, given),
                };
                called && fits && wanted.as_ref().is_none_or(|wanted| **wanted == **action)
            }
            _ => false,
        }
    }
}

/// Files that a line seems to name.
#[derive(Default)]
struct Files<'f> {
    /// Each with whether it is a pattern of the shell.
    read: Vec<(Located<'f>, bool)>,
    written: Vec<(Located<'f>, bool)>,
}

/// A question that a rule wants takes the place of a yes, never of a no.
fn stricter(decision: Decision, restricted: Option<Decision>) -> Decision {
    match restricted {
        Some(restricted) if restricted.verdict >= decision.verdict => restricted,
        _ => decision,
    }
}

/// Untrusted skills do nothing.
fn inert(actor: &Actor<'_>) -> Option<Decision> {
    let skill = actor.skill.as_ref().filter(|skill| !skill.trusted)?;
    Some(
        Decision::new(
            Verdict::Deny,
            format!(
                "the skill {} is not trusted, so it runs nothing",
                skill.name
            ),
        )
        .remedy(format!("read it, then type `prowess trust {}`", skill.name)),
    )
}

fn beyond_ceiling(skill: &SkillActor<'_>, what: &str) -> Decision {
    Decision::new(
        Verdict::Deny,
        format!(
            "the skill {} may use only its allowed-tools, and {what} is not among them",
            skill.name
        ),
    )
    .remedy("add it to the skill's allowed-tools")
}

fn host_fits(pattern: &str, host: &str) -> bool {
    if host.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return false;
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match pattern.strip_prefix("*.") {
        Some(domain) => host
            .strip_suffix(domain)
            .is_some_and(|head| head.len() > 1 && head.ends_with('.')),
        None => pattern == "*" || host == pattern,
    }
}

fn name_of(action: &Action<'_>) -> String {
    match action {
        Action::Command { text } => (*text).to_owned(),
        Action::Read { path } => format!("reading {path}"),
        Action::Write { path } => format!("writing {path}"),
        Action::Fetch { host } => format!("talking to {host}"),
        Action::Tool { name, .. } => format!("the tool {name}"),
        Action::Skill { name, action, .. } => format!("to {action} the skill {name}"),
    }
}

fn rule_for(action: &Action<'_>) -> String {
    match action {
        Action::Command { text } => exact_rule(text),
        Action::Read { path } => file_rule("Read", path),
        Action::Write { path } => file_rule("Edit", path),
        Action::Fetch { host } => format!("WebFetch(domain:{host})"),
        Action::Tool { name, .. } => (*name).to_owned(),
        Action::Skill { name, .. } => format!("Skill({name} *)"),
    }
}

/// A rule about one file: a path from the root of the disk begins with two slashes.
fn file_rule(tool: &str, path: &str) -> String {
    let slash = if path.starts_with('/') { "/" } else { "" };
    format!("{tool}({slash}{path})")
}

/// A rule worth offering: the program with its subcommand; never one that would allow anything.
fn suggest(command: &Simple) -> String {
    let line = canonical(&command.words);
    let report = programs::inspect(&command.words);
    let risky =
        !report.hits.is_empty() || !report.starts.is_empty() || command.words[0].text.contains('/');
    if risky {
        return exact_rule(&line);
    }
    let length = report
        .subcommand
        .map_or(1, |at| at + 1)
        .min(command.words.len());
    format!("Bash({}:*)", canonical(&command.words[..length]))
}

fn exact_rule(line: &str) -> String {
    format!("Bash({})", cut(line))
}

/// One line of bounded length, for sentences.
fn cut(text: &str) -> String {
    const MOST: usize = 160;
    let line: String = text
        .chars()
        .map(|c| if c == '\n' { ' ' } else { c })
        .take(MOST + 1)
        .collect();
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
