//! Indexes, archives and sites, over a real server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_http::WebFetcher;
use prowess_package::index::IndexError;
use prowess_package::operations::{
    AddRequest, PackFormat, PackageContext, PlanNote, SyncOptions, apply, pack, pack_site,
    plan_add, plan_sync, verify,
};
use prowess_package::{LockedSource, PackageError};
use prowess_registry::digest_of;
use serde_json::{Value, json};

use crate::shop::{Shop, typed};
use prowess_test::WebServer;

prowess_test::tests! {
    packed_archives_install_back_to_the_same_digest
    site_is_read_in_every_version
    site_has_the_shapes_of_the_specifications
    wrong_digest_installs_nothing
    stale_index_is_refused
    index_of_another_host_is_not_followed
    page_in_place_of_an_index_is_named
    endless_answers_are_refused
}

fn skill(root: &Path, name: &str) -> PathBuf {
    let folder = root.join(name);
    fs::create_dir_all(folder.join("scripts")).unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: Does {name}.\nlicense: MIT\nversion: 1.2.3\n---\nUse it.\n"
    );
    fs::write(folder.join("SKILL.md"), text).unwrap();
    fs::write(folder.join("scripts/run me.sh"), "#!/bin/sh\necho hi\n").unwrap();
    let mode = PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("scripts/run me.sh"), mode).unwrap();
    folder
}

fn online(shop: &Shop) -> PackageContext {
    PackageContext {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        ..shop.context()
    }
}

fn add(
    context: &PackageContext,
    source: &str,
    names: &[&str],
) -> Result<Vec<PlanNote>, PackageError> {
    let plan = plan_add(context, &AddRequest::new(typed(source), names))?;
    apply(context, &plan)?;
    Ok(plan.notes)
}

fn packed_archives_install_back_to_the_same_digest() {
    let world = tempfile::tempdir().unwrap();
    let folder = skill(world.path(), "pdf");
    std::os::unix::fs::symlink("scripts/run me.sh", folder.join("run")).unwrap();
    let long = format!("{}.md", "x".repeat(140));
    fs::write(folder.join(&long), "long").unwrap();
    let expected = digest_of(&folder).unwrap();
    // The same files, made in another order at another time.
    let second = tempfile::tempdir().unwrap();
    let copy = second.path().join("pdf");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join(&long), "long").unwrap();
    std::os::unix::fs::symlink("scripts/run me.sh", copy.join("run")).unwrap();
    skill(second.path(), "pdf");
    for (format, name) in [
        (PackFormat::TarGz, "pdf.tar.gz"),
        (PackFormat::Skill, "pdf.skill"),
    ] {
        let bytes = pack(&folder, format).unwrap();
        assert_eq!(bytes, pack(&copy, format).unwrap(), "{name}");
        let shop = Shop::new();
        let place = shop.project().join(name);
        fs::write(&place, &bytes).unwrap();
        add(&shop.context(), place.to_str().unwrap(), &[]).unwrap();
        let lock = shop.lock();
        assert_eq!(lock.packages[0].digest.as_ref(), Some(&expected), "{name}");
        assert_eq!(lock.packages[0].version.as_deref(), Some("1.2.3"));
        assert_eq!(lock.packages[0].license.as_deref(), Some("MIT"));
        assert!(lock.packages[0].archive.is_some());
        assert_eq!(digest_of(&shop.skill("pdf")).unwrap(), expected);
        // Another archive at the same place is refused.
        shop.reset();
        fs::remove_file(shop.skill("pdf")).unwrap();
        let context = shop.context();
        let store = context.store.clone();
        let none = std::collections::BTreeSet::new();
        store
            .prune(|| Ok::<_, prowess_package::store::StoreError>(none))
            .unwrap();
        fs::write(&place, b"PK other").unwrap();
        assert!(plan_sync(&context, SyncOptions::default()).is_err());
        fs::write(&place, &bytes).unwrap();
        let plan = plan_sync(&context, SyncOptions::default()).unwrap();
        apply(&context, &plan).unwrap();
        assert_eq!(verify(&context, &[]).unwrap().findings, []);
    }
    std::os::unix::fs::symlink("/etc/passwd", folder.join("out")).unwrap();
    assert!(pack(&folder, PackFormat::TarGz).is_err());
}

