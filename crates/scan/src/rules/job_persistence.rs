//! A program that runs again later.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "job-persistence",
    Note,
    lowers: true,
    "a program is scheduled to run again later",
    "check that the user wants the job, and how it is removed",
    triggers: ["crontab", "launchctl", "LaunchAgents", "LaunchDaemons", "systemctl", "schtasks", "/etc/cron", "@reboot", "CurrentVersion\\Run", "New-ScheduledTask", "Register-ScheduledTask"]
);

matcher!(
    COMMANDS,
    r"(?: \| \s* (?:sudo\s+)?crontab \s+ (?:-u\s+\S+\s+)?- ) | (?: \bcrontab \s+ (?:-u\s+\S+\s+)? [\w./~$]{2,} \s*(?:$|[;&|]) ) | (?: \blaunchctl \s+ (?:load|bootstrap|enable|submit)\b ) | (?: (?:>|tee|cp)\s+ [^|;\n]* (?:LaunchAgents|LaunchDaemons)/ )
      | (?: \bsystemctl \s+ (?:--\w+\s+)* enable\b ) | (?: \bschtasks(?:\.exe)? \s+ /create\b ) | (?: (?:>|tee|cp)\s+ (?:-a\s+)? [^|;\n]* /etc/cron ) | (?: @reboot\s+\S ) | (?: \breg \s+ add \b [^|;\n]* CurrentVersion\\Run ) | (?: \bRegister-ScheduledTask\b )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = passage.text;
    if let Some(range) = COMMANDS
        .find(text)
        .filter(|range| passage.is_code || passage.is_inline_code(range))
    {
        out.passage(passage, range, "schedules a program to run again later");
    }
}
