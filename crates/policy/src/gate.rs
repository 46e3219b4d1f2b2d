//! The gate: deny rules, then ask rules, then allow rules, then the mode.

use crate::approved::{Approved, Command, Plan};
use crate::decision::{CitedRule, Decision, Remedy, Verdict};
use crate::folders::{Folders, starting_folder};
use crate::grant::{ApprovalAnswer, GrantOrigin, GrantScope, Lifetime, PermissionGrant};
use crate::matching::{self, Fit, OpaqueCode};
use crate::mode::PermissionMode;
use crate::path_pattern::{self, LocatedPath, WorkspacePaths};
use crate::request::{Actor, GateAction, SkillAction, SkillActor};
use crate::rule::{ArgumentRule, CommandRule, Effect, PermissionRule, RuleSubject};
use crate::rule_set::{PermissionRules, RuleSource, SourcedRule};
use prowess_shell::script::{self, canonical};
use prowess_shell::{LexRefusal, Redirect, ShellLine, SimpleCommand, finder, lex, lex_bound};
use prowess_spec::wildcard::like;

/// A script of a skill and the values of its variables.
#[derive(Clone, Copy, Debug)]
pub struct BoundScript<'a> {
    /// The script. Values are never part of its text.
    pub script: &'a str,
    /// The command as the author wrote it, for prompts and records.
    pub display: &'a str,
    /// `$0`, `$1` and so on.
    pub positionals: &'a [&'a str],
    /// Variables by name.
    pub variables: &'a [(&'a str, &'a str)],
}

impl<'a> BoundScript<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        match name.parse::<usize>() {
            // Shells disagree about whether `01` is `1`.
            Ok(at) if at.to_string() == name => self.positionals.get(at).copied(),
            Ok(_) => None,
            Err(_) => self
                .variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value),
        }
    }

    /// Returns the plan for a script that cannot be parsed strictly: the script as it is, with the
    /// values as arguments and variables.
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

/// Decides about requests. Holds everything that a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// The rules from user settings, project settings and the program.
    pub rules: PermissionRules,
    /// The mode, for requests that no rule matches.
    pub mode: PermissionMode,
    /// Allow rules from `--approve`: approval given in advance. They also answer the prompts that
    /// ask rules require.
    pub approvals: PermissionRules,
    /// Grants from earlier answers.
    pub grants: Vec<PermissionGrant>,
    /// The folders that relative paths start from.
    pub places: WorkspacePaths,
    /// `true` if relative paths in `approvals` start from the folder of the command, not from the
    /// project: the user gave both together.
    pub approves_here: bool,
}

/// The outcome for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// The command may run.
    Allowed(Approved<Command>, Decision),
    /// A person must approve it first.
    Ask(Pending),
    /// The command may not run.
    Denied(Decision),
}

impl GateOutcome {
    /// Replaces the text that is shown for the command.
    fn rename(&mut self, text: &str) {
        match self {
            Self::Allowed(approved, _) => approved.value_mut().text = text.into(),
            Self::Ask(pending) => pending.command.text = text.into(),
            Self::Denied(_) => {}
        }
    }

    /// Returns the decision.
    pub fn decision(&self) -> &Decision {
        match self {
            Self::Allowed(_, decision) | Self::Denied(decision) => decision,
            Self::Ask(pending) => &pending.decision,
        }
    }
}

/// A command that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    command: Command,
    /// The text that a longer grant covers: the command with its values filled in.
    key: Box<str>,
    /// The folder in which it runs.
    folder: Box<str>,
    decision: Decision,
    skill: Option<(Box<str>, Box<str>)>,
}

impl Pending {
    /// Returns the reason for the prompt.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the command that would run.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// Applies the answer. Returns the approved command and, for an answer that outlives the
    /// request, the grant to keep.
    pub fn answer(
        self,
        answer: ApprovalAnswer,
    ) -> Result<(Approved<Command>, Option<PermissionGrant>), Decision> {
        let exact = || GrantScope::Verbatim {
            text: self.key.clone(),
            folder: self.folder.clone(),
        };
        let (lifetime, what) = match answer {
            ApprovalAnswer::No | ApprovalAnswer::Unavailable => {
                return Err(self.decision.refused(answer));
            }
            ApprovalAnswer::Once => {
                return Ok((Approved::new(self.command, "a person, this once"), None));
            }
            ApprovalAnswer::Session => (Lifetime::Session, exact()),
            ApprovalAnswer::Always => (Lifetime::Always, exact()),
            ApprovalAnswer::Tool => match PermissionRule::parse("Bash", Effect::Allow) {
                Ok(rule) => (Lifetime::Session, GrantScope::Rule(rule)),
                Err(_) => (Lifetime::Session, exact()),
            },
        };
        let grant = PermissionGrant {
            what,
            lifetime,
            skill: self.skill,
            who: None,
        };
        Ok((Approved::new(self.command, "a person"), Some(grant)))
    }
}

impl Gate {
    /// Decides about a request. For commands, [`Gate::command`] also returns the plan.
    pub fn decide(&self, action: &GateAction<'_>, actor: &Actor<'_>) -> Decision {
        match action {
            GateAction::Command { text } => self.examine(text, actor).0,
            _ => self.judge(action, actor),
        }
    }

    /// Returns `true` if there are rules about skills.
    pub fn has_skill_rules(&self) -> bool {
        let is_about = |placed: &SourcedRule| {
            matches!(
                placed.rule.subject,
                RuleSubject::Skill { .. } | RuleSubject::Everything
            )
        };
        self.rules.all().iter().any(is_about)
    }

    /// Returns `true` if there are deny or ask rules about reading files.
    pub fn restricts_reading(&self, restrictions: &PermissionRules) -> bool {
        let is_about = |placed: &SourcedRule| {
            let subject = &placed.rule.subject;
            placed.effect != Effect::Allow
                && matches!(subject, RuleSubject::Read(_) | RuleSubject::Everything)
        };
        let sets = [&self.rules, &self.approvals, restrictions];
        sets.iter().flat_map(|set| set.all()).any(is_about)
    }

