//! Operations on packages of git repositories.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_http::WebFetcher;
use prowess_package::agents::LINK_AGENTS;
use prowess_package::git::GitError;
use prowess_package::operations::{
    AddRequest, LinkChange, LinkForm, OperationError, PackageContext, PlanNote, RollbackTarget,
    SyncOptions, UpdateOptions, VerifyFinding, apply, apply_links, diff_installed, fork_base,
    list_source, outdated, plan_add, plan_fork, plan_links, plan_lock, plan_remove, plan_rollback,
    plan_sync, plan_unlink, plan_update, prune, verify,
};
use prowess_package::project::ProjectError;
use prowess_package::resolve::{AcceptedChanges, ResolveError};
use prowess_package::{LockedSource, PackageError, PackageExit, SourceError};
use prowess_registry::digest_of;

use crate::shop::{Shop, source_of, two_versions, typed};
use crate::support::{Repository, git_in};
use prowess_test::WebServer;

prowess_test::tests! {
    skills_with_one_name_do_not_replace_each_other
    range_takes_the_highest_fitting_tag
    tag_and_branch_of_one_name_is_an_error
    branch_named_like_a_commit_is_not_followed
    moved_tag_stops_update_and_sync
    lower_version_is_refused_without_the_flag
    rewritten_branch_is_refused_without_the_flag
    vanished_commit_is_served_from_the_store
    young_version_waits
    range_without_tags_is_held_against_the_skill
    frozen_sync_fails_and_writes_nothing
    second_add_stages_nothing
    offline_sync_needs_no_git
    own_skill_is_never_replaced
    remove_takes_its_links_everywhere_and_nothing_else
    vendored_copies_verify_on_a_second_machine
    changed_copy_is_reported_restored_and_kept
    prune_keeps_locks_histories_and_edits
    rollback_needs_no_network
    fork_keeps_edits_and_origin
    links_of_every_agent_are_only_its_own
    plugin_elsewhere_is_followed_one_hop
    other_sources_are_refused_before_a_connection
    only_the_named_source_is_asked
    repository_that_moved_is_named
    missing_credentials_are_not_prompted_for
    only_git_starts_and_nothing_else_is_written
    path_source_is_live
    conflicting_lock_is_united
    power_of_an_update_is_shown
    user_scope_works_alike
}

fn update(shop: &Shop, accepted: AcceptedChanges) -> Result<(), PackageError> {
    let options = UpdateOptions {
        names: Vec::new(),
        accepted,
    };
    shop.run(|context| plan_update(context, &options)).map(drop)
}

fn sync(shop: &Shop) -> Result<(), PackageError> {
    shop.run(|context| plan_sync(context, SyncOptions::default()))
        .map(drop)
}

fn versions(shop: &Shop) -> Vec<(String, String)> {
    let lock = shop.lock();
    let one = |package: &prowess_package::LockedPackage| {
        (
            package.name.clone(),
            package.version.clone().unwrap_or_default(),
        )
    };
    lock.packages.iter().map(one).collect()
}

fn try_add(shop: &Shop, source: &str, names: &[&str]) -> Result<(), PackageError> {
    let source = typed(source);
    shop.run(|context| plan_add(context, &AddRequest::new(source, names)))
        .map(drop)
}

/// A repository with the tags 1.4.2, 1.10.0, 1.4.3 and 2.0.0, in this order.
fn tagged(shop: &Shop) -> Repository {
    let repository = Repository::create(shop.project().join("source"));
    for version in ["1.4.2", "1.10.0", "1.4.3", "2.0.0"] {
        repository.skill("skills/pdf", "pdf", version, version);
        repository.commit(version);
        repository.tag(&format!("v{version}"));
    }
    repository
}

fn skills_with_one_name_do_not_replace_each_other() {
    let shop = Shop::new();
    let repository = Repository::create(shop.project().join("source"));
    repository
        .skill("a/pdf", "pdf", "1.0.0", "A.")
        .skill("b/pdf", "pdf", "1.0.0", "B.")
        .skill("c/csv", "csv", "1.0.0", "C.");
    repository.commit("one");
    let source = source_of(&repository, "");
    let plan = |names: &[&str], change: &dyn Fn(&mut AddRequest)| {
        let mut request = AddRequest::new(source.clone(), names);
        change(&mut request);
        plan_add(&shop.context(), &request)
    };
    let is_same = |error: PackageError| {
        matches!(
            error,
            PackageError::Operation(OperationError::SameName { .. })
        )
    };
    assert!(is_same(plan(&["a/pdf", "b/pdf"], &|_| {}).unwrap_err()));
    let renamed = |request: &mut AddRequest| request.rename = Some("x".to_owned());
    assert!(is_same(plan(&["a/pdf", "c/csv"], &renamed).unwrap_err()));
    // With all skills, the first one of a name counts, and the others are named.
    let all = plan(&[], &|request| request.all = true).unwrap();
    assert_eq!(all.changes.len(), 2);
    let is_named =
        |note: &PlanNote| matches!(note, PlanNote::NotInstallable { name, .. } if name == "pdf");
    assert!(all.notes.iter().any(is_named), "{:?}", all.notes);
    // Named twice is once.
    let twice = plan(&["c/csv", "csv"], &|_| {}).unwrap();
    assert_eq!(twice.changes.len(), 1);
}

