//! All or nothing: processes that are killed, disks that are full, and several processes at once.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};

use prowess_package::fault::{FaultEffect, FaultPoints};
use prowess_package::operations::{
    AddRequest, PackageContext, RollbackTarget, SyncOptions, UpdateOptions, apply, plan_add,
    plan_fork, plan_remove, plan_rollback, plan_sync, plan_update, verify,
};
use prowess_package::project::{ProjectError, wait_for_commit};
use prowess_package::{PackageError, PackageSource};
use prowess_test::wait_for_exit;

use crate::shop::{Shop, source_of, two_versions, typed};
use crate::support::{CHILD, Repository};

prowess_test::tests! {
    killed_add_leaves_the_old_or_the_new_state
    killed_update_leaves_the_old_or_the_new_state
    killed_remove_leaves_the_old_or_the_new_state
    killed_rollback_leaves_the_old_or_the_new_state
    killed_vendored_update_leaves_the_old_or_the_new_state
    killed_sync_leaves_the_old_or_the_new_state
    killed_fork_leaves_the_old_or_the_new_state
    full_and_read_only_disks_leave_the_old_or_the_new_state
    next_command_recovers_before_it_plans
    link_out_of_the_project_is_refused
    reader_waits_for_a_live_journal
    ;
    serial: eight_processes_add_and_sync_at_once
}

/// An operation that is stopped at every fault point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Update,
    Remove,
    Rollback,
    Vendored,
    Sync,
    Fork,
}

const OPERATIONS: [(&str, Operation); 7] = [
    ("add", Operation::Add),
    ("update", Operation::Update),
    ("remove", Operation::Remove),
    ("rollback", Operation::Rollback),
    ("vendored", Operation::Vendored),
    ("links", Operation::Sync),
    ("fork", Operation::Fork),
];

impl Operation {
    fn name(self) -> &'static str {
        OPERATIONS
            .iter()
            .find(|(_, operation)| *operation == self)
            .unwrap()
            .0
    }

    /// Returns `true` if a stopped operation leaves a note in the state folder, after which it has
    /// fewer points.
    fn leaves_notes(self) -> bool {
        self == Self::Fork
    }

    /// Brings the project to the state before the operation.
    fn prepare(self, shop: &Shop, repository: &Repository) {
        let first = source_of(repository, "@v1.0.0");
        let main = || {
            let text = shop.read(".agents/prowess.toml").unwrap();
            shop.manifest(&text.replace("version = \"=1.0.0\"", "branch = \"main\""));
        };
        match self {
            Self::Add => {
                shop.add(&first, &["csv"]);
            }
            Self::Update => {
                shop.add(&first, &["pdf", "csv"]);
                main();
            }
            Self::Remove | Self::Fork => {
                shop.add(&first, &["pdf", "csv"]);
            }
            Self::Sync => {
                shop.add(&first, &["pdf", "csv"]);
                for name in ["pdf", "csv"] {
                    fs::remove_file(shop.skill(name)).unwrap();
                }
            }
            Self::Rollback => {
                shop.add(&first, &["pdf", "csv"]);
                main();
                shop.run(|context| plan_update(context, &UpdateOptions::default()))
                    .unwrap();
            }
            Self::Vendored => {
                shop.manifest("[install]\nvendor = true\n");
                shop.add(&first, &["pdf", "csv"]);
                main();
            }
        }
    }

    fn run(self, context: &PackageContext, source: &PackageSource) -> Result<(), PackageError> {
        let plan = match self {
            Self::Add => plan_add(context, &AddRequest::new(source.clone(), &["pdf"])),
            Self::Update | Self::Vendored => plan_update(context, &UpdateOptions::default()),
            Self::Remove => plan_remove(context, &["pdf"]),
            Self::Rollback => plan_rollback(context, &RollbackTarget::default()),
            Self::Sync => plan_sync(context, SyncOptions::default()),
            Self::Fork => plan_fork(context, "pdf"),
        }?;
        apply(context, &plan).map(drop)
    }
}