    /// Decides about a command line.
    pub fn command(&self, text: &str, actor: &Actor<'_>) -> GateOutcome {
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

    fn outcome(&self, command: Command, decision: Decision, actor: &Actor<'_>) -> GateOutcome {
        match decision.verdict {
            Verdict::Allow => {
                let by = decision
                    .rule
                    .as_ref()
                    .map_or(&*decision.reason, |rule| &*rule.text);
                GateOutcome::Allowed(Approved::new(command, by), decision)
            }
            Verdict::Ask => {
                let skill = actor
                    .skill
                    .as_ref()
                    .map(|skill| (skill.name.into(), skill.digest.into()));
                let key = command.text.clone();
                GateOutcome::Ask(Pending {
                    command,
                    key,
                    folder: starting_folder(&self.places).into(),
                    decision,
                    skill,
                })
            }
            Verdict::Deny => GateOutcome::Denied(decision),
        }
    }

    /// Decides about a script of a skill. It is judged like any other line, with the values filled
    /// in. A script that cannot be parsed strictly may run if the skill is trusted and its
    /// `allowed-tools` has bare `Bash`: the trust covers exactly this text.
    pub fn bound(&self, bound: &BoundScript<'_>, actor: &Actor<'_>) -> GateOutcome {
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
        let restrictions = self.restricted_bound(bound, actor);
        let is_certain = restrictions.certain.is_some();
        let restricted = restrictions.strictest();
        let opaque = self.opaque_bound(bound, actor);
        if let Some(decision) = restricted.as_ref().filter(|d| d.verdict == Verdict::Deny) {
            return GateOutcome::Denied(decision.clone());
        }
        // The values are part of what a person agreed to.
        let key = format!("{:?}", (bound.script, bound.positionals, bound.variables));
        let (decision, _) = self.examine_as(bound.script, &key, actor);
        let action = GateAction::Command {
            text: bound.display,
        };
        let is_granted = decision.grant.is_some() && !is_certain;
        let mut decision = if is_granted {
            decision
        } else {
            let decision = stricter(decision, opaque.clone());
            let decision = stricter(decision, restricted.clone());
            self.settle(decision, &action, actor)
        };
        let anything = actor
            .skill
            .as_ref()
            .filter(|skill| skill.trusted)
            .and_then(|skill| {
                let any = |placed: &&SourcedRule| {
                    matches!(placed.rule.subject, RuleSubject::Command(CommandRule::Any))
                };
                skill.tools.of(Effect::Allow).find(any)
            });
        let is_checked = restricted.is_none() && opaque.is_none() && !is_granted;
        if let Some(placed) = anything.filter(|_| is_checked && self.mode != PermissionMode::Plan) {
            let reason = "the skill is trusted and may run every command";
            decision = Decision::new(Verdict::Allow, reason).by(placed.cite());
        }
        let mut outcome = self.outcome(command, decision, actor);
        if let GateOutcome::Ask(pending) = &mut outcome {
            pending.key = key.into();
        }
        outcome
    }

    /// Returns the sets of rules that apply to an actor, the gate's own first.
    fn sets<'a>(&'a self, actor: &'a Actor<'_>) -> impl Iterator<Item = &'a PermissionRules> {
        [&self.rules, &self.approvals, actor.restrictions]
            .into_iter()
            .chain(actor.skill.as_ref().map(|skill| skill.tools))
    }

    fn restricting<'a>(
        &'a self,
        actor: &'a Actor<'_>,
        effect: Effect,
    ) -> impl Iterator<Item = &'a SourcedRule> {
        self.sets(actor).flat_map(move |set| set.of(effect))
    }

    /// Decides about a command line and returns how it was parsed.
    pub fn examine(
        &self,
        text: &str,
        actor: &Actor<'_>,
    ) -> (Decision, Result<ShellLine, LexRefusal>) {
        self.examine_as(text, text, actor)
    }

    /// Decides about a command line. `key` is the text that grants for it have.
    fn examine_as(
        &self,
        text: &str,
        key: &str,
        actor: &Actor<'_>,
    ) -> (Decision, Result<ShellLine, LexRefusal>) {
        let script = lex(text);
        if let Some(decision) = inert(actor) {
            return (decision, script);
        }
        let mut restrictions = self.restricted(text, script.as_ref().ok(), actor);
        if self.is_agreed(key, script.as_ref().ok(), actor) {
            restrictions.possible = None;
        }
        let restricted = restrictions.strictest();
        if let Some(decision) = restricted.as_ref().filter(|d| d.verdict == Verdict::Deny) {
            return (decision.clone(), script);
        }
        let decision = match &script {
            Ok(parsed) => self.permitted(key, parsed, actor),
            Err(refusal) => self.unproved(text, key, *refusal, actor),
        };
        let action = GateAction::Command { text };
        let decision = stricter(decision, restricted);
        (self.settle(decision, &action, actor), script)
    }

    /// Returns `true` if the user's own rules allow exactly this line, or a person did.
    fn is_agreed(&self, key: &str, script: Option<&ShellLine>, actor: &Actor<'_>) -> bool {
        let is_exact = |placed: &SourcedRule| match &placed.rule.subject {
            RuleSubject::Command(rule) => script.is_some_and(|line| is_whole_line(rule, line)),
            _ => false,
        };
        let is_ruled = self.rules.of(Effect::Allow).any(is_exact);
        is_ruled || self.granted_exactly(actor, key).is_some()
    }

    /// Returns the decision of a grant for exactly this command, in the folder in which it runs.
    fn granted_exactly(&self, actor: &Actor<'_>, key: &str) -> Option<Decision> {
        self.granted(actor, |granted| self.is_exactly(granted, key))
    }

    fn is_exactly(&self, granted: &GrantScope, key: &str) -> bool {
        match granted {
            GrantScope::Verbatim { text, folder } => {
                **text == *key && **folder == *starting_folder(&self.places)
            }
            GrantScope::Rule(_) => false,
        }
    }

    /// Applies approval given in advance. Then mode `allow` turns prompts into denials.
    fn settle(&self, decision: Decision, action: &GateAction<'_>, actor: &Actor<'_>) -> Decision {
        if decision.verdict == Verdict::Ask
            && let Some(approval) = self.approved(action, actor)
        {
            return approval;
        }
        if self.mode == PermissionMode::Allow && decision.verdict == Verdict::Ask {
            let reason = format!("{}, and mode `allow` does not prompt", decision.reason).into();
            return Decision {
                verdict: Verdict::Deny,
                reason,
                ..decision
            };
        }
        decision
    }

    /// Returns the decision of the `--approve` rules and the deny rules, if it allows the action.
    fn approved(&self, action: &GateAction<'_>, actor: &Actor<'_>) -> Option<Decision> {
        if let GateAction::Fetch {
            host,
            private: true,
            changing,
        } = action
        {
            // A rule for every host does not cover this machine or private networks.
            let exact = |placed: &&SourcedRule| match (&placed.rule.subject, changing) {
                (RuleSubject::Host(pattern), None) => **pattern == **host,
                (
                    RuleSubject::Change {
                        tool,
                        host: pattern,
                    },
                    Some(changing),
                ) => **tool == **changing && **pattern == **host,
                _ => false,
            };
            let placed = self.approvals.of(Effect::Allow).find(exact)?;
            return Some(Decision::new(Verdict::Allow, "a rule allows it").by(placed.cite()));
        }
        self.approvals.of(Effect::Allow).next()?;
        // The deny rules stay in force: they may be about code that they cannot be checked against.
        let mut rules = self.approvals.clone();
        for set in self.sets(actor) {
            rules.forbid(set);
        }
        let alone = Self {
            rules,
            mode: PermissionMode::Allow,
            places: self.places.clone(),
            approves_here: self.approves_here,
            ..Self::default()
        };
        // The skill matters, as the command may run in its folder; its own rules do not.
        let none = PermissionRules::default();
        let skill = actor.skill.as_ref().map(|skill| SkillActor {
            tools: &none,
            ceiling: false,
            ..skill.clone()
        });
        let asker = Actor {
            skill,
            ..Actor::default()
        };
        let decision = alone.decide(action, &asker);
        (decision.verdict == Verdict::Allow && decision.rule.is_some()).then_some(decision)
    }

    /// Applies the deny and ask rules to a line, however it is written.
    fn restricted(
        &self,
        text: &str,
        script: Option<&ShellLine>,
        actor: &Actor<'_>,
    ) -> Restrictions {
        self.restricted_by(|| finder::find(text), &[], script, actor)
    }

    /// Applies the deny and ask rules to a script that cannot be parsed strictly, and to its
    /// values. The script may pass a value on through other variables, so every value counts as a
    /// file that it names, and as a command if the script runs a command from a variable.
    fn restricted_bound(&self, bound: &BoundScript<'_>, actor: &Actor<'_>) -> Restrictions {
        let values: Vec<&str> = bound
            .positionals
            .iter()
            .copied()
            .chain(bound.variables.iter().map(|(_, value)| *value))
            .collect();
        let find = || {
            let mut findings = finder::find_bound(bound.script, &|name| bound.value(name));
            let is_variable =
                |words: &Vec<finder::LooseWord>| words.first().is_some_and(|word| word.unknown);
            if findings.commands.iter().any(is_variable) {
                let all = bound.positionals.join(" ");
                for value in values.iter().copied().chain([&*all]) {
                    let inner = finder::find(value);
                    findings.commands.extend(inner.commands);
                }
            }
            findings
        };
        self.restricted_by(find, &values, None, actor)
    }

    /// Returns the prompt for a script that runs code which the deny and ask rules for commands
    /// cannot be checked against. As on a plain line, bare `Bash` does not cover such code.
    fn opaque_bound(&self, bound: &BoundScript<'_>, actor: &Actor<'_>) -> Option<Decision> {
        let restricts = |effect| self.sets(actor).any(|set| set.has_command_rules(effect));
        let is_restricted = restricts(Effect::Deny) || restricts(Effect::Ask);
        if self.mode == PermissionMode::Yolo || !is_restricted {
            return None;
        }
        let findings = finder::find_bound(bound.script, &|name| bound.value(name));
        let opaque = if self.has_bans(actor) {
            matching::opaque_code(&findings)?
        } else if findings.ambiguous || matching::every_command(&findings).is_opaque {
            OpaqueCode::Incomplete
        } else {
            return None;
        };
        let reason = match opaque {
            OpaqueCode::Command(what) => format!(
                "`{}` runs code that cannot be checked against the deny and ask rules",
                cut(&what)
            ),
            OpaqueCode::Incomplete => {
                "the script cannot be checked completely against the deny and ask rules".to_owned()
            }
        };
        Some(Decision::new(Verdict::Ask, reason))
    }

    /// Returns `true` if a command has a script that cannot be parsed, and there are deny or ask
    /// rules that may be about it.
    fn has_opaque_script(&self, command: &SimpleCommand, actor: &Actor<'_>) -> bool {
        let restricts = |effect| self.sets(actor).any(|set| set.has_command_rules(effect));
        (restricts(Effect::Deny) || restricts(Effect::Ask))
            && matching::has_opaque_script(&command.words)
    }

    /// Returns `true` if there are deny or ask rules for commands.
    fn has_bans(&self, actor: &Actor<'_>) -> bool {
        let bans = |effect| self.sets(actor).any(|set| set.has_bans(effect));
        bans(Effect::Deny) || bans(Effect::Ask)
    }

    /// Applies the deny and ask rules to what a line was found to do.
    fn restricted_by(
        &self,
        find: impl FnOnce() -> finder::Findings,
        values: &[&str],
        script: Option<&ShellLine>,
        actor: &Actor<'_>,
    ) -> Restrictions {
        let lost = self.invalid_restriction(actor);
        let any = |effect| self.sets(actor).any(|set| set.has_command_rules(effect));
        let (denies, asks) = (any(Effect::Deny), any(Effect::Ask));
        if !denies && !asks {
            return Restrictions::certain(lost);
        }
        let findings = find();
        let everything = matching::every_command(&findings);
        let commands = &everything.commands;
        let files = self.files(&findings, &everything, values, actor);
        let found = |effect| {
            self.restricting(actor, effect).find_map(|placed| {
                self.hits(placed, script, commands, &files)
                    .map(|found| (placed, cut(&found)))
            })
        };
        if let Some((placed, what)) = found(Effect::Deny) {
            let reason = format!("a rule forbids `{what}`");
            let decision = Decision::new(Verdict::Deny, reason).by(placed.cite());
            return Restrictions::certain(Some(decision));
        }
        let endless = everything
            .incomplete
            .then_some("it starts too many programs");
        let unread = findings.unreadable.filter(|_| script.is_none()).or(endless);
        if let Some(why) = unread.filter(|_| denies) {
            let reason = format!("{why}, so the deny rules cannot be checked");
            let decision = Decision::new(Verdict::Deny, reason).advice("simplify the command");
            return Restrictions::certain(Some(decision));
        }
        // Mode `yolo` does not prompt, so a script that may do what a rule forbids is denied.
        let is_variable = matching::has_variable_program(&findings, &everything)
            && self.sets(actor).any(|set| set.has_bans(Effect::Deny));
        let doubt = if everything.is_opaque {
            Some((
                "it has a script that cannot be checked against the deny rules",
                "write the commands of the script as plain lines",
            ))
        } else if findings.unknown_program {
            Some((
                "the names of files decide which program it runs, so the deny rules cannot be checked",
                "write the name of the program",
            ))
        } else if is_variable {
            Some((
                "the name of a program is only known when it runs, so the deny rules cannot be checked",
                "write the name of the program",
            ))
        } else if findings.misread {
            Some((
                "a shell may read it in another way, so the deny rules cannot be checked",
                "simplify the command",
            ))
        } else {
            None
        };
        if let Some((reason, advice)) = doubt
            && denies
            && self.mode == PermissionMode::Yolo
        {
            let decision = Decision::new(Verdict::Deny, reason).advice(advice);
            return Restrictions::certain(Some(decision));
        }
        let possible = self.possibly_restricted(script, &everything, &files, actor);
        // Mode `yolo` approves everything that no deny rule matches.
        let asked = || found(Effect::Ask).filter(|_| self.mode != PermissionMode::Yolo);
        let asked = || {
            let (placed, what) = asked()?;
            let reason = format!("a rule requires approval for `{what}`");
            Some(Decision::new(Verdict::Ask, reason).by(placed.cite()))
        };
        Restrictions {
            certain: lost.or_else(asked),
            possible,
        }
    }

    /// Applies the deny and ask rules to what programs outside the program table may start, and to
    /// files that programs may write. Mode `yolo` does not prompt, so it denies what a deny rule may
    /// be about.
    fn possibly_restricted(
        &self,
        script: Option<&ShellLine>,
        everything: &matching::Everything,
        files: &Files<'_>,
        actor: &Actor<'_>,
    ) -> Option<Decision> {
        let is_yolo = self.mode == PermissionMode::Yolo;
        let find = |effect| {
            let rules = self.restricting(actor, effect);
            rules.into_iter().find_map(|placed| {
                let what = self.possible_hit(placed, everything, files)?;
                Some((placed, what))
            })
        };
        let (placed, what) =
            find(Effect::Deny).or_else(|| find(Effect::Ask).filter(|_| !is_yolo))?;
        let (verdict, why) = match placed.effect {
            Effect::Deny if is_yolo => (Verdict::Deny, "which a rule forbids"),
            Effect::Deny => (Verdict::Ask, "which a rule forbids"),
            _ => (Verdict::Ask, "which requires approval"),
        };
        let decision = Decision::new(verdict, format!("{what}, {why}")).by(placed.cite());
        Some(match script {
            Some(script) => decision.allowed_with(exact_rule(&script::write(script))),
            None => decision,
        })
    }

    /// Returns what a line may do that a deny or ask rule is about: "`PROGRAM` may run `x`".
    fn possible_hit(
        &self,
        placed: &SourcedRule,
        everything: &matching::Everything,
        files: &Files<'_>,
    ) -> Option<String> {
        let may = |program: &str, verb: &str, what: &str| {
            format!("`{}` may {verb} `{}`", cut(program), cut(what))
        };
        let named = |files: &[PossibleFile<'_>], glob: &str, verb: &str| {
            let is_named =
                |file: &&PossibleFile<'_>| file.file.is_named_by(glob, &self.places, false);
            let found = files.iter().find(is_named)?;
            Some(may(found.program, verb, found.file.path.written()))
        };
        match &placed.rule.subject {
            RuleSubject::Command(rule) => {
                let unlisted = everything.unlisted.iter();
                let mut unlisted = unlisted.filter_map(|&at| everything.commands.get(at));
                let started = unlisted.find_map(|words| {
                    let what = matching::may_start(rule, words)?;
                    Some(may(&words.first()?.text, "run", what))
                });
                started.or_else(|| {
                    let mut possible = everything.possible.iter();
                    possible.find_map(|command| {
                        let what = command.hit(rule)?;
                        Some(may(&command.program, "run", &what))
                    })
                })
            }
            RuleSubject::Read(glob) => named(&files.maybe_read, glob, "read"),
            RuleSubject::Write(glob) => named(&files.maybe_written, glob, "write"),
            _ => None,
        }
    }

    /// Returns the decision about every request if a deny or ask rule is invalid.
    pub fn invalid_restriction(&self, actor: &Actor<'_>) -> Option<Decision> {
        let lost = self
            .sets(actor)
            .find_map(PermissionRules::lost_restriction)?;
        let reason = format!(
            "the {} rule `{}` from {} is invalid ({}), so every request needs approval",
            lost.effect.as_str(),
            lost.fault.text,
            lost.source,
            lost.fault.why
        );
        Some(Decision::new(Verdict::Ask, reason).advice("fix that rule"))
    }

    /// Collects the files that a line seems to name, once for all file rules.
    fn files<'f>(
        &self,
        findings: &'f finder::Findings,
        everything: &'f matching::Everything,
        values: &[&'f str],
        actor: &Actor<'_>,
    ) -> Files<'f> {
        let commands = &everything.commands;
        let all_reads = findings.reads.iter().chain(&everything.reads);
        let all_writes = findings.writes.iter().chain(&everything.writes);
        let about = |wanted: fn(&RuleSubject) -> bool| {
            self.sets(actor)
                .flat_map(PermissionRules::all)
                .any(|placed| placed.effect != Effect::Allow && wanted(&placed.rule.subject))
        };
        let folders = Folders::of_all(commands.iter().chain(&findings.commands), &self.places);
        let locate = |(path, pattern): (&'f str, bool)| {
            let pattern = pattern || path.contains(['*', '?', '[']);
            let is_absolute = path.starts_with(['/', '~']);
            let known = if is_absolute {
                1
            } else {
                folders.known().len()
            };
            let in_folders = folders.known()[..known]
                .iter()
                .map(move |folder| NamedFile {
                    path: LocatedPath::in_folder(path, folder, &self.places),
                    pattern,
                    is_whole: false,
                });
            in_folders.collect::<Vec<_>>()
        };
        let values = || values.iter().map(|value| (*value, false));
        let maybe = |(program, word): (&'f str, (&'f str, bool))| {
            let files = locate(word).into_iter();
            files.map(move |file| PossibleFile { program, file })
        };
        let mut files = Files {
            has_unknown_folder: folders.is_unknown(),
            ..Files::default()
        };
        if about(|subject| matches!(subject, RuleSubject::Read(_))) {
            let operands = commands
                .iter()
                .flat_map(|words| matching::file_words(words));
            files.read = operands
                .chain(all_reads.map(|path| (&**path, false)))
                .chain(values())
                .flat_map(locate)
                .collect();
            files.maybe_read = everything
                .possible
                .iter()
                .flat_map(|command| of(&command.program, &command.words))
                .chain(redirected_by(&everything.possible_reads))
                .flat_map(maybe)
                .collect();
        }
        if about(|subject| matches!(subject, RuleSubject::Write(_))) {
            let changing = commands
                .iter()
                .filter(|words| matching::changes_files(words));
            let changing: Vec<_> = changing.collect();
            let may_write = !changing.is_empty() || all_writes.clone().next().is_some();
            let whole = changing.iter().flat_map(|words| {
                let words = matching::whole_folders(words);
                matching::file_words(words).flat_map(locate)
            });
            let whole: Vec<_> = whole
                .map(|file| NamedFile {
                    is_whole: true,
                    ..file
                })
                .collect();
            let operands = changing
                .into_iter()
                .flat_map(|words| matching::file_words(words));
            files.written = operands
                .chain(all_writes.map(|path| (&**path, false)))
                .chain(values().filter(|_| may_write))
                .flat_map(locate)
                .chain(whole)
                .collect();
            let unlisted = || {
                let found = everything.unlisted.iter();
                found
                    .filter_map(|&at| commands.get(at))
                    .filter_map(|words| {
                        let program = words.first()?;
                        Some((program.text.as_str(), words))
                    })
            };
            let possible = everything.possible.iter();
            let possible = possible
                .filter(|it| it.is_unlisted() || matching::changes_files(&it.words))
                .flat_map(|it| of(&it.program, &it.words));
            let outputs = commands.iter().flat_map(|words| {
                let program = words.first().map_or("", |word| word.text.as_str());
                matching::output_words(words).map(move |word| (program, word))
            });
            let of_values = unlisted()
                .take(1)
                .flat_map(|(program, _)| values().map(move |value| (program, value)));
            files.maybe_written = unlisted()
                .flat_map(|(program, words)| of(program, words))
                .chain(possible)
                .chain(outputs)
                .chain(of_values)
                .chain(redirected_by(&everything.possible_writes))
                .flat_map(maybe)
                .collect();
        }
        files
    }

    /// Returns the part of a line that a deny or ask rule matches.
    fn hits(
        &self,
        placed: &SourcedRule,
        line_read: Option<&ShellLine>,
        commands: &[Vec<finder::LooseWord>],
        files: &Files<'_>,
    ) -> Option<String> {
        let spell = |words: &[finder::LooseWord]| {
            words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
                .trim()
                .to_owned()
        };
        match &placed.rule.subject {
            RuleSubject::Everything => Some("everything".into()),
            // A rule about a whole line is about that line.
            RuleSubject::Command(CommandRule::Exact(line)) if line_read == Some(line) => {
                Some(script::write(line))
            }
            RuleSubject::Command(rule) => commands
                .iter()
                .find(|words| matching::forbids(rule, words))
                .map(|words| spell(words)),
            RuleSubject::Read(glob) => files
                .read
                .iter()
                .find(|file| file.is_named_by(glob, &self.places, files.has_unknown_folder))
                .map(|file| file.path.written().to_owned()),
            RuleSubject::Write(glob) => files
                .written
                .iter()
                .find(|file| file.is_named_by(glob, &self.places, files.has_unknown_folder))
                .map(|file| file.path.written().to_owned()),
            _ => None,
        }
    }

    /// Decides about a parsed line that no rule restricts.
    fn permitted(&self, key: &str, script: &ShellLine, actor: &Actor<'_>) -> Decision {
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling)
            && let Some(outside) = self.beyond_tools(script, skill)
        {
            return beyond_ceiling(skill, &outside);
        }
        if self.mode == PermissionMode::Plan {
            return Decision::new(Verdict::Deny, "plan mode runs no commands");
        }
        if let Some(grant) = self.granted(actor, |granted| match granted {
            GrantScope::Verbatim { .. } => self.is_exactly(granted, key),
            GrantScope::Rule(rule) => match &rule.subject {
                RuleSubject::Command(rule) => script.commands.iter().all(|command| {
                    let fit = matching::allows(rule, script, command);
                    fit == Fit::Exactly
                        || fit == Fit::Yes && !self.has_opaque_script(command, actor)
                }),
                _ => false,
            },
        }) {
            return grant;
        }
        let mut rule: Option<CitedRule> = None;
        let mut folders = Folders::start(&self.places);
        for command in &script.commands {
            match self.allowed(script, command, &folders, actor) {
                Ok(cited) => rule = rule.or(Some(cited)),
                Err(decision) => return self.by_mode(decision),
            }
            folders.follow_parsed(command, &self.places);
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

    /// Returns the first command or redirection of a line that is not among the tools of a skill.
    fn beyond_tools(&self, script: &ShellLine, skill: &SkillActor<'_>) -> Option<String> {
        let mut folders = Folders::start(&self.places);
        for command in &script.commands {
            let fits = |rule: &CommandRule| matching::allows(rule, script, command);
            let rules = || {
                let tools = skill.tools.of(Effect::Allow);
                tools.filter_map(|placed| match &placed.rule.subject {
                    RuleSubject::Command(rule) => Some(rule),
                    _ => None,
                })
            };
            if rules().all(|rule| fits(rule) == Fit::No) {
                return Some(canonical(&command.words));
            }
            // Bare `Bash` can write any file by a command, and an exact rule has the redirection.
            let covers_all =
                rules().any(|rule| *rule == CommandRule::Any || fits(rule) == Fit::Exactly);
            for (target, writes) in redirected(command).filter(|_| !covers_all) {
                if !self.is_covered(skill.tools.of(Effect::Allow), target, writes, &folders) {
                    let verb = if writes { "writing" } else { "reading" };
                    return Some(format!("{verb} {} by redirection", cut(target)));
                }
            }
            folders.follow_parsed(command, &self.places);
        }
        None
    }

    /// Finds the rule that allows one command of a line and its redirections. `folders` are those in
    /// which the command may run.
    fn allowed(
        &self,
        script: &ShellLine,
        command: &SimpleCommand,
        folders: &Folders,
        actor: &Actor<'_>,
    ) -> Result<CitedRule, Decision> {
        let mut objection = None;
        let mut found = None;
        for placed in self.restricting(actor, Effect::Allow) {
            let RuleSubject::Command(rule) = &placed.rule.subject else {
                continue;
            };
            if self.is_about_other_folder(placed, command, actor) {
                continue;
            }
            match matching::allows(rule, script, command) {
                Fit::No => {}
                Fit::But(hit) => {
                    objection.get_or_insert((hit, placed));
                }
                Fit::Exactly if !folders.has_moved() || is_whole_line(rule, script) => {
                    return Ok(placed.cite());
                }
                Fit::Yes | Fit::Exactly => {
                    found = Some(placed);
                    break;
                }
            }
        }
        let line = canonical(&command.words);
        let everything = |placed: &SourcedRule| {
            matches!(
                placed.rule.subject,
                RuleSubject::Command(CommandRule::Any) | RuleSubject::Everything
            )
        };
        // If there are deny or ask rules for commands, bare `Bash` does not cover code that they
        // cannot be checked against. Only a rule for exactly this command covers a script that
        // cannot be parsed.
        if let Some(placed) = found
            && (everything(placed) && self.has_bans(actor) && matching::is_opaque(&command.words)
                || self.has_opaque_script(command, actor))
        {
            let reason = format!(
                "`{}` runs code that cannot be checked against the deny and ask rules",
                cut(&line)
            );
            let rule = exact_rule(&line);
            return Err(Decision::new(Verdict::Ask, reason)
                .by(placed.cite())
                .allowed_with(rule));
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
                    let rule = exact_rule(&line);
                    Decision::new(Verdict::Ask, reason)
                        .by(placed.cite())
                        .allowed_with(rule)
                }
                None => Decision::new(Verdict::Ask, format!("no rule allows `{}`", cut(&line)))
                    .allowed_with(exact_rule(&line)),
            });
        };
        if folders.has_moved()
            && !everything(placed)
            && let Some(why) = self.moved(command, folders, &placed.rule.subject)
        {
            let whole = cut(&script::write(script));
            return Err(
                Decision::new(Verdict::Ask, format!("`{}` {why}", cut(&line)))
                    .by(placed.cite())
                    .allowed_with(exact_rule(&whole)),
            );
        }
        for (target, writes) in redirected(command) {
            if !self.is_covered(
                self.restricting(actor, Effect::Allow),
                target,
                writes,
                folders,
            ) {
                let (verb, tool) = if writes {
                    ("writes", "Edit")
                } else {
                    ("reads", "Read")
                };
                return Err(Decision::new(
                    Verdict::Ask,
                    format!("it {verb} the file `{}` by redirection", cut(target)),
                )
                .allowed_with(file_rule(tool, target)));
            }
        }
        Ok(placed.cite())
    }

    /// Returns the reason why a rule does not cover a command after `cd`.
    fn moved(
        &self,
        command: &SimpleCommand,
        folders: &Folders,
        rule: &RuleSubject,
    ) -> Option<&'static str> {
        if !folders.are_inside(&self.places) {
            Some("would run in a folder that is not known to be inside the project")
        } else if matching::names_relative_code(rule, command) {
            Some("is another program after `cd`")
        } else {
            None
        }
    }

    /// Returns `true` if a rule names a program or a script by a relative path, and the command of a
    /// skill runs in another folder than the rule is about: the rules of a skill are about its own
    /// folder, and those of a skill of the project also about the project, like all others.
    fn is_about_other_folder(
        &self,
        placed: &SourcedRule,
        command: &SimpleCommand,
        actor: &Actor<'_>,
    ) -> bool {
        let Some(skill) = &actor.skill else {
            return false;
        };
        let folder = match &placed.source {
            RuleSource::Approval if self.approves_here => return false,
            RuleSource::Skill(_) => skill.folder,
            _ => Some(&*self.places.root),
        };
        let absolute = |folder| path_pattern::absolute(folder, "/", &self.places.home);
        let (folder, start) = (folder.map(absolute), starting_folder(&self.places));
        let is_own = matches!(placed.source, RuleSource::Skill(_));
        let is_inside = |word: &str| {
            let path = path_pattern::absolute(word, &start, &self.places.home);
            let folder = folder.as_deref().filter(|_| is_own);
            folder.is_some_and(|folder| path_pattern::is_below(&path, folder))
        };
        if is_own && skill.of_project && start == absolute(&*self.places.root) {
            return false;
        }
        // From the project, a path may also lead into the folder of the skill.
        folder.as_ref() != Some(&start)
            && matching::relative_code(&placed.rule.subject, command).any(|word| !is_inside(word))
    }

    /// Returns `true` if allow rules cover a file, in each folder that a command may run in.
    fn is_covered<'r>(
        &self,
        rules: impl Iterator<Item = &'r SourcedRule>,
        path: &str,
        writes: bool,
        folders: &Folders,
    ) -> bool {
        // Bash opens connections for these names.
        if path.contains("/dev/tcp/") || path.contains("/dev/udp/") {
            return false;
        }
        if folders.is_unknown() && !path.starts_with('/') {
            return false;
        }
        let globs: Vec<&str> = rules
            .filter_map(|placed| match &placed.rule.subject {
                RuleSubject::Write(glob) if writes => Some(&**glob),
                RuleSubject::Read(glob) if !writes => Some(&**glob),
                _ => None,
            })
            .collect();
        folders.known().iter().all(|folder| {
            let path = LocatedPath::in_folder(path, folder, &self.places);
            globs
                .iter()
                .any(|glob| path.is_in(glob, &self.places, false))
        })
    }

    /// Decides about a line that cannot be parsed strictly.
    fn unproved(&self, text: &str, key: &str, refusal: LexRefusal, actor: &Actor<'_>) -> Decision {
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling) {
            return beyond_ceiling(skill, &cut(text));
        }
        if self.mode == PermissionMode::Plan {
            return Decision::new(Verdict::Deny, "plan mode runs no commands");
        }
        if let Some(grant) = self.granted_exactly(actor, key) {
            return grant;
        }
        let reason = format!("cannot tell what this runs: it has {}", refusal.why);
        self.by_mode(
            Decision::new(Verdict::Ask, reason)
                .advice("write plain commands, or move it to a script and allow the script"),
        )
    }

    fn granted(&self, actor: &Actor<'_>, covers: impl Fn(&GrantScope) -> bool) -> Option<Decision> {
        let asker = actor.skill.as_ref().map(|skill| (skill.name, skill.digest));
        let fits = |grant: &&PermissionGrant| {
            let to = grant
                .skill
                .as_ref()
                .map(|(name, digest)| (&**name, &**digest));
            to == asker && covers(&grant.what)
        };
        self.grants.iter().find(fits).map(|grant| {
            let reason = match grant.lifetime {
                Lifetime::Session => "allowed by a person for this session",
                Lifetime::Always => "allowed by a person permanently",
            };
            Decision {
                grant: Some(GrantOrigin {
                    who: grant.who.clone(),
                }),
                ..Decision::new(Verdict::Allow, reason)
            }
        })
    }

    /// Applies the mode to a prompt.
    fn by_mode(&self, decision: Decision) -> Decision {
        match self.mode {
            PermissionMode::Ask | PermissionMode::AcceptEdits => decision,
            PermissionMode::Allow => Decision {
                verdict: Verdict::Deny,
                reason: format!(
                    "{}, and mode `allow` denies what no rule allows",
                    decision.reason
                )
                .into(),
                ..decision
            },
            PermissionMode::Plan => Decision::new(Verdict::Deny, "plan mode changes nothing"),
            PermissionMode::Yolo => {
                Decision::new(Verdict::Allow, "mode `yolo` allows what no rule forbids")
            }
        }
    }

    /// Decides about requests other than commands.
    fn judge(&self, action: &GateAction<'_>, actor: &Actor<'_>) -> Decision {
        let looks = match action {
            GateAction::Read { .. } => true,
            GateAction::Skill { action, .. } => action.is_read_only(),
            _ => false,
        };
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
            .filter(|_| self.mode != PermissionMode::Yolo)
            .map(|placed| {
                Decision::new(Verdict::Ask, "a rule requires approval").by(placed.cite())
            });
        // No mode and no other rule covers this machine and private networks.
        let private = matches!(action, GateAction::Fetch { private: true, .. }).then(|| {
            Decision::new(Verdict::Ask, "it is a local or private network address")
                .advice("only `--approve` with exactly this host allows it without a prompt")
        });
        let restricted = self.invalid_restriction(actor).or(asked).or(private);
        let decision = stricter(self.judge_freely(action, actor, looks), restricted);
        self.settle(decision, action, actor)
    }

    /// Decides about a request that no rule restricts.
    fn judge_freely(&self, action: &GateAction<'_>, actor: &Actor<'_>, looks: bool) -> Decision {
        // The ceiling of a skill may use any name of a tool: it grants nothing.
        let any_name = matches!(action, GateAction::Tool { .. });
        if let Some(skill) = actor.skill.as_ref().filter(|skill| skill.ceiling)
            && !skill
                .tools
                .of(Effect::Allow)
                .any(|placed| self.about(placed, action, any_name))
        {
            return beyond_ceiling(skill, &name_of(action));
        }
        let touches = matches!(
            action,
            GateAction::Write { .. } | GateAction::Fetch { .. } | GateAction::Tool { .. }
        );
        if touches && self.mode == PermissionMode::Plan {
            return Decision::new(Verdict::Deny, "plan mode changes nothing");
        }
        if let Some(grant) = self.granted(actor, |granted| match granted {
            GrantScope::Rule(rule) => self.subject_fits(&rule.subject, action, false),
            GrantScope::Verbatim { .. } => false,
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
            (GateAction::Skill { .. }, _) if self.is_unlisted(action) => {
                let reason = format!("no rule allows {}", cut(&name_of(action)));
                self.by_mode(Decision::new(Verdict::Ask, reason).allowed_with(rule_for(action)))
            }
            (GateAction::Skill { .. }, _) if looks => {
                Decision::new(Verdict::Allow, "looking at a skill changes nothing")
            }
            (GateAction::Skill { .. }, _) => Decision::new(
                Verdict::Allow,
                "the commands of a skill are approved one by one",
            ),
            (GateAction::Read { path }, _) if path_pattern::is_inside(path, &self.places) => {
                Decision::new(Verdict::Allow, "it is inside the project")
            }
            (GateAction::Write { path }, PermissionMode::AcceptEdits)
                if path_pattern::is_inside(path, &self.places) =>
            {
                Decision::new(
                    Verdict::Allow,
                    "mode `accept-edits` allows writing inside the project",
                )
            }
            _ => {
                let name = name_of(action);
                self.by_mode(
                    Decision::new(Verdict::Ask, format!("no rule allows {}", cut(&name)))
                        .allowed_with(rule_for(action)),
                )
            }
        }
    }

    /// Returns `true` for a use of a skill that an allowlist leaves out: there are allow rules for
    /// skills, and none is about this one.
    fn is_unlisted(&self, action: &GateAction<'_>) -> bool {
        let GateAction::Skill {
            name, action: used, ..
        } = action
        else {
            return false;
        };
        if !self.rules.lists_skills() || *name == "*" {
            return false;
        }
        let names_skill = |placed: &SourcedRule| match &placed.rule.subject {
            RuleSubject::Skill { name: pattern, .. } => like(pattern, name),
            _ => false,
        };
        match used {
            SkillAction::List | SkillAction::Unload => false,
            // A rule that allows exactly this was looked for already.
            SkillAction::Load => true,
            SkillAction::Read | SkillAction::Run => !self.rules.of(Effect::Allow).any(names_skill),
        }
    }

    fn about(&self, placed: &SourcedRule, action: &GateAction<'_>, forbids: bool) -> bool {
        self.subject_fits(&placed.rule.subject, action, forbids)
    }

    fn subject_fits(&self, subject: &RuleSubject, action: &GateAction<'_>, forbids: bool) -> bool {
        match (subject, action) {
            (RuleSubject::Everything, _) => true,
            (RuleSubject::Read(glob), GateAction::Read { path })
            | (RuleSubject::Write(glob), GateAction::Write { path }) => {
                path_pattern::covers(glob, path, &self.places, forbids)
            }
            // A file that may not be read may not be replaced either.
            (RuleSubject::Read(glob), GateAction::Write { path }) if forbids => {
                path_pattern::covers(glob, path, &self.places, true)
            }
            (RuleSubject::Host(pattern), GateAction::Fetch { host, changing, .. }) => {
                (forbids || changing.is_none()) && host_fits(pattern, host)
            }
            (
                RuleSubject::Change {
                    tool,
                    host: pattern,
                },
                GateAction::Fetch {
                    host,
                    changing: Some(changing),
                    ..
                },
            ) => **tool == **changing && host_fits(pattern, host),
            (RuleSubject::Tool(pattern), GateAction::Tool { name, also, .. }) => {
                called(name, also, forbids).any(|name| like(pattern, name))
            }
            (RuleSubject::Mcp { server, tool }, GateAction::Tool { name, also, .. }) => {
                let mut parts = called(name, also, forbids)
                    .filter_map(|name| name.strip_prefix("mcp__")?.split_once("__"));
                parts.any(|(its_server, its_tool)| {
                    like(server, its_server)
                        && tool.as_ref().is_none_or(|tool| like(tool, its_tool))
                })
            }
            (
                RuleSubject::Argument { tool, name, value },
                GateAction::Tool {
                    name: its_name,
                    also,
                    arguments,
                },
            ) => {
                let fits = |given: &str| {
                    like(value, given)
                        || forbids && argument_spellings(given).iter().any(|it| like(value, it))
                };
                called(its_name, also, forbids).any(|called| like(tool, called))
                    && arguments
                        .iter()
                        .any(|(key, given)| **name == **key && fits(given))
            }
            (
                RuleSubject::Skill {
                    name,
                    action: wanted,
                    arguments,
                },
                GateAction::Skill {
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
                    ArgumentRule::Any => true,
                    ArgumentRule::Plain => forbids || given.trim().is_empty(),
                    ArgumentRule::Like(pattern) if forbids => {
                        let spellings = argument_spellings(given);
                        spellings.iter().any(|given| like(pattern, given))
                    }
                    ArgumentRule::Like(pattern) => like(pattern, given),
                };
                called
                    && fits
                    && wanted
                        .as_ref()
                        .is_none_or(|wanted| **wanted == *action.as_str())
            }
            _ => false,
        }
    }
}