fn range_takes_the_highest_fitting_tag() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    shop.add(&source_of(&repository, "@^1.4"), &["pdf"]);
    assert_eq!(versions(&shop), [("pdf".to_owned(), "1.10.0".to_owned())]);
    let lock = shop.lock();
    let package = &lock.packages[0];
    assert_eq!(package.git_ref.as_deref(), Some("refs/tags/v1.10.0"));
    assert_eq!(
        package.commit,
        Some(repository.git(&["rev-parse", "v1.10.0"]))
    );
    assert_eq!(package.path.as_deref(), Some("skills/pdf"));
    assert_eq!(
        package.tree,
        Some(repository.git(&["rev-parse", "v1.10.0:skills/pdf"]))
    );
    // The link leads to the bytes of the lock.
    assert_eq!(digest_of(&shop.skill("pdf")).ok(), package.digest);
    assert_eq!(verify(&shop.context(), &[]).unwrap().findings, []);
    assert!(outdated(&shop.context()).unwrap().is_empty());
    repository.git(&["tag", "v1.11.0"]);
    let found = outdated(&shop.context()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].newest.as_deref().ok(), Some("1.11.0"));
    update(&shop, AcceptedChanges::default()).unwrap();
    assert_eq!(versions(&shop)[0].1, "1.11.0");
}

fn tag_and_branch_of_one_name_is_an_error() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    repository.git(&["branch", "same", "v1.4.2"]);
    repository.git(&["tag", "same", "v2.0.0"]);
    let url = format!("git+{}@same", repository.url());
    let error = try_add(&shop, &url, &["pdf"]).unwrap_err();
    assert!(matches!(
        error,
        PackageError::Resolve(ResolveError::TagAndBranch { .. })
    ));
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("--tag") && hint.contains("--branch"),
        "{hint}"
    );
    assert!(shop.read(".agents/prowess.toml").is_none());
}

fn branch_named_like_a_commit_is_not_followed() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    let commit = repository.git(&["rev-parse", "v1.4.2"]);
    let other = repository.git(&["rev-parse", "v2.0.0"]);
    // A ref that is named like the first commit and leads to the last.
    fs::write(
        repository.folder.join(".git/refs/heads").join(&commit),
        &other,
    )
    .unwrap();
    try_add(
        &shop,
        &format!("git+{}@{commit}", repository.url()),
        &["pdf"],
    )
    .unwrap();
    assert_eq!(shop.lock().packages[0].commit, Some(commit));
    assert_eq!(versions(&shop)[0].1, "1.4.2");
}

fn moved_tag_stops_update_and_sync() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    shop.add(&source_of(&repository, "@=1.4.2"), &["pdf"]);
    let old = shop.lock().packages[0].commit.clone().unwrap();
    repository.git(&["tag", "-f", "v1.4.2", "v2.0.0"]);
    let new = repository.git(&["rev-parse", "v1.4.2"]);
    let before = shop.snapshot();
    let is_moved = |error: &PackageError| {
        let both = |locked: &str, now: &str| locked == old && now == new;
        matches!(error, PackageError::Resolve(ResolveError::MovedTag { locked, now, .. }) if both(locked, now))
    };
    assert!(moved(&shop));
    let error = update(&shop, AcceptedChanges::default()).unwrap_err();
    assert!(is_moved(&error), "{error:?}");
    assert_eq!(error.exit(), PackageExit::Refused);
    // A second machine, which has nothing yet.
    fs::remove_dir_all(shop.root.join("cache")).unwrap();
    remove_store(&shop);
    let error = sync(&shop).unwrap_err();
    assert!(is_moved(&error), "{error:?}");
    assert_eq!(
        shop.read(".agents/prowess.lock").map(|_| ()),
        before.lock.map(|_| ())
    );
    assert_eq!(shop.lock().packages[0].commit, Some(old.clone()));
    let accepted = AcceptedChanges {
        moved_tag: true,
        ..AcceptedChanges::default()
    };
    update(&shop, accepted).unwrap();
    assert_eq!(shop.lock().packages[0].commit, Some(new.clone()));
}

/// Removes all trees of the store.
/// What could be updated is not asked of a tag that moved.
fn moved(shop: &Shop) -> bool {
    let found = outdated(&shop.context()).unwrap();
    let error = found.first().and_then(|one| one.newest.as_ref().err());
    matches!(
        error,
        Some(PackageError::Resolve(ResolveError::MovedTag { .. }))
    )
}

fn remove_store(shop: &Shop) {
    let store = shop.store();
    store
        .prune(|| Ok::<_, prowess_package::store::StoreError>(BTreeSet::new()))
        .unwrap();
}

fn lower_version_is_refused_without_the_flag() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    shop.add(&source_of(&repository, "@^1"), &["pdf"]);
    repository.git(&["tag", "-d", "v1.10.0"]);
    let error = update(&shop, AcceptedChanges::default()).unwrap_err();
    assert!(
        matches!(error, PackageError::Resolve(ResolveError::Downgrade { .. })),
        "{error:?}"
    );
    assert_eq!(versions(&shop)[0].1, "1.10.0");
    let accepted = AcceptedChanges {
        downgrade: true,
        ..AcceptedChanges::default()
    };
    update(&shop, accepted).unwrap();
    assert_eq!(versions(&shop)[0].1, "1.4.3");
}

