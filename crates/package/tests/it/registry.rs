//! Packages of registries, from a server on this machine.

use std::fs;
use std::sync::Arc;

use prowess_http::WebFetcher;
use prowess_package::index::IndexError;
use prowess_package::manifest::RegistrySettings;
use prowess_package::operations::{
    AddRequest, OperationError, PackFormat, PackageContext, SyncOptions, UpdateOptions, apply,
    outdated, pack, plan_add, plan_sync, plan_update,
};
use prowess_package::resolve::{AcceptedChanges, ResolveError};
use prowess_package::tree::digest_of_bytes;
use prowess_package::{LockedSource, PackageError, PackageExit};
use prowess_test::WebServer;
use serde_json::{Value, json};

use crate::shop::{Shop, typed};

prowess_test::tests! {
    version_of_a_registry_is_chosen_locked_and_updated
    token_goes_to_its_registry_only
    stale_and_replaced_versions_are_refused
    locked_archive_that_is_gone_is_an_error
    registries_of_a_project_do_not_count
    young_version_of_a_registry_waits
}

/// A registry on this machine, in the folder `registry` of a shop.
struct Registry<'s> {
    shop: &'s Shop,
    web: WebServer,
    base: &'static str,
}

impl<'s> Registry<'s> {
    fn start(shop: &'s Shop, base: &'static str) -> Self {
        let web = WebServer::start(&shop.root.join("registry"));
        Self { shop, web, base }
    }

    /// Writes an archive, and returns its entry.
    fn version(&self, version: &str, body: &str) -> Value {
        let folder = self.shop.root.join("skill/forms");
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "---\nname: forms\ndescription: Fills forms. Use when asked.\nversion: {version}\n---\n{body}\n"
        );
        fs::write(folder.join("SKILL.md"), text).unwrap();
        let archive = pack(&folder, PackFormat::TarGz).unwrap();
        let digest = digest_of_bytes(&archive);
        let name = format!("forms-{}.tar.gz", &digest[7..15]);
        let files = self.shop.root.join(format!("registry{}/files", self.base));
        fs::create_dir_all(&files).unwrap();
        fs::write(files.join(&name), archive).unwrap();
        json!({ "version": version, "url": format!("../../files/{name}"), "digest": digest })
    }

    fn publish(&self, sequence: Option<u64>, versions: &[Value]) {
        let folder = format!("registry{}/packages/acme", self.base);
        let folder = self.shop.root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let mut document =
            json!({ "schema": "prowess.registry/1", "name": "acme/forms", "versions": versions });
        if let Some(sequence) = sequence {
            document["sequence"] = sequence.into();
        }
        fs::write(folder.join("forms.json"), document.to_string()).unwrap();
    }

    fn context(&self, token: Option<&str>) -> PackageContext {
        let mut context = PackageContext {
            fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
            ..self.shop.context()
        };
        let settings = RegistrySettings {
            url: self.web.url(self.base),
            token_env: token.map(|_| "CORP_TOKEN".to_owned()),
        };
        let token = token.filter(|token| !token.is_empty());
        let variable = token.map(|token| ("CORP_TOKEN".into(), token.into()));
        context.environment.extend(variable);
        context
            .access
            .registries
            .insert("corp".to_owned(), settings);
        context
    }

    fn add(&self, source: &str) -> Result<(), PackageError> {
        add(&self.context(None), source)
    }

    fn update(&self, accepted: AcceptedChanges) -> Result<(), PackageError> {
        let context = self.context(None);
        let options = UpdateOptions {
            accepted,
            ..UpdateOptions::default()
        };
        let plan = plan_update(&context, &options)?;
        apply(&context, &plan).map(drop)
    }

    fn locked(&self) -> String {
        let lock = self.shop.lock();
        lock.packages[0].version.clone().unwrap()
    }
}

fn add(context: &PackageContext, source: &str) -> Result<(), PackageError> {
    let plan = plan_add(context, &AddRequest::new(typed(source), &[]))?;
    apply(context, &plan).map(drop)
}