fn site_is_read_in_every_version() {
    let world = tempfile::tempdir().unwrap();
    let (pdf, csv) = (skill(world.path(), "pdf"), skill(world.path(), "csv"));
    let expected = digest_of(&pdf).unwrap();
    let site = world.path().join("site");
    let skills = [("pdf".to_owned(), pdf), ("csv".to_owned(), csv)];
    let written = pack_site(&skills, &site, None).unwrap();
    assert!(
        written
            .files
            .contains(&".well-known/agent-skills/index.json".into())
    );
    let web = WebServer::start(&site);
    // 0.2.0 from the root, also below a path that has none.
    for path in ["", "/docs"] {
        let shop = Shop::new();
        let notes = add(&online(&shop), &web.url(path), &["pdf"]).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        let lock = shop.lock();
        assert_eq!(lock.packages[0].digest.as_ref(), Some(&expected));
        assert!(matches!(lock.packages[0].source, LockedSource::Index(_)));
        assert!(lock.packages[0].archive.is_some());
        assert!(
            plan_sync(
                &online(&shop),
                SyncOptions {
                    frozen: true,
                    ..SyncOptions::default()
                }
            )
            .unwrap()
            .is_empty()
        );
    }
    // OpenCode: the index is in the named folder.
    let shop = Shop::new();
    let notes = add(
        &online(&shop),
        &web.url("/.well-known/skills/index.json"),
        &["pdf"],
    )
    .unwrap();
    assert!(notes.contains(&PlanNote::FirstSight {
        name: "pdf".to_owned()
    }));
    assert_eq!(shop.lock().packages[0].digest.as_ref(), Some(&expected));
    // 0.1.0, if there is nothing newer.
    fs::remove_dir_all(site.join(".well-known/agent-skills")).unwrap();
    let shop = Shop::new();
    let all = AddRequest {
        all: true,
        ..AddRequest::new(typed(&web.url("")), &[])
    };
    let context = online(&shop);
    apply(&context, &plan_add(&context, &all).unwrap()).unwrap();
    assert_eq!(shop.lock().packages.len(), 2);
    assert_eq!(
        shop.lock().get("pdf").unwrap().digest.as_ref(),
        Some(&expected)
    );
}

/// The shapes that the specifications of the indexes describe. The address of the schema of version 0.2.0
/// is a name: no schema is published there.
fn site_has_the_shapes_of_the_specifications() {
    let world = tempfile::tempdir().unwrap();
    let (pdf, csv) = (skill(world.path(), "pdf"), skill(world.path(), "csv"));
    let site = world.path().join("site");
    let skills = [("pdf".to_owned(), pdf.clone()), ("csv".to_owned(), csv)];
    pack_site(&skills, &site, None).unwrap();
    let read = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(site.join(path)).unwrap()).unwrap()
    };
    let name = json!({ "type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64 });
    let description = json!({ "type": "string", "minLength": 1, "maxLength": 1024 });
    let shape = |properties: Value| {
        let keys: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        json!({ "type": "object", "required": keys, "properties": properties })
    };
    let entry = shape(json!({
        "name": name,
        "type": { "enum": ["skill-md", "archive"] },
        "description": description,
        "url": { "type": "string", "minLength": 1 },
        "digest": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" },
    }));
    let current = json!({
        "type": "object",
        "required": ["$schema", "skills"],
        "properties": {
            "$schema": { "const": "https://schemas.agentskills.io/discovery/0.2.0/schema.json" },
            "skills": { "type": "array", "minItems": 2, "items": entry },
        },
    });
    let files = json!({ "type": "array", "minItems": 1, "items": { "type": "string", "pattern": "^[^/.][^\\\\]*$" } });
    let entry = shape(json!({ "name": name, "description": description, "files": files }));
    // Version 0.1.0 has no `$schema`; OpenCode reads the same file.
    let first = json!({
        "type": "object",
        "required": ["skills"],
        "properties": { "$schema": false, "skills": { "type": "array", "minItems": 2, "items": entry } },
    });
    for (path, schema) in [
        (".well-known/agent-skills/index.json", current),
        (".well-known/skills/index.json", first),
    ] {
        let index = read(path);
        let schema = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = schema
            .iter_errors(&index)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{path}: {faults:?}\n{index}");
    }
    // What the indexes name is there, with the digests that they give.
    for entry in read(".well-known/agent-skills/index.json")["skills"]
        .as_array()
        .unwrap()
    {
        let url = entry["url"].as_str().unwrap();
        let place = match url.strip_prefix('/') {
            Some(rooted) => site.join(rooted),
            None => site.join(".well-known/agent-skills").join(url),
        };
        let digest = prowess_package::tree::digest_of_bytes(&fs::read(place).unwrap());
        assert_eq!(entry["digest"], digest, "{url}");
    }
    for entry in read(".well-known/skills/index.json")["skills"]
        .as_array()
        .unwrap()
    {
        let folder = site
            .join(".well-known/skills")
            .join(entry["name"].as_str().unwrap());
        for file in entry["files"].as_array().unwrap() {
            assert!(folder.join(file.as_str().unwrap()).is_file(), "{file}");
        }
    }
    // The same files give the same site, whenever they were written.
    let again = world.path().join("again");
    fs::set_permissions(pdf.join("SKILL.md"), PermissionsExt::from_mode(0o600)).unwrap();
    pack_site(&skills, &again, None).unwrap();
    let index = ".well-known/agent-skills/index.json";
    assert_eq!(
        fs::read(again.join(index)).unwrap(),
        fs::read(site.join(index)).unwrap()
    );
}

fn wrong_digest_installs_nothing() {
    let world = tempfile::tempdir().unwrap();
    let site = world.path().join("site");
    let skills = [("pdf".to_owned(), skill(world.path(), "pdf"))];
    pack_site(&skills, &site, None).unwrap();
    let archive = site.join(".well-known/agent-skills/pdf.tar.gz");
    let mut bytes = fs::read(&archive).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&archive, bytes).unwrap();
    let web = WebServer::start(&site);
    let shop = Shop::new();
    let error = add(&online(&shop), &web.url(""), &["pdf"]).unwrap_err();
    assert!(
        matches!(error, PackageError::Index(IndexError::Digest { .. })),
        "{error:?}"
    );
    assert!(!shop.project().join(".agents").exists());
    assert!(shop.store().digests().unwrap().is_empty());
}