fn rewritten_branch_is_refused_without_the_flag() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    repository.git(&["reset", "--quiet", "--hard", "v1.0.0"]);
    repository.skill("skills/pdf", "pdf", "1.2.0", "Another history.");
    repository.commit("three");
    let error = update(&shop, AcceptedChanges::default()).unwrap_err();
    assert!(
        matches!(error, PackageError::Resolve(ResolveError::Rewritten { .. })),
        "{error:?}"
    );
    let accepted = AcceptedChanges {
        rewritten: true,
        ..AcceptedChanges::default()
    };
    update(&shop, accepted).unwrap();
    assert_eq!(versions(&shop)[0].1, "1.2.0");
}

fn vanished_commit_is_served_from_the_store() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    let locked = shop.lock();
    // The author rewrites everything.
    fs::remove_dir_all(&repository.folder).unwrap();
    let repository = Repository::create(shop.project().join("source"));
    repository.skill("skills/pdf", "pdf", "9.0.0", "Other.");
    repository.commit("other");
    fs::remove_dir_all(shop.root.join("cache")).unwrap();
    fs::remove_file(shop.skill("pdf")).unwrap();
    sync(&shop).unwrap();
    assert_eq!(
        digest_of(&shop.skill("pdf")).ok(),
        locked.packages[0].digest
    );
    // Without the store it is an error, and never the newest.
    remove_store(&shop);
    let error = sync(&shop).unwrap_err();
    assert!(
        matches!(error, PackageError::Git(GitError::NoCommit { .. })),
        "{error:?}"
    );
    assert_eq!(shop.lock(), locked);
}

fn young_version_waits() {
    let shop = Shop::new();
    let repository = tagged(&shop);
    shop.manifest("[install]\nminimum-age = \"3d\"\n");
    let add = |now: i64| {
        let context = PackageContext {
            now,
            ..shop.context()
        };
        let plan = plan_add(
            &context,
            &AddRequest::new(source_of(&repository, "@^1"), &["pdf"]),
        )?;
        apply(&context, &plan).map(drop)
    };
    // All commits are of this second.
    let error = add(1_700_000_000 + 86_400).unwrap_err();
    assert!(
        matches!(error, PackageError::Resolve(ResolveError::TooYoung { .. })),
        "{error:?}"
    );
    add(1_700_000_000 + 4 * 86_400).unwrap();
}

fn range_without_tags_is_held_against_the_skill() {
    let shop = Shop::new();
    let repository = Repository::create(shop.project().join("source"));
    repository.skill("pdf", "pdf", "2.1.0", "x");
    repository.commit("one");
    let url = |range: &str| format!("git+{}@{range}", repository.url());
    let error = try_add(&shop, &url("^1"), &["pdf"]).unwrap_err();
    assert!(matches!(
        error,
        PackageError::Resolve(ResolveError::DeclaredVersion { .. })
    ));
    try_add(&shop, &url("^2"), &["pdf"]).unwrap();
    assert_eq!(versions(&shop)[0].1, "2.1.0");
}

fn frozen_sync_fails_and_writes_nothing() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    let text = shop.read(".agents/prowess.toml").unwrap();
    let frozen = || {
        let options = SyncOptions {
            frozen: true,
            ..SyncOptions::default()
        };
        shop.run(|context| plan_sync(context, options))
    };
    frozen().unwrap();
    let line = text.lines().find(|line| line.starts_with("pdf")).unwrap();
    let others = [
        text.replace("main", "next"),
        format!("{text}{}\n", line.replacen("pdf", "csv", 1)),
        "[packages]\n".to_owned(),
    ];
    for other in others {
        shop.manifest(&other);
        let before = shop.snapshot();
        let error = frozen().unwrap_err();
        assert!(
            matches!(
                error,
                PackageError::Operation(OperationError::Frozen { .. })
            ),
            "{error:?}"
        );
        assert_eq!(shop.snapshot(), before);
    }
    // Without the flag it is resolved, or removed.
    shop.manifest(&format!("{text}{}\n", line.replacen("pdf", "csv", 1)));
    sync(&shop).unwrap();
    assert_eq!(versions(&shop).len(), 2);
    shop.manifest("[packages]\n");
    sync(&shop).unwrap();
    assert!(versions(&shop).is_empty() && shop.snapshot().entries.is_empty());
}

fn second_add_stages_nothing() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    let source = source_of(&repository, "@main");
    shop.add(&source, &["pdf"]);
    let before = shop.snapshot();
    let context = shop.context();
    let plan = plan_add(&context, &AddRequest::new(source, &["pdf"])).unwrap();
    assert_eq!((plan.fetched(), plan.changes.len()), (0, 0));
    apply(&context, &plan).unwrap();
    assert_eq!(shop.snapshot(), before);
}

fn offline_sync_needs_no_git() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf", "csv"]);
    fs::remove_file(shop.skill("pdf")).unwrap();
    fs::remove_dir_all(shop.root.join("cache")).unwrap();
    let context = PackageContext {
        offline: true,
        environment: Vec::new(),
        ..shop.context()
    };
    let plan = plan_sync(&context, SyncOptions::default()).unwrap();
    assert_eq!((plan.relinked(), plan.fetched()), (1, 0));
    apply(&context, &plan).unwrap();
    assert_eq!(verify(&context, &[]).unwrap().findings, []);
    assert!(
        plan_sync(&context, SyncOptions::default())
            .unwrap()
            .is_empty()
    );
}

