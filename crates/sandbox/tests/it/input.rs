//! Bad input, and too much of everything.

use prowess_policy::profile::Strength;
use prowess_sandbox::{CommandOptions, End, ExecError, Note, Stopped};

use crate::support::{
    Place, approved, as_ordinary_user, can_identity, in_role, mode, root, strong_sets,
};

prowess_test::tests! {
    words_that_cannot_be_passed
    folders_that_cannot_be_entered
    bytes_that_are_no_text
    ten_gibibytes_of_output_need_no_memory
    both_pipes_full_and_one_endless_line
    no_descriptor_is_left_after_a_thousand_runs
    a_fork_bomb_stays_within_its_limit
    a_fork_bomb_of_an_ordinary_user_too
    every_limit_binds
    a_deadline_of_nothing_ends_at_once
}

/// Memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn words_that_cannot_be_passed() {
    let place = Place::new(Strength::Off);
    let long = format!("echo {}", "x".repeat(1 << 20));
    assert!(matches!(place.try_run(&long), Err(ExecError::TooLong)));
    let missing = place.try_run("prowess-no-such-program a").unwrap_err();
    assert!(
        matches!(missing, ExecError::ProgramMissing { .. }),
        "{missing}"
    );
    std::fs::write(place.work().join("plain"), "echo x\n").unwrap();
    let stuck = place.try_run("./plain").unwrap_err();
    assert!(
        stuck.to_string().contains("it is not executable"),
        "{stuck}"
    );
    mode(&place.work().join("plain"), 0o755);
    assert_eq!(
        place.run("./plain").stdout.text(),
        "x\n",
        "without a first line it is for `sh`"
    );
    std::fs::write(place.work().join("plain"), "#!/nonexistent/interpreter\n").unwrap();
    let stuck = place.try_run("./plain").unwrap_err();
    assert!(matches!(stuck, ExecError::NotExecutable { .. }), "{stuck}");
}

fn folders_that_cannot_be_entered() {
    let mut place = Place::new(Strength::Off);
    place.profile.cwd = place.outside().join("absent");
    assert!(matches!(
        place.try_run("true"),
        Err(ExecError::WorkingFolder { .. })
    ));
    place.profile.cwd = "relative".into();
    assert!(matches!(
        place.try_run("true"),
        Err(ExecError::PathNotAbsolute { .. })
    ));
    if can_identity() {
        let mut place =
            Place::new(Strength::Required).without(&[prowess_sandbox::Layer::Namespaces]);
        mode(&place.outside(), 0o700);
        place.profile.cwd = place.outside();
        let error = place.try_run("true").unwrap_err();
        assert!(matches!(error, ExecError::WorkingFolder { .. }), "{error}");
    }
}

fn bytes_that_are_no_text() {
    let outcome = Place::new(Strength::Off).run(r"printf 'a\xff\xfeb\0c'");
    assert_eq!(outcome.stdout.text(), "a\u{FFFD}\u{FFFD}b\0c");
    assert_eq!(outcome.stdout.head, b"a\xff\xfeb\0c");
}

fn ten_gibibytes_of_output_need_no_memory() {
    let mut place = Place::new(Strength::Off);
    place.profile.limits.deadline_ms = 600_000;
    place.run("echo warm");
    let before = resident();
    let mut most = before;
    let mut calls = 0_u32;
    let mut watch = |_, _: &[u8]| {
        calls += 1;
        if calls.is_multiple_of(4096) {
            most = most.max(resident());
        }
    };
    let options = CommandOptions {
        on_output: Some(&mut watch),
        ..CommandOptions::default()
    };
    let line = "yes | head -c 10G";
    let outcome = place
        .runner
        .run(&approved(line), &place.profile, options)
        .unwrap();
    assert_eq!(outcome.stdout.total, 10 << 30, "{:?}", outcome.end);
    assert_eq!(
        outcome.stdout.head.len() + outcome.stdout.tail.len(),
        1 << 20
    );
    // Other tests run in this process too; what they hold is no gigabyte either.
    assert!(most - before < 200 * 1024, "{before} KiB, then {most} KiB");
}

