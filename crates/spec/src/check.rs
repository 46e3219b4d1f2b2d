//! Runs the rules over a skill.

use std::cell::OnceCell;

use prowess_diag::{Diagnostic, Fix, Severity, Span};

use crate::body::{self, Body};
use crate::package::Package;
use crate::parse::Parsed;
use crate::profile::{Profile, RuleSet, Target};
use crate::rules::{RULES, Rule};
use crate::sidecar::Sidecar;

/// A skill as the rules see it.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The text, taken apart; nothing when the file could not be read.
    pub parsed: Option<&'a Parsed<'a>>,
    /// The folder around it.
    pub package: &'a Package,
    /// Why the file could not be read.
    pub fault: Option<&'a ReadFault>,
    body: OnceCell<Body>,
    sidecar: OnceCell<Option<Sidecar>>,
}

/// Why a skill's file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// There is no such file in the folder.
    Missing,
    /// It is something else: "a folder", "a FIFO", "a device", "a link that leads nowhere".
    NotAFile(&'static str),
    /// It is larger than we read.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The system says no.
    Unreadable(String),
}

impl<'a> Subject<'a> {
    /// Returns a skill that was read.
    pub fn new(parsed: &'a Parsed<'a>, package: &'a Package) -> Self {
        Self {
            parsed: Some(parsed),
            package,
            fault: None,
            body: OnceCell::new(),
            sidecar: OnceCell::new(),
        }
    }

    /// Returns a skill that could not be read.
    pub fn unread(package: &'a Package, fault: &'a ReadFault) -> Self {
        Self {
            parsed: None,
            package,
            fault: Some(fault),
            body: OnceCell::new(),
            sidecar: OnceCell::new(),
        }
    }

    /// Returns the body, taken apart on first use.
    pub fn body(&self) -> &Body {
        self.body.get_or_init(|| {
            let Some(parsed) = self.parsed else {
                return Body::default();
            };
            let names: Vec<&str> = parsed
                .manifest
                .arguments
                .iter()
                .map(|name| &*name.value)
                .collect();
            body::analyse(parsed.text, parsed.body, &names)
        })
    }

    /// Returns the sidecar of Codex, read on first use.
    pub fn sidecar(&self) -> Option<&Sidecar> {
        self.sidecar
            .get_or_init(|| self.package.sidecar.as_deref().map(Sidecar::parse))
            .as_ref()
    }
}

/// What a rule has to say, before the settings give it a severity.
#[derive(Clone, Debug)]
pub struct Finding {
    span: Option<Span>,
    message: String,
    label: Option<String>,
    help: Option<String>,
    fix: Option<Fix>,
    at_most: Severity,
}

impl Finding {
    /// Starts a finding at a place.
    pub fn at(span: Span, message: impl Into<String>) -> Self {
        Self {
            span: Some(span),
            ..Self::file(message)
        }
    }

    /// Starts a finding about the whole file.
    pub fn file(message: impl Into<String>) -> Self {
        Self {
            span: None,
            message: message.into(),
            label: None,
            help: None,
            fix: None,
            at_most: Severity::Error,
        }
    }

    /// Says something at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Offers a fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<Fix>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Never more severe than this, whatever the profile says.
    #[must_use]
    pub fn at_most(mut self, severity: Severity) -> Self {
        self.at_most = severity;
        self
    }
}

/// Where rules put their findings.
#[derive(Debug)]
pub struct Sink<'s> {
    rule: &'static Rule,
    severity: Severity,
    profile: Profile,
    target: Option<Target>,
    out: &'s mut Vec<Diagnostic>,
}

impl Sink<'_> {
    /// Takes a finding.
    pub fn report(&mut self, finding: Finding) {
        let Finding {
            span,
            message,
            label,
            help,
            fix,
            at_most,
        } = finding;
        let severity = self.severity.min(at_most);
        self.out.push(Diagnostic {
            rule: self.rule.id,
            severity,
            message,
            span,
            label,
            help,
            fix,
        });
    }

    /// Returns the profile in force.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the place the skill is meant for, if one was named.
    pub fn target(&self) -> Option<Target> {
        self.target
    }
}

/// Checks a skill against the rules in force. Findings come in order of position.
pub fn check(subject: &Subject<'_>, rules: &RuleSet) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let Some(severity) = rules.severity(index) else {
            continue;
        };
        if subject.parsed.is_none() && !rule.on_unread {
            continue;
        }
        (rule.check)(
            subject,
            &mut Sink {
                rule,
                severity,
                profile: rules.profile(),
                target: rules.target(),
                out: &mut out,
            },
        );
    }
    out.sort_by(|a, b| (a.span, a.rule).cmp(&(b.span, b.rule)));
    out
}