fn stale_index_is_refused() {
    let world = tempfile::tempdir().unwrap();
    let site = world.path().join("site");
    let skills = [("pdf".to_owned(), skill(world.path(), "pdf"))];
    pack_site(&skills, &site, Some(5)).unwrap();
    let web = WebServer::start(&site);
    let shop = Shop::new();
    add(&online(&shop), &web.url(""), &["pdf"]).unwrap();
    pack_site(&skills, &site, Some(4)).unwrap();
    let error = add(&online(&shop), &web.url(""), &["pdf"]).unwrap_err();
    assert!(
        matches!(
            error,
            PackageError::Index(IndexError::Stale {
                found: 4,
                seen: 5,
                ..
            })
        ),
        "{error:?}"
    );
    pack_site(&skills, &site, Some(5)).unwrap();
    add(&online(&shop), &web.url(""), &["pdf"]).unwrap();
}

fn index_of_another_host_is_not_followed() {
    let world = tempfile::tempdir().unwrap();
    let site = world.path().join("site");
    let skills = [("pdf".to_owned(), skill(world.path(), "pdf"))];
    pack_site(&skills, &site, None).unwrap();
    let other = WebServer::start(&site);
    let index = site.join(".well-known/agent-skills/index.json");
    let text = fs::read_to_string(&index).unwrap();
    let elsewhere = other.url("/.well-known/agent-skills/pdf.tar.gz");
    fs::write(
        &index,
        text.replace("\"pdf.tar.gz\"", &format!("\"{elsewhere}\"")),
    )
    .unwrap();
    let web = WebServer::start(&site);
    let shop = Shop::new();
    let error = add(&online(&shop), &web.url(""), &["pdf"]).unwrap_err();
    assert!(
        matches!(error, PackageError::Index(IndexError::OtherOrigin { .. })),
        "{error:?}"
    );
    assert!(other.asked().is_empty());
}

fn page_in_place_of_an_index_is_named() {
    let world = tempfile::tempdir().unwrap();
    let folder = world.path().join(".well-known/agent-skills");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.json"), "<html>log in</html>").unwrap();
    let web = WebServer::start(world.path());
    let shop = Shop::new();
    let error = add(&online(&shop), &web.url(""), &["pdf"]).unwrap_err();
    assert!(
        matches!(error, PackageError::Index(IndexError::NotJson { .. })),
        "{error:?}"
    );
    let none = tempfile::tempdir().unwrap();
    let web = WebServer::start(none.path());
    let error = add(&online(&shop), &web.url(""), &["pdf"]).unwrap_err();
    assert!(
        matches!(error, PackageError::Index(IndexError::NotFound { .. })),
        "{error:?}"
    );
}

fn endless_answers_are_refused() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    let mut context = online(&shop);
    let registry = prowess_package::manifest::RegistrySettings {
        url: web.url("/endless"),
        token_env: None,
    };
    let access = &mut context.access;
    access.registries.insert("corp".to_owned(), registry);
    for source in [
        web.url("/endless/x.tar.gz"),
        web.url("/endless/index.json"),
        "corp:acme/x".to_owned(),
    ] {
        let error = plan_add(&context, &AddRequest::new(typed(&source), &["x"])).unwrap_err();
        let is_refused = matches!(error, PackageError::Index(IndexError::TooLarge { .. }));
        assert!(is_refused, "{source}: {error:?}");
    }
    assert!(!context.scope.lock.exists());
}