fn own_skill_is_never_replaced() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    let source = source_of(&repository, "@main");
    fs::create_dir_all(shop.skill("pdf")).unwrap();
    fs::write(shop.skill("pdf").join("SKILL.md"), "mine").unwrap();
    let error = shop
        .run(|context| plan_add(context, &AddRequest::new(source.clone(), &["pdf"])))
        .unwrap_err();
    assert!(
        matches!(error, PackageError::Project(ProjectError::NotOurs { .. })),
        "{error:?}"
    );
    assert!(error.hint().unwrap().contains("--as"));
    assert_eq!(fs::read(shop.skill("pdf/SKILL.md")).unwrap(), b"mine");
    assert!(shop.read(".agents/prowess.lock").is_none());
    let renamed = AddRequest {
        rename: Some("their-pdf".to_owned()),
        ..AddRequest::new(source, &["pdf"])
    };
    shop.run(|context| plan_add(context, &renamed)).unwrap();
    assert_eq!(versions(&shop)[0].0, "their-pdf");
    // Made in the time between plan and apply.
    let context = shop.context();
    let plan = plan_add(
        &context,
        &AddRequest::new(source_of(&repository, "@main"), &["csv"]),
    )
    .unwrap();
    fs::create_dir(shop.skill("csv")).unwrap();
    fs::write(shop.skill("csv").join("SKILL.md"), "mine").unwrap();
    assert!(apply(&context, &plan).is_err());
    assert_eq!(fs::read(shop.skill("csv/SKILL.md")).unwrap(), b"mine");
    assert!(shop.lock().get("csv").is_none());
}

fn remove_takes_its_links_everywhere_and_nothing_else() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.manifest("# mine\n[install]\ntargets = [\"claude-code\", \"goose\"]\n");
    shop.add(&source_of(&repository, "@main"), &["pdf", "csv"]);
    let claude = shop.project().join(".claude/skills");
    let target = fs::read_link(claude.join("pdf")).unwrap();
    assert_eq!(target, Path::new("../../.agents/skills/pdf"));
    assert!(claude.join("pdf/SKILL.md").exists());
    // A link of the person's own, and an agent that was linked by hand.
    std::os::unix::fs::symlink("/etc", claude.join("other")).unwrap();
    let roo = prowess_package::agents::link_agent("roo").unwrap();
    let context = shop.context();
    apply_links(
        &context,
        &plan_links(&context, &[roo], LinkForm::Link).unwrap(),
    )
    .unwrap();
    assert!(shop.project().join(".roo/skills/pdf").exists());
    shop.run(|context| plan_remove(context, &["pdf"])).unwrap();
    for gone in [
        ".agents/skills/pdf",
        ".claude/skills/pdf",
        ".goose/skills/pdf",
        ".roo/skills/pdf",
    ] {
        assert!(
            fs::symlink_metadata(shop.project().join(gone)).is_err(),
            "{gone}"
        );
    }
    for kept in [
        ".agents/skills/csv",
        ".claude/skills/csv",
        ".claude/skills/other",
        ".goose/skills/csv",
    ] {
        assert!(
            fs::symlink_metadata(shop.project().join(kept)).is_ok(),
            "{kept}"
        );
    }
    let manifest = shop.read(".agents/prowess.toml").unwrap();
    assert!(manifest.starts_with("# mine\n[install]\n") && !manifest.contains("pdf"));
    let error = shop
        .run(|context| plan_remove(context, &["pdf"]))
        .unwrap_err();
    assert!(matches!(
        error,
        PackageError::Operation(OperationError::NoPackage { .. })
    ));
}

fn vendored_copies_verify_on_a_second_machine() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.manifest("[install]\nvendor = true\n");
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    let facts = fs::symlink_metadata(shop.skill("pdf")).unwrap();
    assert!(facts.is_dir());
    let mode = |path: &str| fs::metadata(shop.skill(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("pdf/SKILL.md"), mode("pdf/scripts/fill.py")),
        (0o644, 0o755)
    );
    git_in(&shop.project(), &["init", "--quiet"]);
    git_in(&shop.project(), &["add", ".agents"]);
    git_in(&shop.project(), &["commit", "--quiet", "-m", "skills"]);
    let second = Shop::new();
    fs::remove_dir(second.project()).unwrap();
    let from = shop.project().to_str().unwrap().to_owned();
    git_in(&second.root, &["clone", "--quiet", &from, "project"]);
    // The source is a folder of the first project.
    let text = second.read(".agents/prowess.toml").unwrap();
    assert!(text.contains(&from));
    let place = |text: String| text.replace(&from, second.project().to_str().unwrap());
    for name in ["prowess.toml", "prowess.lock"] {
        let path = format!(".agents/{name}");
        let text = place(second.read(&path).unwrap());
        fs::write(second.project().join(path), text).unwrap();
    }
    let context = PackageContext {
        offline: true,
        ..second.context()
    };
    assert_eq!(verify(&context, &[]).unwrap().findings, []);
    assert!(
        plan_sync(&context, SyncOptions::default())
            .unwrap()
            .is_empty()
    );
}