/// Decisions of the deny and ask rules about a line.
struct Restrictions {
    /// A rule matches, or cannot be checked.
    certain: Option<Decision>,
    /// A rule matches if a program does with its words what it may do. A person can agree to exactly
    /// this line.
    possible: Option<Decision>,
}

impl Restrictions {
    fn certain(certain: Option<Decision>) -> Self {
        Self {
            certain,
            possible: None,
        }
    }

    /// Returns the stricter decision, if there is one.
    fn strictest(self) -> Option<Decision> {
        match (self.certain, self.possible) {
            (Some(certain), Some(possible)) if possible.verdict > certain.verdict => Some(possible),
            (certain, possible) => certain.or(possible),
        }
    }
}

/// Files that a line seems to name.
#[derive(Default)]
struct Files<'f> {
    read: Vec<NamedFile<'f>>,
    written: Vec<NamedFile<'f>>,
    /// Files that scripts in words may read.
    maybe_read: Vec<PossibleFile<'f>>,
    /// Files that programs may write, although the program table does not say so.
    maybe_written: Vec<PossibleFile<'f>>,
    /// `true` if the line changes to a folder that is only known when it runs.
    has_unknown_folder: bool,
}

/// A file that a program may read or write.
struct PossibleFile<'f> {
    program: &'f str,
    file: NamedFile<'f>,
}