fn both_pipes_full_and_one_endless_line() {
    for (name, without) in strong_sets() {
        let place = Place::new(Strength::Required).without(without);
        let line = "(head -c 50M /dev/zero >&2) & head -c 50M /dev/zero; wait";
        let outcome = place.run(line);
        assert_eq!(
            (outcome.stdout.total, outcome.stderr.total),
            (50 << 20, 50 << 20),
            "{name}"
        );
        let outcome = place.run("head -c 100M /dev/zero | tr '\\0' x");
        assert_eq!(outcome.stdout.total, 100 << 20, "{name}");
        assert!(outcome.stdout.head.iter().all(|byte| *byte == b'x'));
        assert_eq!(outcome.end, End::Code(0));
    }
}

fn no_descriptor_is_left_after_a_thousand_runs() {
    // In a process of its own: other tests open and close descriptors here.
    let output = in_role("input::thousand_runs").output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn thousand_runs() {
    let mut place = Place::new(Strength::BestEffort);
    // As root, joining a control group takes most of the time of a run.
    if root() {
        place = place.without(&[prowess_sandbox::Layer::Namespaces]);
    }
    place.run("true");
    let before = descriptors();
    for round in 0..1000 {
        match round % 4 {
            0 => drop(place.run("true")),
            1 => drop(place.try_run("prowess-no-such-program")),
            2 => drop(place.run("bash -c 'exit 3'")),
            _ => drop(place.try_run(&"x".repeat(200_000))),
        }
    }
    assert_eq!(descriptors(), before);
}

fn a_fork_bomb_stays_within_its_limit() {
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        place.profile.limits.processes = 40;
        place.profile.limits.deadline_ms = 1_500;
        place.profile.limits.grace_ms = 50;
        let control = place.run("for i in {1..20}; do sleep 100 & done; jobs -p | wc -l");
        assert_eq!(control.stdout.text().trim(), "20", "{name}: {control:?}");
        if control.notes.contains(&Note::ProcessesUnlimited) {
            assert!(root(), "{name}: only root needs a control group");
            continue;
        }
        let many = place.run("for i in {1..200}; do sleep 100 & done; jobs -p | wc -l");
        let got: usize = many.stdout.text().trim().parse().unwrap_or(0);
        assert!(got < 45, "{name}: {got} processes");
        let bomb = place.run(":(){ :|:& };:; sleep 100");
        assert!(
            !bomb
                .notes
                .iter()
                .any(|note| matches!(note, Note::Survivors(_))),
            "{name}: {bomb:?}"
        );
    }
}

fn a_fork_bomb_of_an_ordinary_user_too() {
    if root() {
        as_ordinary_user("input::as_a_user");
    } else {
        as_a_user();
    }
}

pub(crate) fn as_a_user() {
    let mut place = Place::new(Strength::Required);
    place.profile.limits.processes = 40;
    place.profile.limits.deadline_ms = 5_000;
    let many = place.run("for i in {1..200}; do sleep 100 & done; jobs -p | wc -l");
    let got: usize = many.stdout.text().trim().parse().unwrap_or(0);
    assert!(got < 45, "{got} processes");
}

fn every_limit_binds() {
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        let limits = &mut place.profile.limits;
        limits.file_bytes = 1 << 20;
        limits.memory_bytes = 256 << 20;
        limits.cpu_seconds = 1;
        limits.open_files = 32;
        let file = place.run("head -c 3M /dev/zero > big; stat -c %s big");
        assert_eq!(file.stdout.text(), "1048576\n", "{name}: {file:?}");
        let memory = place.run("head -c 1G /dev/zero | tail");
        assert_ne!(memory.end, End::Code(0), "{name}");
        let files = place.run("for i in {10..60}; do eval \"exec $i</dev/null\" || exit 9; done");
        assert_ne!(files.end, End::Code(0), "{name}");
        let spin = place.run("while :; do :; done");
        assert_eq!(
            spin.stopped, None,
            "{name}: the processor's time was up first"
        );
        assert!(matches!(spin.end, End::Signal(_)), "{name}: {spin:?}");
    }
}

fn a_deadline_of_nothing_ends_at_once() {
    let mut place = Place::new(Strength::Off);
    place.profile.limits.deadline_ms = 0;
    let outcome = place.run("sleep 100");
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
}