fn changed_copy_is_reported_restored_and_kept() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.manifest("[install]\nvendor = true\n");
    shop.add(&source_of(&repository, "@v1.0.0"), &["pdf"]);
    let locked = shop.lock().packages[0].digest.clone();
    fs::write(shop.skill("pdf/SKILL.md"), "edited\n").unwrap();
    fs::write(shop.skill("pdf/new.md"), "new\n").unwrap();
    let edited = digest_of(&shop.skill("pdf")).unwrap();
    let report = verify(&shop.context(), &["pdf"]).unwrap();
    let paths: Vec<PathBuf> = report
        .findings
        .iter()
        .map(|finding| match finding {
            VerifyFinding::File { path, .. } => path.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        paths,
        [shop.skill("pdf/SKILL.md"), shop.skill("pdf/new.md")]
    );
    let changes = diff_installed(&shop.context(), "pdf").unwrap();
    assert_eq!(changes.len(), 2);
    assert!(changes[0].text.as_deref().unwrap().contains("+edited"));
    assert_eq!(changes[1].lines, Some((1, 0)));
    // An update does not replace it.
    let text = shop.read(".agents/prowess.toml").unwrap();
    shop.manifest(&text.replace("version = \"=1.0.0\"", "branch = \"main\""));
    let error = update(&shop, AcceptedChanges::default()).unwrap_err();
    assert!(
        matches!(error, PackageError::Project(ProjectError::Changed { .. })),
        "{error:?}"
    );
    assert_eq!(digest_of(&shop.skill("pdf")).unwrap(), edited);
    shop.manifest(&text);
    // `sync` restores it, and the edit stays in the store.
    let context = shop.context();
    let plan = plan_sync(&context, SyncOptions::default()).unwrap();
    assert!(plan.notes.contains(&PlanNote::Restored {
        name: "pdf".to_owned(),
        path: shop.skill("pdf"),
    }));
    let report = apply(&context, &plan).unwrap();
    assert_eq!(report.kept, std::slice::from_ref(&edited));
    assert_eq!(digest_of(&shop.skill("pdf")).ok(), locked);
    assert!(shop.store().has(&edited));
    prune(&shop.store(), &shop.root.join("state"), false).unwrap();
    assert!(shop.store().has(&edited));
    prune(&shop.store(), &shop.root.join("state"), true).unwrap();
    assert!(!shop.store().has(&edited));
}

fn prune_keeps_locks_histories_and_edits() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@v1.0.0"), &["pdf", "csv"]);
    let first = shop.lock();
    let text = shop.read(".agents/prowess.toml").unwrap();
    shop.manifest(&text.replace("version = \"=1.0.0\"", "branch = \"main\""));
    update(&shop, AcceptedChanges::default()).unwrap();
    let second = shop.lock();
    // A tree that nothing names.
    let other = Shop::new();
    let stranger = Repository::create(other.project().join("source"));
    stranger.skill("x", "x", "1.0.0", "x");
    stranger.commit("x");
    other.add(&source_of(&stranger, "@main"), &["x"]);
    let digest = other.lock().packages[0].digest.clone().unwrap();
    let staging = shop.store().stage().unwrap();
    let tree = prowess_package::tree::copy_folder(
        &other.skill("x"),
        staging.path().join("x"),
        prowess_package::tree::TreeLimits::default(),
    );
    shop.store()
        .insert(&shop.store().hold().unwrap(), &[&tree.unwrap()])
        .unwrap();
    let report = prune(&shop.store(), &shop.root.join("state"), false).unwrap();
    assert_eq!(report.removed, [digest]);
    for package in first.packages.iter().chain(&second.packages) {
        assert!(
            shop.store().has(package.digest.as_ref().unwrap()),
            "{}",
            package.name
        );
    }
    // A lock that cannot be read may need anything.
    fs::write(shop.project().join(".agents/prowess.lock"), "damaged = [").unwrap();
    assert!(prune(&shop.store(), &shop.root.join("state"), false).is_err());
    assert!(shop.store().has(first.packages[0].digest.as_ref().unwrap()));
}

fn rollback_needs_no_network() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@v1.0.0"), &["pdf", "csv"]);
    let before = shop.snapshot();
    let text = shop.read(".agents/prowess.toml").unwrap();
    shop.manifest(&text.replace("version = \"=1.0.0\"", "branch = \"main\""));
    update(&shop, AcceptedChanges::default()).unwrap();
    let after = shop.snapshot();
    assert_ne!(before.entries, after.entries);
    fs::remove_dir_all(&repository.folder).unwrap();
    fs::remove_dir_all(shop.root.join("cache")).unwrap();
    let back = |target: &RollbackTarget| {
        let context = PackageContext {
            offline: true,
            environment: Vec::new(),
            ..shop.context()
        };
        let plan = plan_rollback(&context, target)?;
        apply(&context, &plan).map(drop)
    };
    back(&RollbackTarget::default()).unwrap();
    let now = shop.snapshot();
    assert_eq!((&now.lock, &now.entries), (&before.lock, &before.entries));
    let context = shop.context();
    assert!(
        plan_sync(
            &context,
            SyncOptions {
                frozen: true,
                ..SyncOptions::default()
            }
        )
        .is_err()
    );
    // To a version, one package only.
    let target = RollbackTarget {
        name: Some("pdf".to_owned()),
        to: Some("1.1.0".to_owned()),
    };
    back(&target).unwrap();
    assert_eq!(shop.snapshot().entries["pdf"], after.entries["pdf"]);
    assert_eq!(shop.snapshot().entries["csv"], before.entries["csv"]);
    let unknown = RollbackTarget {
        name: None,
        to: Some("7.7.7".to_owned()),
    };
    let error = back(&unknown).unwrap_err();
    assert!(matches!(
        error,
        PackageError::Operation(OperationError::NoHistory { .. })
    ));
}