/// Returns the words of a command that may name files, each with a program.
fn of<'f>(
    program: &'f str,
    words: &'f [finder::LooseWord],
) -> impl Iterator<Item = (&'f str, (&'f str, bool))> {
    matching::file_words(words).map(move |word| (program, word))
}

/// Returns files with the programs that may use them.
fn redirected_by(files: &[(Box<str>, Box<str>)]) -> impl Iterator<Item = (&str, (&str, bool))> {
    let files = files.iter();
    files.map(|(file, program)| (&**program, (&**file, false)))
}

/// A file that a line seems to name.
struct NamedFile<'f> {
    path: LocatedPath<'f>,
    /// `true` if it is a shell pattern.
    pattern: bool,
    /// `true` if everything below it changes.
    is_whole: bool,
}

impl NamedFile<'_> {
    /// Returns `true` if a deny or ask rule is about the file.
    fn is_named_by(&self, glob: &str, places: &WorkspacePaths, floats: bool) -> bool {
        self.path.touches(glob, places, self.pattern)
            || self.pattern && matching::may_become(self.path.written(), glob)
            || self.is_whole && self.path.holds(glob, places)
            || floats && self.path.may_be_in(glob, places, self.pattern)
    }
}

/// Returns the files that a command reads or writes by redirection, with `true` for writing.
fn redirected(command: &SimpleCommand) -> impl Iterator<Item = (&str, bool)> {
    let redirects = command.redirects.iter();
    redirects
        .filter(|redirect| !matching::is_harmless(redirect))
        .filter_map(|redirect| match redirect {
            Redirect::Read(target) => Some((&**target, false)),
            Redirect::Write { target, .. } => Some((&**target, true)),
            Redirect::Copy { .. } => None,
        })
}