/// Runs one operation in this process, which is started by a test: the root of the shop, the
/// operation, the source and the fault point.
pub(crate) fn child(args: &[String]) -> ExitCode {
    let [root, operation, source, at] = args else {
        return ExitCode::FAILURE;
    };
    let shop = Shop::at(root);
    let source = typed(source);
    let at: u64 = at.parse().unwrap();
    let context = shop.context_with(FaultPoints::stopping(at, FaultEffect::Kill));
    let result = match operation.split_once(':') {
        Some(("add", name)) => plan_add(&context, &AddRequest::new(source, &[name]))
            .and_then(|plan| apply(&context, &plan).map(drop)),
        Some(_) | None if operation == "sync" => plan_sync(&context, SyncOptions::default())
            .and_then(|plan| apply(&context, &plan).map(drop)),
        _ => {
            let found = OPERATIONS.iter().find(|(name, _)| name == operation);
            found.unwrap().1.run(&context, &source)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn command(shop: &Shop, operation: &str, source: &str, at: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .arg(CHILD)
        .arg(&shop.root)
        .arg(operation)
        .arg(source)
        .arg(at.to_string())
        .stdout(Stdio::null());
    command
}

/// Returns a shop in the state before an operation, and its source.
fn prepared(operation: Operation, first: &Shop) -> (Shop, String) {
    let (shop, repository) = Shop::with_repository_of(first);
    operation.prepare(&shop, &repository);
    (shop, format!("git+{}@main", repository.url()))
}

fn killed(operation: Operation) {
    let first = Shop::new();
    let repository = two_versions(&first);
    let source = source_of(&repository, "@main");
    // Counts the points, and shows the old and the new state.
    operation.prepare(&first, &repository);
    let old = first.snapshot();
    let context = first.context();
    operation.run(&context, &source).unwrap();
    let points = context.faults.count();
    let new = first.snapshot();
    assert_ne!(old, new);
    assert!(points >= 8, "{points} points");
    eprintln!("{}: {points} points", operation.name());
    let mut seen = (0, 0);
    let (mut shop, mut source) = prepared(operation, &first);
    for at in 1..=points {
        assert_eq!(shop.snapshot(), old);
        let status = command(&shop, operation.name(), &source, at)
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(9), "point {at} of {points}");
        shop.recover();
        let now = shop.snapshot();
        shop.check_store();
        let state = shop.context().scope.state(&shop.root.join("state"));
        assert!(!state.join("journal").exists());
        if now == old {
            seen.0 += 1;
            if operation.leaves_notes() {
                (shop, source) = prepared(operation, &first);
            } else {
                shop.reset();
            }
        } else {
            assert_eq!(now, new, "point {at} of {points}");
            seen.1 += 1;
            (shop, source) = prepared(operation, &first);
        }
    }
    // Both sides of the commit point were reached.
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}

fn killed_add_leaves_the_old_or_the_new_state() {
    killed(Operation::Add);
}

fn killed_update_leaves_the_old_or_the_new_state() {
    killed(Operation::Update);
}

fn killed_remove_leaves_the_old_or_the_new_state() {
    killed(Operation::Remove);
}

fn killed_rollback_leaves_the_old_or_the_new_state() {
    killed(Operation::Rollback);
}

fn killed_vendored_update_leaves_the_old_or_the_new_state() {
    killed(Operation::Vendored);
}

fn killed_sync_leaves_the_old_or_the_new_state() {
    killed(Operation::Sync);
}

fn killed_fork_leaves_the_old_or_the_new_state() {
    killed(Operation::Fork);
}

fn next_command_recovers_before_it_plans() {
    let first = Shop::new();
    let repository = two_versions(&first);
    Operation::Add.prepare(&first, &repository);
    let context = first.context();
    Operation::Add
        .run(&context, &source_of(&repository, "@main"))
        .unwrap();
    let (mut shop, mut source) = prepared(Operation::Add, &first);
    for at in 1..=context.faults.count() {
        let status = command(&shop, "add", &source, at).status().unwrap();
        assert_eq!(status.signal(), Some(9), "point {at}");
        let frozen = SyncOptions {
            frozen: true,
            ..SyncOptions::default()
        };
        shop.run(|context| plan_sync(context, frozen)).unwrap();
        let report = verify(&shop.context(), &[]).unwrap();
        assert_eq!(report.findings, [], "point {at}");
        if report.packages == 1 {
            shop.reset();
        } else {
            (shop, source) = prepared(Operation::Add, &first);
        }
    }
}

fn full_and_read_only_disks_leave_the_old_or_the_new_state() {
    let first = Shop::new();
    two_versions(&first);
    for (_, operation) in OPERATIONS {
        let (shop, source) = prepared(operation, &first);
        let old = shop.snapshot();
        let context = shop.context();
        operation.run(&context, &typed(&source)).unwrap();
        let new = shop.snapshot();
        let points = context.faults.count();
        for kind in [
            io::ErrorKind::StorageFull,
            io::ErrorKind::ReadOnlyFilesystem,
        ] {
            let (mut shop, mut source) = prepared(operation, &first);
            for at in 1..=points {
                let faults = FaultPoints::stopping(at, FaultEffect::Fail(kind));
                let result = operation.run(&shop.context_with(faults), &typed(&source));
                let error = result.expect_err("the error is reported");
                assert!(error.to_string().starts_with("cannot "), "{error}");
                let has_old_lock = shop.snapshot().lock == old.lock;
                shop.recover();
                shop.check_store();
                // Links alone have no commit point but the journal.
                let is_old = match operation {
                    Operation::Sync => shop.snapshot() == old,
                    _ => has_old_lock,
                };
                if is_old {
                    assert_eq!(shop.snapshot(), old, "{operation:?} {kind:?} {at}");
                    if operation.leaves_notes() {
                        (shop, source) = prepared(operation, &first);
                    } else {
                        shop.reset();
                    }
                } else {
                    assert_eq!(shop.snapshot(), new, "{operation:?} {kind:?} {at}");
                    (shop, source) = prepared(operation, &first);
                }
            }
        }
    }
}

fn eight_processes_add_and_sync_at_once() {
    let shop = Shop::new();
    let repository = Repository::create(shop.project().join("source"));
    for number in 0..8 {
        let name = format!("s{number}");
        repository.skill(&format!("skills/{name}"), &name, "1.0.0", &name);
    }
    repository.commit("one");
    let text = format!("git+{}@main", repository.url());
    let mut children = Vec::new();
    for number in 0..8 {
        let add = command(&shop, &format!("add:s{number}"), &text, u64::MAX).spawn();
        children.push(add.unwrap());
        let sync = command(&shop, "sync", &text, u64::MAX).spawn();
        children.push(sync.unwrap());
    }
    for mut child in children {
        assert!(wait_for_exit(&mut child).success());
    }
    let lock = shop.lock();
    let names: Vec<&str> = lock.packages.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
    let report = verify(&shop.context(), &[]).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.packages, 8);
    assert!(shop.snapshot().others.is_empty());
}

fn link_out_of_the_project_is_refused() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    let source = source_of(&repository, "@main");
    let outside = shop.root.join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, shop.project().join(".agents")).unwrap();
    let add =
        |context: &PackageContext| plan_add(context, &AddRequest::new(source.clone(), &["pdf"]));
    let refused = shop.run(add);
    assert!(
        matches!(
            refused,
            Err(PackageError::Project(ProjectError::LinkOut { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    // A file in place of the folder is named.
    fs::remove_file(shop.project().join(".agents")).unwrap();
    fs::write(shop.project().join(".agents"), "x").unwrap();
    assert!(shop.run(add).is_err());
    // A link inside the project is fine.
    fs::remove_file(shop.project().join(".agents")).unwrap();
    fs::create_dir(shop.project().join("settings")).unwrap();
    std::os::unix::fs::symlink("settings", shop.project().join(".agents")).unwrap();
    shop.run(add).unwrap();
    assert!(shop.project().join("settings/skills/pdf/SKILL.md").exists());
}

fn reader_waits_for_a_live_journal() {
    use std::time::Duration;
    let shop = Shop::new();
    let context = shop.context();
    let state = context.scope.state(&context.state);
    let wait = || wait_for_commit(&context.scope, &context.state, Duration::from_millis(50));
    assert!(wait(), "without a journal");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("journal"), "{}").unwrap();
    let lock = fs::File::create(state.join("lock")).unwrap();
    assert!(wait(), "the writer is dead");
    lock.lock().unwrap();
    assert!(!wait(), "the writer lives");
    fs::remove_file(state.join("journal")).unwrap();
    assert!(wait(), "the operation ended");
}