fn version_of_a_registry_is_chosen_locked_and_updated() {
    let shop = Shop::new();
    let registry = Registry::start(&shop, "");
    let first = registry.version("3.1.2", "one");
    registry.publish(Some(1), &[registry.version("2.0.0", "old"), first.clone()]);
    registry.add("corp:acme/forms@~3.1").unwrap();
    let package = shop.lock().packages[0].clone();
    assert_eq!(package.name, "forms");
    assert_eq!(package.version.as_deref(), Some("3.1.2"));
    assert_eq!(package.wanted.as_deref(), Some("~3.1"));
    assert_eq!(package.source, LockedSource::Registry("corp".to_owned()));
    assert_eq!(package.path.as_deref(), Some("acme/forms"));
    assert_eq!(package.archive.as_deref(), first["digest"].as_str());
    let manifest = shop.read(".agents/prowess.toml").unwrap();
    let entry = "forms = { registry = \"corp\", name = \"acme/forms\", version = \"~3.1\" }";
    assert_eq!(manifest, format!("[packages]\n{entry}\n"));
    assert!(shop.skill("forms/SKILL.md").exists());
    assert!(outdated(&registry.context(None)).unwrap().is_empty());
    // The range decides, not the newest.
    let second = registry.version("3.1.10", "two");
    let versions = [registry.version("4.0.0", "four"), second, first];
    registry.publish(Some(2), &versions);
    let found = outdated(&registry.context(None)).unwrap();
    assert_eq!(found[0].newest.as_ref().unwrap(), "3.1.10");
    registry.update(AcceptedChanges::default()).unwrap();
    assert_eq!(registry.locked(), "3.1.10");
    // Without the store, the same archive is fetched again.
    let store = shop.root.join("data");
    make_writable(&store);
    fs::remove_dir_all(store).unwrap();
    fs::remove_file(shop.skill("forms")).unwrap();
    let context = registry.context(None);
    let plan = plan_sync(&context, SyncOptions::default()).unwrap();
    apply(&context, &plan).unwrap();
    let text = fs::read_to_string(shop.skill("forms/SKILL.md")).unwrap();
    assert!(text.contains("two"), "{text}");
}

fn make_writable(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            make_writable(&entry.path());
        }
    }
}

fn token_goes_to_its_registry_only() {
    let shop = Shop::new();
    let registry = Registry::start(&shop, "/token");
    let other = WebServer::start(&shop.root);
    let entry = registry.version("1.0.0", "one");
    registry.publish(None, std::slice::from_ref(&entry));
    // Without the variable, nothing is asked.
    let error = add(&registry.context(Some("")), "corp:acme/forms").unwrap_err();
    assert_eq!(error.exit(), PackageExit::Credentials, "{error:?}");
    assert!(registry.web.asked().is_empty());
    // With a wrong one, the server says no, and the token is in no message.
    let error = add(&registry.context(Some("wr0ng-token")), "corp:acme/forms").unwrap_err();
    assert_eq!(error.exit(), PackageExit::Credentials, "{error:?}");
    let shown = format!("{error} {error:?} {:?}", error.hint());
    assert!(!shown.contains("wr0ng-token"), "{shown}");
    // An archive on another host is refused, and a redirect to it is not followed.
    for url in [
        other.url("/forms.tar.gz"),
        format!("/to/{}/forms.tar.gz", other.port),
        "https://me:pw@127.0.0.1/forms.tar.gz".to_owned(),
    ] {
        let mut elsewhere = entry.clone();
        elsewhere["url"] = url.clone().into();
        registry.publish(None, &[elsewhere]);
        let error = add(&registry.context(Some("s3cret-token")), "corp:acme/forms").unwrap_err();
        let is_refused = matches!(
            error,
            PackageError::Index(
                IndexError::OtherOrigin { .. }
                    | IndexError::Moved { .. }
                    | IndexError::Invalid { .. }
            )
        );
        assert!(is_refused, "{url}: {error:?}");
        assert!(other.asked().is_empty(), "{url}");
    }
    registry.publish(None, &[entry]);
    add(&registry.context(Some("s3cret-token")), "corp:acme/forms").unwrap();
    for path in [".agents/prowess.toml", ".agents/prowess.lock"] {
        assert!(!shop.read(path).unwrap().contains("s3cret"));
    }
}