fn fork_keeps_edits_and_origin() {
    for vendor in [false, true] {
        let shop = Shop::new();
        let repository = two_versions(&shop);
        shop.manifest(&format!("[install]\nvendor = {vendor}\n"));
        shop.add(&source_of(&repository, "@main"), &["pdf", "csv"]);
        let locked = shop.lock().get("pdf").unwrap().clone();
        let base = locked.digest.clone().unwrap();
        if vendor {
            fs::write(shop.skill("pdf/SKILL.md"), "edited\n").unwrap();
        }
        let before = digest_of(&shop.skill("pdf")).unwrap();
        shop.run(|context| plan_fork(context, "pdf")).unwrap();
        assert!(fs::symlink_metadata(shop.skill("pdf")).unwrap().is_dir());
        assert_eq!(digest_of(&shop.skill("pdf")).unwrap(), before);
        fs::write(shop.skill("pdf/mine.md"), "mine").unwrap();
        let lock = shop.lock();
        assert!(lock.get("pdf").is_none() && lock.get("csv").is_some());
        assert!(!shop.read(".agents/prowess.toml").unwrap().contains("pdf ="));
        let records = prowess_package::operations::forks(&lock);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0]["commit"].as_str(), locked.commit.as_deref());
        assert_eq!(records[0]["digest"].as_str(), Some(&*base));
        // The base is kept for merging, and the fork is the person's own now.
        prune(&shop.store(), &shop.root.join("state"), false).unwrap();
        assert!(fork_base(&shop.context(), "pdf").unwrap().is_some());
        let text = shop.read(".agents/prowess.lock").unwrap();
        sync(&shop).unwrap();
        assert_eq!(shop.read(".agents/prowess.lock").unwrap(), text);
        let add = shop.run(|context| {
            plan_add(
                context,
                &AddRequest::new(source_of(&repository, "@main"), &["pdf"]),
            )
        });
        assert!(matches!(
            add,
            Err(PackageError::Project(ProjectError::NotOurs { .. }))
        ));
    }
}

fn links_of_every_agent_are_only_its_own() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    let context = shop.context();
    for agent in LINK_AGENTS {
        let folder = shop.project().join(agent.project);
        let plan = plan_links(&context, &[agent], LinkForm::Link).unwrap();
        if agent.reads_agents {
            assert_eq!(plan.needless, [agent.name]);
            continue;
        }
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir(folder.join("own")).unwrap();
        std::os::unix::fs::symlink("/etc", folder.join("foreign")).unwrap();
        apply_links(&context, &plan).unwrap();
        assert!(folder.join("pdf/SKILL.md").exists(), "{}", agent.name);
        assert!(
            plan_links(&context, &[agent], LinkForm::Link)
                .unwrap()
                .is_empty()
        );
        apply_links(&context, &plan_unlink(&context, &[agent]).unwrap()).unwrap();
        assert!(fs::symlink_metadata(folder.join("pdf")).is_err());
        assert!(folder.join("own").is_dir() && folder.join("foreign").is_dir());
        // Something with the name of the package.
        fs::create_dir(folder.join("pdf")).unwrap();
        let plan = plan_links(&context, &[agent], LinkForm::Link).unwrap();
        assert_eq!(
            plan.changes,
            [LinkChange::Occupied {
                path: folder.join("pdf")
            }]
        );
        apply_links(&context, &plan).unwrap();
        assert!(fs::symlink_metadata(folder.join("pdf")).unwrap().is_dir());
        fs::remove_dir_all(&folder).unwrap();
    }
    // A folder that is a link to the scope folder needs no links.
    let claude = prowess_package::agents::link_agent("claude-code").unwrap();
    fs::create_dir_all(shop.project().join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", shop.project().join(".claude/skills")).unwrap();
    let plan = plan_links(&context, &[claude], LinkForm::Link).unwrap();
    assert_eq!(plan.needless, ["claude-code"]);
    apply_links(&context, &plan_unlink(&context, &[claude]).unwrap()).unwrap();
    assert!(shop.skill("pdf").join("SKILL.md").exists());
}

fn plugin_elsewhere_is_followed_one_hop() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    let there = Repository::create(shop.root.join("there"));
    there.skill("skills/far", "far", "1.0.0", "Far.");
    let pinned = there.commit("one");
    there.skill("skills/far", "far", "2.0.0", "Newer.");
    there.commit("two");
    let here = Repository::create(shop.root.join("here"));
    let marketplace = |sha: &str| {
        serde_json::json!({
            "name": "m", "owner": { "name": "m" },
            "plugins": [
                { "name": "far-plugin", "source": { "source": "url", "url": web.url("/git/there/.git"), "sha": sha } },
                { "name": "runs", "source": { "source": "command", "command": "touch x" } },
            ],
        })
        .to_string()
    };
    here.skill("skills/near", "near", "1.0.0", "Near.")
        .file(".claude-plugin/marketplace.json", &marketplace(&pinned));
    here.commit("one");
    let request = AddRequest {
        plugin: Some("far-plugin".to_owned()),
        ..AddRequest::new(typed(&format!("git+{}", web.url("/git/here/.git"))), &[])
    };
    shop.run(|context| plan_add(context, &request)).unwrap();
    let lock = shop.lock();
    assert_eq!(lock.packages[0].commit, Some(pinned));
    assert_eq!(
        lock.packages[0].source,
        LockedSource::Git(web.url("/git/there/.git"))
    );
    assert_eq!(versions(&shop), [("far".to_owned(), "1.0.0".to_owned())]);
    // A commit that is not there is refused; the newest is not taken.
    here.file(
        ".claude-plugin/marketplace.json",
        &marketplace(&"1".repeat(40)),
    );
    here.commit("two");
    let other = Shop::new();
    let error = other
        .run(|context| plan_add(context, &request))
        .unwrap_err();
    assert!(
        matches!(error, PackageError::Git(GitError::NoCommit { .. })),
        "{error:?}"
    );
    let listed = list_source(&other.context(), &request).unwrap();
    assert_eq!(listed.found.plugins.len(), 2);
}