/// Returns `true` if a rule is exactly this line.
fn is_whole_line(rule: &CommandRule, script: &ShellLine) -> bool {
    matches!(rule, CommandRule::Exact(line) if line == script)
}

/// Returns the stricter of two decisions.
fn stricter(decision: Decision, restricted: Option<Decision>) -> Decision {
    match restricted {
        Some(restricted) if restricted.verdict >= decision.verdict => restricted,
        _ => decision,
    }
}

/// Denies every action of an untrusted skill.
fn inert(actor: &Actor<'_>) -> Option<Decision> {
    let skill = actor.skill.as_ref().filter(|skill| !skill.trusted)?;
    let reason = format!(
        "the skill {} is not trusted, so it runs nothing",
        skill.name
    );
    let mut decision = Decision::new(Verdict::Deny, reason);
    decision.remedy = Some(Remedy::Trust(skill.name.into()));
    Some(decision)
}

fn beyond_ceiling(skill: &SkillActor<'_>, what: &str) -> Decision {
    Decision::new(
        Verdict::Deny,
        format!(
            "the skill {} may use only its allowed-tools, and {what} is not among them",
            skill.name
        ),
    )
    .advice("add it to the skill's allowed-tools")
}

/// Returns the texts that a deny or ask rule compares with the arguments of a skill or tool: as
/// given, without quotes and needless blanks, and the members of JSON, alone and with those after them.
fn argument_spellings(given: &str) -> Vec<String> {
    /// Most members that are compared together, for the first members and for the others.
    const MOST: usize = 256;
    const FEW: usize = 8;
    let is_quote = |c: char| matches!(c, '"' | '\'' | '\\');
    let unquoted = |text: &str| {
        let text: String = text.chars().filter(|c| !is_quote(*c)).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut spellings = vec![given.to_owned(), given.trim().to_owned(), unquoted(given)];
    if !given.trim_start().starts_with(['[', '{']) {
        return spellings;
    }
    let mut members: Vec<String> = Vec::new();
    let mut member = String::new();
    let mut in_string = false;
    let mut rest = given.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if in_string => member.extend(rest.next()),
            '"' => in_string = !in_string,
            '[' | ']' | '{' | '}' | ',' | ':' if !in_string => {
                members.push(std::mem::take(&mut member));
            }
            _ => member.push(c),
        }
    }
    members.push(member);
    let members: Vec<String> = members.iter().map(|member| unquoted(member)).collect();
    let members: Vec<String> = members.into_iter().filter(|it| !it.is_empty()).collect();
    for at in 0..members.len() {
        let most = if at < MOST { MOST } else { FEW };
        spellings.push(members[at].clone());
        spellings.push(members[at..members.len().min(at + most)].join(" "));
    }
    spellings
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