fn stale_and_replaced_versions_are_refused() {
    let shop = Shop::new();
    let registry = Registry::start(&shop, "");
    let first = registry.version("1.0.0", "one");
    registry.publish(Some(7), std::slice::from_ref(&first));
    registry.add("corp:acme/forms").unwrap();
    // An older document, or one that lost its number.
    for sequence in [Some(6), None] {
        registry.publish(sequence, &[registry.version("1.1.0", "two")]);
        let error = registry.update(AcceptedChanges::default()).unwrap_err();
        let is_stale = matches!(error, PackageError::Index(IndexError::Stale { .. }));
        assert!(is_stale, "{error:?}");
        assert_eq!(error.exit(), PackageExit::Refused);
    }
    // The same version with other bytes.
    registry.publish(Some(8), &[registry.version("1.0.0", "other")]);
    let error = registry.update(AcceptedChanges::default()).unwrap_err();
    let is_moved = matches!(
        error,
        PackageError::Resolve(ResolveError::MovedVersion { .. })
    );
    assert!(is_moved, "{error:?}");
    // A lower version.
    registry.publish(Some(9), &[registry.version("0.9.0", "old")]);
    let error = registry.update(AcceptedChanges::default()).unwrap_err();
    let is_lower = matches!(error, PackageError::Resolve(ResolveError::Downgrade { .. }));
    assert!(is_lower, "{error:?}");
    assert_eq!(registry.locked(), "1.0.0");
    // An archive that is not what the document says.
    let mut wrong = registry.version("1.2.0", "x");
    wrong["url"] = first["url"].clone();
    registry.publish(Some(10), &[wrong]);
    let error = registry.update(AcceptedChanges::default()).unwrap_err();
    let is_wrong = matches!(error, PackageError::Index(IndexError::Digest { .. }));
    assert!(is_wrong, "{error:?}");
    assert_eq!(registry.locked(), "1.0.0");
}

fn locked_archive_that_is_gone_is_an_error() {
    let shop = Shop::new();
    let registry = Registry::start(&shop, "");
    registry.publish(None, &[registry.version("1.0.0", "one")]);
    registry.add("corp:acme/forms").unwrap();
    let store = shop.root.join("data");
    make_writable(&store);
    fs::remove_dir_all(store).unwrap();
    registry.publish(None, &[registry.version("1.1.0", "two")]);
    let error = plan_sync(&registry.context(None), SyncOptions::default()).unwrap_err();
    let is_gone = matches!(
        error,
        PackageError::Operation(OperationError::ArchiveGone { .. })
    );
    assert!(is_gone, "{error:?}");
}

fn registries_of_a_project_do_not_count() {
    let shop = Shop::new();
    let web = WebServer::start(&shop.root);
    shop.manifest(&format!(
        "[packages]\nforms = \"evil:acme/forms\"\n[registries.evil]\nurl = \"{}\"\n",
        web.url("")
    ));
    let context = PackageContext {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        ..shop.context()
    };
    let error = plan_sync(&context, SyncOptions::default()).unwrap_err();
    let is_unknown = matches!(
        error,
        PackageError::Operation(OperationError::NoRegistry { .. })
    );
    assert!(is_unknown, "{error:?}");
    assert!(web.asked().is_empty());
}

fn young_version_of_a_registry_waits() {
    let shop = Shop::new();
    let registry = Registry::start(&shop, "");
    let mut old = registry.version("1.0.0", "one");
    old["published"] = "2020-01-01T00:00:00Z".into();
    let mut new = registry.version("1.1.0", "two");
    // The clock of the test is at 2027-01-15.
    new["published"] = "2027-01-14T00:00:00Z".into();
    registry.publish(None, &[old, new]);
    shop.manifest("[install]\nminimum-age = \"7d\"\n");
    registry.add("corp:acme/forms").unwrap();
    assert_eq!(registry.locked(), "1.0.0");
}