fn other_sources_are_refused_before_a_connection() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    shop.manifest("[install]\nsources = [\"https://git.example.com/acme/*\"]\n");
    let source = format!("git+{}", web.url("/git/x.git"));
    let error = try_add(&shop, &source, &["pdf"]).unwrap_err();
    assert!(
        matches!(error, PackageError::Source(SourceError::NotAllowed { .. })),
        "{error:?}"
    );
    assert_eq!(error.exit(), PackageExit::Refused);
    assert!(web.asked().is_empty());
    // A lock that names another source does not help.
    let allowed = Shop::new();
    let repository = Repository::create(shop.root.join("y"));
    repository.skill("pdf", "pdf", "1.0.0", "x");
    repository.commit("one");
    try_add(
        &allowed,
        &format!("git+{}", web.url("/git/y/.git")),
        &["pdf"],
    )
    .unwrap();
    remove_store(&allowed);
    let text = allowed.read(".agents/prowess.toml").unwrap();
    allowed.manifest(&format!(
        "{text}[install]\nsources = [\"https://git.example.com/acme/*\"]\n"
    ));
    let asked = web.asked().len();
    let error = sync(&allowed).unwrap_err();
    assert!(
        matches!(error, PackageError::Source(SourceError::NotAllowed { .. })),
        "{error:?}"
    );
    assert_eq!(web.asked().len(), asked);
}

fn only_the_named_source_is_asked() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    let other = WebServer::start(&shop.root);
    let repository = Repository::create(shop.root.join("repo"));
    repository.skill("skills/pdf", "pdf", "1.0.0", "x");
    repository.commit("one");
    repository.tag("v1.0.0");
    let context = PackageContext {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        ..shop.context()
    };
    // An address of unknown kind is asked for git first.
    let source = typed(&format!("{}@^1", web.url("/git/repo/.git")));
    let plan = plan_add(&context, &AddRequest::new(source, &["pdf"])).unwrap();
    apply(&context, &plan).unwrap();
    assert!(shop.skill("pdf/SKILL.md").exists());
    let asked = web.asked();
    let is_named = |head: &&String| {
        head.split(' ')
            .nth(1)
            .is_some_and(|path| path.starts_with("/git/repo/.git/"))
    };
    assert!(
        !asked.is_empty() && asked.iter().all(|head| is_named(&head)),
        "{asked:?}"
    );
    assert!(other.asked().is_empty());
    assert_eq!(
        shop.lock().packages[0].source,
        LockedSource::Git(web.url("/git/repo/.git"))
    );
}

fn repository_that_moved_is_named() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    let context = PackageContext {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        ..shop.context()
    };
    let source = typed(&format!("git+{}", web.url("/moved/x.git")));
    let error = plan_add(&context, &AddRequest::new(source, &["pdf"])).unwrap_err();
    match &error {
        PackageError::Git(GitError::Moved { to, .. }) => {
            assert_eq!(to.as_deref(), Some("https://elsewhere.example/new"));
        }
        other => panic!("{other:?}"),
    }
    assert!(
        error
            .hint()
            .unwrap()
            .contains("https://elsewhere.example/new")
    );
}

fn missing_credentials_are_not_prompted_for() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    // A person's configuration that puts a token into the address.
    fs::create_dir_all(shop.root.join("home")).unwrap();
    let host = web.url("");
    let with_token = host.replace("http://", "http://me:s3cret@");
    let config = format!("[url \"{with_token}/\"]\ninsteadOf = {host}/\n");
    fs::write(shop.root.join("home/.gitconfig"), config).unwrap();
    let source = format!("git+{}", web.url("/private/x.git"));
    let error = try_add(&shop, &source, &["pdf"]).unwrap_err();
    assert_eq!(error.exit(), PackageExit::Credentials, "{error:?}");
    let shown = format!("{error} {error:?} {:?}", error.hint());
    assert!(!shown.contains("s3cret"), "{shown}");
    // Addresses with a password are refused before anything starts.
    let typed = prowess_package::PackageSource::parse(
        "https://me:s3cret@host/x.git",
        prowess_package::source::DEFAULT_SHORTHAND,
        prowess_package::source::SourceOrigin::Typed,
    );
    assert!(!format!("{:?}", typed.unwrap_err()).contains("s3cret"));
}

fn only_git_starts_and_nothing_else_is_written() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    // Scripts of the package and hooks of the repository would leave a mark.
    let mark = shop.root.join("mark");
    for hook in ["post-checkout", "post-merge", "post-update", "pre-receive"] {
        repository.executable(
            &format!(".git/hooks/{hook}"),
            &format!("#!/bin/sh\ntouch {}\n", mark.display()),
        );
    }
    repository
        .executable(
            "skills/pdf/scripts/install.sh",
            &format!("#!/bin/sh\ntouch {}\n", mark.display()),
        )
        .file("skills/pdf/.gitattributes", "* filter=run\n");
    repository.commit("three");
    // A folder of programs with nothing but git: whatever else is started does not run.
    let programs = shop.root.join("programs");
    fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file());
    std::os::unix::fs::symlink(git.unwrap(), programs.join("git")).unwrap();
    let home = shop.root.join("home");
    fs::create_dir_all(&home).unwrap();
    let context = PackageContext {
        environment: vec![
            ("PATH".into(), programs.into()),
            ("HOME".into(), home.clone().into()),
        ],
        ..shop.context()
    };
    let before = listing(&shop.root);
    let plan = plan_add(
        &context,
        &AddRequest::new(source_of(&repository, "@main"), &["pdf"]),
    )
    .unwrap();
    apply(&context, &plan).unwrap();
    drop(plan);
    assert!(!mark.exists());
    let after = listing(&shop.root);
    let new: Vec<&PathBuf> = after.difference(&before).collect();
    let allowed = ["data/store", "cache", "state", "project/.agents"];
    for path in new {
        let is_allowed = allowed
            .iter()
            .any(|place| path.starts_with(place) || Path::new(place).starts_with(path));
        assert!(is_allowed, "{}", path.display());
    }
    assert!(fs::read_dir(&home).unwrap().next().is_none());
}