fn name_of(action: &GateAction<'_>) -> String {
    match action {
        GateAction::Command { text } => (*text).to_owned(),
        GateAction::Read { path } => format!("reading {path}"),
        GateAction::Write { path } => format!("writing {path}"),
        GateAction::Fetch {
            host,
            changing: Some(tool),
            ..
        } => format!("{tool} to {host}"),
        GateAction::Fetch { host, .. } => format!("connecting to {host}"),
        GateAction::Tool { name, .. } => format!("the tool {name}"),
        GateAction::Skill { name, action, .. } => {
            let verb = match action {
                SkillAction::List => "listing",
                SkillAction::Load => "loading",
                SkillAction::Unload => "unloading",
                SkillAction::Read => "reading the files of",
                SkillAction::Run => "running",
            };
            format!("{verb} the skill {name}")
        }
    }
}

/// Returns the names of a tool that a rule may use.
fn called<'a>(name: &'a str, also: &'a [&'a str], forbids: bool) -> impl Iterator<Item = &'a str> {
    let also = also.iter().filter(move |_| forbids);
    std::iter::once(name).chain(also.copied())
}

fn rule_for(action: &GateAction<'_>) -> String {
    match action {
        GateAction::Command { text } => exact_rule(text),
        GateAction::Read { path } => file_rule("Read", path),
        GateAction::Write { path } => file_rule("Edit", path),
        GateAction::Fetch {
            host,
            changing: Some(tool),
            ..
        } => format!("{tool}(domain:{host})"),
        GateAction::Fetch { host, .. } => format!("WebFetch(domain:{host})"),
        GateAction::Tool { name, .. } => (*name).to_owned(),
        GateAction::Skill { name, .. } => format!("Skill({name} *)"),
    }
}

/// Returns a rule for one file. An absolute path gets a second leading slash.
fn file_rule(tool: &str, path: &str) -> String {
    let slash = if path.starts_with('/') { "/" } else { "" };
    format!("{tool}({slash}{path})")
}

/// Suggests a rule for exactly this line. A wider rule is for the user to write.
fn exact_rule(line: &str) -> String {
    format!("Bash({})", cut(line))
}

/// Shortens a text to one line.
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
