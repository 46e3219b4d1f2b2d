//! Nothing outlives its run, whatever it does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prowess_policy::profile::Strength;
use prowess_sandbox::{CommandOptions, ExecError};
use prowess_test::{happens_within, wait_until};

use crate::support::{Place, approved, in_role, strong_sets};

prowess_test::tests! {
    the_control_sees_survivors
    two_hundred_rounds_leave_none_without_a_sandbox
    two_hundred_rounds_leave_none_in_every_set_of_layers
    a_deadline_leaves_none_either
    a_host_that_is_killed_leaves_none
    lock_outlives_a_killed_host
}

/// The variable with the mark of the commands of [`host`].
const MARK: &str = "PROWESS_TEST_MARK";

/// Each leaves orphaned processes behind and prints the number that marks them.
const ORPHANING: &[&str] = &[
    "setsid sleep MARK & disown",
    "(setsid sleep MARK &) &",
    "nohup sleep MARK > /dev/null 2>&1 < /dev/null &",
    "bash -c 'trap \"\" TERM HUP INT; sleep MARK & sleep MARK & wait' &",
    "bash -c 'exec 0<&- 1>&- 2>&-; setsid sleep MARK' &",
    "( ( setsid bash -c 'trap \"\" TERM; while :; do sleep MARK; done' & ) & ) ; sleep 0.01",
    "for i in 1 2 3 4 5; do setsid nohup sleep MARK > /dev/null & done",
    "setsid sleep MARK & kill -STOP $!; bash -c 'setsid bash -c \"setsid sleep MARK &\" &'; kill -9 $$",
];

/// Processes whose arguments have the mark and that are alive. A zombie is dead: the letter says so,
/// while signal 0 would still reach it.
fn alive(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| {
            let words = std::fs::read(process.path().join("cmdline")).ok()?;
            let has = words
                .windows(mark.len())
                .any(|part| part == mark.as_bytes());
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            let state = stat.rsplit_once(") ")?.1.chars().next()?;
            (has && state != 'Z' && state != 'X').then_some(stat)
        })
        .collect()
}

/// As [`alive`], but looks again: a process that is just starting a program has no arguments.
fn surely_alive(mark: &str) -> Vec<String> {
    let looks = (0..4).map(|_| alive(mark));
    looks
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn survivors(place: &mut Place, rounds: usize, deadline: bool) -> usize {
    // Tests run beside each other: each round has a number of its own.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let mut left = 0;
    for round in 0..rounds {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("9{:07}{number:05}", std::process::id());
        let mut line = ORPHANING[round % ORPHANING.len()].replace("MARK", &mark);
        if deadline {
            line.push_str("\necho started; while :; do sleep 0.01; done");
            place.profile.limits.deadline_ms = 60;
            place.profile.limits.grace_ms = 20;
        }
        place
            .runner
            .run(&approved(&line), &place.profile, CommandOptions::default())
            .unwrap();
        // A process that was killed may need a moment to disappear.
        let is_gone = || surely_alive(&mark).is_empty();
        if !happens_within(Duration::from_secs(1), is_gone) {
            eprintln!("{line} left {:?}", alive(&mark));
            left += 1;
        }
    }
    left
}

fn the_control_sees_survivors() {
    // The same scripts in a bare shell leave processes behind, and `alive` finds them.
    for (round, script) in ORPHANING.iter().enumerate() {
        let mark = format!("8{:07}{round:05}", std::process::id());
        let line = script.replace("MARK", &mark);
        let null = std::process::Stdio::null;
        let mut shell = std::process::Command::new("bash");
        // What outlives it must not keep this process's own output open.
        shell
            .args(["--norc", "-c", &line])
            .stdin(null())
            .stdout(null())
            .stderr(null());
        let _ = shell.status().unwrap();
        wait_until(&format!("`{line}` leaves something behind"), || {
            !alive(&mark).is_empty()
        });
        wait_until("all of it is killed", || {
            let found = surely_alive(&mark);
            for stat in &found {
                let pid = stat.split(' ').next().unwrap().parse().unwrap();
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            found.is_empty()
        });
    }
}

fn two_hundred_rounds_leave_none_without_a_sandbox() {
    assert_eq!(survivors(&mut Place::new(Strength::Off), 200, false), 0);
}

fn two_hundred_rounds_leave_none_in_every_set_of_layers() {
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        assert_eq!(survivors(&mut place, 200, false), 0, "{name}");
    }
}

fn a_deadline_leaves_none_either() {
    assert_eq!(survivors(&mut Place::new(Strength::Off), 24, true), 0);
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        assert_eq!(survivors(&mut place, 24, true), 0, "{name}");
    }
}

fn a_host_that_is_killed_leaves_none() {
    let mark = format!("7{:07}", std::process::id());
    // What the other process leaves behind goes with this.
    let place = Place::new(Strength::Off);
    let mut host = in_role("orphans::host")
        .env(MARK, &mark)
        .env("PROWESS_TEST_BASE", place.here())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The helper's own argument is not the mark, so only the commands count.
    wait_until("both commands run", || alive(&mark).len() >= 2);
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until("no command is left", || alive(&mark).is_empty());
}

/// Runs a command until it is killed.
pub(crate) fn host() {
    let place = Place::new(Strength::Off);
    let mark = std::env::var(MARK).unwrap();
    place.run(&format!("setsid sleep {mark} & sleep {mark}"));
}

/// The helper still ends the processes of a run when its host is gone. No other run may begin before.
fn lock_outlives_a_killed_host() {
    let mark = format!("6{:07}", std::process::id());
    let mut place = Place::new(Strength::Required);
    let mut host = in_role("orphans::writing_host")
        .env(MARK, &mark)
        .env("PROWESS_TEST_BASE", place.here())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command runs", || !alive(&mark).is_empty());
    let helper = child_of(host.id());
    // As if it needed long.
    rustix::process::kill_process(helper, rustix::process::Signal::STOP).unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    let entries = std::fs::read_dir(place.here()).unwrap().flatten();
    let mut folders = entries.map(|entry| entry.path().join("work"));
    let work = folders.find(|folder| folder.is_dir()).unwrap();
    place.profile.cwd.clone_from(&work);
    place.profile.writable = vec![work];
    place.profile.limits.deadline_ms = 50;
    let busy = place.try_run("true");
    rustix::process::kill_process(helper, rustix::process::Signal::CONT).unwrap();
    assert!(matches!(busy, Err(ExecError::Busy { .. })), "{busy:?}");
    place.profile.limits.deadline_ms = 120_000;
    assert!(place.run("true").success());
    assert!(alive(&mark).is_empty(), "the lock was released too early");
}

pub(crate) fn child_of(parent: u32) -> rustix::process::Pid {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).unwrap();
    let child = children.split_whitespace().next().unwrap();
    rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap()
}

/// Runs a command that may write until it is killed.
pub(crate) fn writing_host() {
    let place = Place::new(Strength::Required);
    let mark = std::env::var(MARK).unwrap();
    place.run(&format!("sleep {mark}"));
}