/// Returns all files and folders below a folder.
fn listing(root: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            all.insert(entry.path().strip_prefix(root).unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    all
}

fn path_source_is_live() {
    let shop = Shop::new();
    let own = shop.project().join("our-skills/style");
    fs::create_dir_all(&own).unwrap();
    fs::write(
        own.join("SKILL.md"),
        "---\nname: style\ndescription: x\n---\none\n",
    )
    .unwrap();
    try_add(&shop, "./our-skills/style", &[]).unwrap();
    let lock = shop.lock();
    assert_eq!(
        (&lock.packages[0].source, &lock.packages[0].digest),
        (&LockedSource::Path, &None)
    );
    fs::write(own.join("SKILL.md"), "two").unwrap();
    assert_eq!(fs::read(shop.skill("style/SKILL.md")).unwrap(), b"two");
    assert_eq!(verify(&shop.context(), &[]).unwrap().findings, []);
    assert!(
        plan_sync(&shop.context(), SyncOptions::default())
            .unwrap()
            .is_empty()
    );
    shop.run(|context| plan_remove(context, &["style"]))
        .unwrap();
    assert!(own.join("SKILL.md").exists() && !shop.skill("style").exists());
    let error = try_add(&shop, "./nothing", &[]).unwrap_err();
    assert!(matches!(
        error,
        PackageError::Operation(OperationError::NotASkill { .. })
    ));
}

fn conflicting_lock_is_united() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    let source = source_of(&repository, "@main");
    shop.add(&source, &["pdf"]);
    let one = shop.read(".agents/prowess.lock").unwrap();
    shop.add(&source, &["csv"]);
    let both = shop.read(".agents/prowess.lock").unwrap();
    shop.run(|context| plan_remove(context, &["pdf"])).unwrap();
    let two = shop.read(".agents/prowess.lock").unwrap();
    shop.add(&source, &["pdf"]);
    let marked = format!("<<<<<<< ours\n{one}=======\n{two}>>>>>>> theirs\n");
    fs::write(shop.project().join(".agents/prowess.lock"), &marked).unwrap();
    let error = sync(&shop).unwrap_err();
    assert!(error.hint().unwrap().contains("prowess lock"), "{error}");
    shop.run(|context| plan_lock(context, AcceptedChanges::default()))
        .unwrap();
    assert_eq!(shop.read(".agents/prowess.lock").unwrap(), both);
    // A damaged lock never becomes an empty one.
    fs::write(
        shop.project().join(".agents/prowess.lock"),
        "version = 1\n[[package",
    )
    .unwrap();
    assert!(
        sync(&shop).is_err()
            && shop
                .run(|context| plan_lock(context, AcceptedChanges::default()))
                .is_err()
    );
    assert_eq!(
        shop.read(".agents/prowess.lock").unwrap(),
        "version = 1\n[[package"
    );
}

fn power_of_an_update_is_shown() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    shop.add(&source_of(&repository, "@main"), &["pdf"]);
    repository.file(
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Does pdf.\nallowed-tools: Bash(curl:*)\n---\nUse it.\n",
    );
    repository.commit("three");
    let before = shop.snapshot();
    let context = shop.context();
    let plan = plan_update(&context, &UpdateOptions::default()).unwrap();
    let difference = plan
        .power(&context.store, &plan.changes[0])
        .unwrap()
        .unwrap();
    assert!(difference.is_more(), "{difference:?}");
    assert_eq!(shop.snapshot(), before, "a plan changes nothing");
    assert_eq!(versions(&shop)[0].1, "1.1.0");
}

fn user_scope_works_alike() {
    let shop = Shop::new();
    let repository = two_versions(&shop);
    let home = shop.root.join("home");
    let config = home.join(".config/prowess");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("config.toml"),
        "# settings\n[model]\nname = \"x\"\n",
    )
    .unwrap();
    let context = PackageContext {
        scope: prowess_package::project::PackageScope::user(&home, &config),
        ..shop.context()
    };
    let plan = plan_add(
        &context,
        &AddRequest::new(source_of(&repository, "@main"), &["pdf"]),
    )
    .unwrap();
    apply(&context, &plan).unwrap();
    assert!(home.join(".agents/skills/pdf/SKILL.md").exists());
    assert!(config.join("prowess.lock").exists());
    let text = fs::read_to_string(config.join("config.toml")).unwrap();
    assert!(
        text.starts_with("# settings\n[model]\nname = \"x\"\n"),
        "{text}"
    );
    assert_eq!(verify(&context, &[]).unwrap().findings, []);
    assert!(!shop.project().join(".agents").exists());
}
