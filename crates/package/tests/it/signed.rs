//! Signatures of pinned signers, with real keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use prowess_http::WebFetcher;
use prowess_package::manifest::{InstallSettings, SignerSettings};
use prowess_package::operations::{
    AddRequest, PackFormat, PackageContext, SyncOptions, VerifyFinding, apply, pack, pack_site,
    plan_add, plan_sync, verify,
};
use prowess_package::signature::{SignatureError, SignerKey};
use prowess_package::{PackageError, PackageExit};
use prowess_test::WebServer;
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::shop::{Shop, typed};
use crate::support::{Repository, git_in};

prowess_test::tests! {
    signed_tag_is_named_in_the_lock
    tag_without_the_right_signature_is_refused
    signature_of_another_tag_or_commit_is_refused
    programs_of_the_configuration_check_no_signature
    required_signature_needs_a_pinned_key
    lock_that_names_a_signer_is_not_evidence
    archive_needs_the_signature_of_its_signer
    list_of_signed_files_is_compared
}

/// A key for signing tags.
struct TagKey {
    file: PathBuf,
}

impl TagKey {
    fn create(shop: &Shop, name: &str) -> Self {
        let file = shop.root.join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "x", "-f"])
            .arg(&file)
            .status();
        assert!(made.unwrap().success());
        Self { file }
    }

    fn public(&self) -> SignerKey {
        let text = fs::read_to_string(self.file.with_extension("pub")).unwrap();
        SignerKey::parse(text.trim()).unwrap()
    }

    fn tag(&self, repository: &Repository, name: &str) {
        let key = format!("user.signingkey={}", self.file.display());
        let args = [
            "-c",
            "gpg.format=ssh",
            "-c",
            &key,
            "tag",
            "-f",
            "-s",
            "-m",
            "x",
            name,
        ];
        git_in(&repository.folder, &args);
    }
}

fn pinned(shop: &Shop, key: SignerKey, sources: &str) -> PackageContext {
    let mut context = PackageContext {
        fetcher: Some(Arc::new(WebFetcher::new("prowess-test").unwrap())),
        ..shop.context()
    };
    let settings = SignerSettings {
        key,
        sources: vec![sources.to_owned()],
    };
    context.access.signers.insert("acme".to_owned(), settings);
    context
}

fn add(context: &PackageContext, source: &str) -> Result<(), PackageError> {
    let plan = plan_add(context, &AddRequest::new(typed(source), &["pdf"]))?;
    apply(context, &plan).map(drop)
}

#[track_caller]
fn refused(context: &PackageContext, source: &str, check: fn(&SignatureError) -> bool) {
    let error = add(context, source).unwrap_err();
    assert_eq!(error.exit(), PackageExit::Refused, "{source}: {error:?}");
    match &error {
        PackageError::Signature(fault) if check(fault) => {}
        other => panic!("{source}: {other:?}"),
    }
    assert!(error.hint().is_some());
    assert!(!context.scope.lock.exists());
}

fn repository(shop: &Shop) -> Repository {
    let repository = Repository::create(shop.project().join("source"));
    repository.skill("pdf", "pdf", "1.0.0", "One.");
    repository.commit("one");
    repository
}

fn pattern(repository: &Repository) -> String {
    repository.url()
}

fn signed_tag_is_named_in_the_lock() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let key = TagKey::create(&shop, "acme");
    key.tag(&repository, "v1.0.0");
    let context = pinned(&shop, key.public(), &pattern(&repository));
    add(&context, &format!("git+{}@^1", repository.url())).unwrap();
    let package = &shop.lock().packages[0];
    assert_eq!(package.signer.as_deref(), Some("acme"));
    assert_eq!(package.git_ref.as_deref(), Some("refs/tags/v1.0.0"));
    // Another source of the same person is not affected.
    let free = Shop::new();
    let other = Repository::create(free.project().join("source"));
    other.skill("pdf", "pdf", "1.0.0", "One.");
    other.commit("one");
    let context = pinned(&free, key.public(), &pattern(&repository));
    add(&context, &format!("git+{}", other.url())).unwrap();
    assert_eq!(free.lock().packages[0].signer, None);
}

fn tag_without_the_right_signature_is_refused() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let (key, evil) = (TagKey::create(&shop, "acme"), TagKey::create(&shop, "evil"));
    repository.tag("v1.0.0");
    repository.git(&["tag", "-a", "-m", "annotated", "v1.1.0"]);
    evil.tag(&repository, "v1.2.0");
    let context = pinned(&shop, key.public(), &pattern(&repository));
    let source = |wanted: &str| format!("git+{}{wanted}", repository.url());
    let is_missing = |fault: &SignatureError| matches!(fault, SignatureError::Missing { .. });
    refused(&context, &source("@v1.0.0"), is_missing);
    refused(&context, &source("@v1.1.0"), is_missing);
    refused(&context, &source("@^1"), |fault| {
        matches!(fault, SignatureError::Wrong { .. })
    });
    // Branches and commits have no tag.
    let head = repository.git(&["rev-parse", "HEAD"]);
    for wanted in ["", "@main", &format!("@{head}")] {
        refused(&context, &source(wanted), |fault| {
            matches!(fault, SignatureError::NotATag { .. })
        });
    }
    // A key of another kind signs no tags.
    let minisign = Signer::new(1).public();
    let context = pinned(&shop, minisign, &pattern(&repository));
    refused(&context, &source("@v1.2.0"), |fault| {
        matches!(fault, SignatureError::KeyKind { .. })
    });
}

fn signature_of_another_tag_or_commit_is_refused() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let key = TagKey::create(&shop, "acme");
    key.tag(&repository, "v1.0.0");
    let signed = repository.git(&["rev-parse", "refs/tags/v1.0.0"]);
    // The signed object under another name: an old version served as a new one.
    repository.git(&["update-ref", "refs/tags/v2.0.0", &signed]);
    let context = pinned(&shop, key.public(), &pattern(&repository));
    let source = |wanted: &str| format!("git+{}{wanted}", repository.url());
    refused(&context, &source("@^2"), |fault| {
        matches!(fault, SignatureError::OtherTag { .. })
    });
    // The signature of one tag under the text of another, which names other files.
    repository.skill("pdf", "pdf", "1.3.0", "Other files.");
    let other = repository.commit("two");
    let text = repository.git(&["cat-file", "tag", &signed]);
    let old = text.lines().next().unwrap().to_owned();
    let forged = text.replace(&old, &format!("object {other}"));
    let forged = forged.replace("tag v1.0.0", "tag v1.3.0");
    let file = shop.root.join("forged");
    fs::write(&file, format!("{forged}\n")).unwrap();
    let file = file.to_str().unwrap();
    let id = repository.git(&["hash-object", "-t", "tag", "-w", file]);
    repository.git(&["update-ref", "refs/tags/v1.3.0", &id]);
    refused(&context, &source("@v1.3.0"), |fault| {
        matches!(fault, SignatureError::Wrong { .. })
    });
    add(&context, &source("@v1.0.0")).unwrap();
}

fn programs_of_the_configuration_check_no_signature() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let (key, evil) = (TagKey::create(&shop, "acme"), TagKey::create(&shop, "evil"));
    // Programs that would accept everything, in the person's configuration and in the repository's.
    let mark = shop.root.join("mark");
    let program = shop.root.join("accept");
    let script = format!(
        "#!/bin/sh\ntouch {}\necho '[GNUPG:] GOODSIG 0 x' >&2\necho 'Good \"git\" signature for acme with x'\nexit 0\n",
        mark.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let accepted = shop.root.join("allowed");
    let SignerKey::Ssh(evil_key) = evil.public() else {
        panic!("not an ssh key");
    };
    fs::write(&accepted, format!("acme {evil_key}\n")).unwrap();
    let (program, accepted) = (program.display(), accepted.display());
    let config = format!(
        "[gpg]\nprogram = {program}\n[gpg \"ssh\"]\nprogram = {program}\nallowedSignersFile = {accepted}\n[gpg \"openpgp\"]\nprogram = {program}\n[gpg \"x509\"]\nprogram = {program}\n"
    );
    fs::create_dir_all(shop.root.join("home")).unwrap();
    fs::write(shop.root.join("home/.gitconfig"), &config).unwrap();
    let own = repository.folder.join(".git/config");
    let before = fs::read_to_string(&own).unwrap();
    evil.tag(&repository, "v1.0.0");
    fs::write(&own, format!("{before}{config}")).unwrap();
    let context = pinned(&shop, key.public(), &pattern(&repository));
    let source = |wanted: &str| format!("git+{}{wanted}", repository.url());
    refused(&context, &source("@v1.0.0"), |fault| {
        matches!(fault, SignatureError::Wrong { .. })
    });
    // A signature of another kind, alone and after an ssh signature.
    let head = repository.git(&["rev-parse", "HEAD"]);
    let pgp = "-----BEGIN PGP SIGNATURE-----\n\nabcd\n-----END PGP SIGNATURE-----\n";
    let x509 = "-----BEGIN SIGNED MESSAGE-----\nabcd\n-----END SIGNED MESSAGE-----\n";
    let ssh = "-----BEGIN SSH SIGNATURE-----\nabcd\n-----END SSH SIGNATURE-----\n";
    for (number, signature) in [
        pgp.to_owned(),
        format!("{ssh}{pgp}"),
        format!("{ssh}{x509}"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("v1.{}.0", number + 1);
        let text = format!(
            "object {head}\ntype commit\ntag {name}\ntagger A <a@example.org> 1700000000 +0000\n\nx\n{signature}"
        );
        let file = shop.root.join("tag");
        fs::write(&file, text).unwrap();
        let id = repository.git(&["hash-object", "-t", "tag", "-w", file.to_str().unwrap()]);
        repository.git(&["update-ref", &format!("refs/tags/{name}"), &id]);
        refused(&context, &source(&format!("@{name}")), |fault| {
            matches!(
                fault,
                SignatureError::Wrong { .. } | SignatureError::Missing { .. }
            )
        });
    }
    assert!(!mark.exists());
}

fn required_signature_needs_a_pinned_key() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let key = TagKey::create(&shop, "acme");
    key.tag(&repository, "v1.0.0");
    let source = format!("git+{}@v1.0.0", repository.url());
    // A project may demand it.
    shop.manifest("[install]\nrequire-signed-tag = true\n");
    refused(&shop.context(), &source, |fault| {
        matches!(fault, SignatureError::NoSigner { .. })
    });
    let context = pinned(&shop, key.public(), &pattern(&repository));
    add(&context, &source).unwrap();
    assert_eq!(shop.lock().packages[0].signer.as_deref(), Some("acme"));
    // So may the person.
    let own = Shop::new();
    let context = PackageContext {
        settings: InstallSettings {
            require_signed_tag: Some(true),
            ..InstallSettings::default()
        },
        ..own.context()
    };
    let mirror = Repository::create(own.project().join("source"));
    mirror.skill("pdf", "pdf", "1.0.0", "x");
    mirror.commit("one");
    refused(&context, &format!("git+{}", mirror.url()), |fault| {
        matches!(fault, SignatureError::NoSigner { .. })
    });
}

fn lock_that_names_a_signer_is_not_evidence() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let (key, evil) = (TagKey::create(&shop, "acme"), TagKey::create(&shop, "evil"));
    evil.tag(&repository, "v1.0.0");
    // Another person writes the lock, and these bytes are in the store already.
    let plain = shop.context();
    add(&plain, &format!("git+{}@v1.0.0", repository.url())).unwrap();
    let path = shop.project().join(".agents/prowess.lock");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("files = [", "signer = \"acme\"\nfiles = [");
    fs::write(&path, text).unwrap();
    let context = pinned(&shop, key.public(), &pattern(&repository));
    let is_unsigned = |context: &PackageContext| {
        let report = verify(context, &[]).unwrap();
        let mut findings = report.findings.iter();
        findings.any(|one| matches!(one, VerifyFinding::Unsigned { .. }))
    };
    assert!(is_unsigned(&context) && !is_unsigned(&plain));
    let error = plan_sync(&context, SyncOptions::default()).unwrap_err();
    let is_wrong = matches!(error, PackageError::Signature(SignatureError::Wrong { .. }));
    assert!(is_wrong, "{error:?}");
    // With the right signature it is checked once, and then known.
    key.tag(&repository, "v1.0.0");
    let plan = plan_sync(&context, SyncOptions::default()).unwrap();
    apply(&context, &plan).unwrap();
    assert!(!is_unsigned(&context));
    fs::rename(&repository.folder, shop.root.join("gone")).unwrap();
    let plan = plan_sync(&context, SyncOptions::default()).unwrap();
    assert!(plan.is_empty());
}

/// A `minisign` key. The signatures have the form that signs the content itself.
struct Signer {
    pair: Ed25519KeyPair,
    id: [u8; 8],
}

impl Signer {
    fn new(seed: u8) -> Self {
        Self {
            pair: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(),
            id: [seed; 8],
        }
    }

    fn public(&self) -> SignerKey {
        let bytes = [b"Ed", &self.id[..], self.pair.public_key().as_ref()].concat();
        SignerKey::parse(&base64(&bytes)).unwrap()
    }

    fn sign(&self, content: &[u8]) -> String {
        let signature = self.pair.sign(content);
        let comment = "timestamp:1700000000";
        let global = [signature.as_ref(), comment.as_bytes()].concat();
        let global = self.pair.sign(&global);
        format!(
            "untrusted comment: x\n{}\ntrusted comment: {comment}\n{}\n",
            base64(&[b"Ed", &self.id[..], signature.as_ref()].concat()),
            base64(global.as_ref())
        )
    }

    fn sign_file(&self, path: &Path) {
        let signature = self.sign(&fs::read(path).unwrap());
        fs::write(format!("{}.minisig", path.display()), signature).unwrap();
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn archive_needs_the_signature_of_its_signer() {
    let shop = Shop::new();
    let folder = shop.root.join("skill/pdf");
    fs::create_dir_all(&folder).unwrap();
    let text = "---\nname: pdf\ndescription: PDF. Use when asked.\n---\nx\n";
    fs::write(folder.join("SKILL.md"), text).unwrap();
    let site = shop.root.join("site");
    pack_site(&[("pdf".to_owned(), folder.clone())], &site, None).unwrap();
    let archive = pack(&folder, PackFormat::TarGz).unwrap();
    let local = shop.project().join("pdf.tar.gz");
    fs::write(site.join("pdf.tar.gz"), &archive).unwrap();
    fs::write(&local, &archive).unwrap();
    let web = WebServer::start(&site);
    let (acme, evil) = (Signer::new(1), Signer::new(2));
    let served = site.join("pdf.tar.gz");
    let indexed = site.join(".well-known/agent-skills/pdf.tar.gz");
    for (source, pattern, file) in [
        (web.url("/pdf.tar.gz"), web.url("/*"), &served),
        ("./pdf.tar.gz".to_owned(), "./*".to_owned(), &local),
        ("pdf.tar.gz".to_owned(), "./*".to_owned(), &local),
        (web.url(""), web.url(""), &indexed),
    ] {
        let _ = fs::remove_file(shop.project().join(".agents/prowess.lock"));
        let _ = fs::remove_file(shop.project().join(".agents/prowess.toml"));
        let _ = fs::remove_file(shop.skill("pdf"));
        let context = pinned(&shop, acme.public(), &pattern);
        let _ = fs::remove_file(format!("{}.minisig", file.display()));
        let check = |expected: fn(&SignatureError) -> bool| {
            let error = add(&context, &source).unwrap_err();
            assert_eq!(error.exit(), PackageExit::Refused, "{source}: {error:?}");
            let fault = match &error {
                PackageError::Signature(fault)
                | PackageError::Index(prowess_package::index::IndexError::Signature(fault)) => {
                    fault
                }
                other => panic!("{source}: {other:?}"),
            };
            assert!(expected(fault), "{source}: {fault:?}");
            assert!(!context.scope.lock.exists());
        };
        let is_wrong = |fault: &SignatureError| matches!(fault, SignatureError::Wrong { .. });
        check(|fault| matches!(fault, SignatureError::Missing { .. }));
        evil.sign_file(file);
        check(is_wrong);
        // A right signature over other files.
        let other = acme.sign(b"other files");
        fs::write(format!("{}.minisig", file.display()), other).unwrap();
        check(is_wrong);
        fs::write(format!("{}.minisig", file.display()), "nonsense").unwrap();
        check(is_wrong);
        acme.sign_file(file);
        add(&context, &source).unwrap();
        assert_eq!(shop.lock().packages[0].signer.as_deref(), Some("acme"));
    }
}

fn list_of_signed_files_is_compared() {
    let shop = Shop::new();
    let repository = repository(&shop);
    let digest = |path: &str| {
        let bytes = fs::read(repository.folder.join(path)).unwrap();
        prowess_package::tree::digest_of_bytes(&bytes)[7..].to_owned()
    };
    let statement = serde_json::json!({ "predicate": {
        "serialization": { "method": "files", "hash_type": "sha256" },
        "resources": [{ "name": "SKILL.md", "algorithm": "sha256", "digest": digest("pdf/SKILL.md") }],
    } });
    let payload = base64(statement.to_string().as_bytes());
    let bundle = serde_json::json!({ "dsseEnvelope": { "payload": payload } });
    repository.file("pdf/skill.oms.sig", &bundle.to_string());
    repository.commit("signed");
    let source = format!("git+{}", repository.url());
    add(&shop.context(), &source).unwrap();
    // A file that was added after the list was signed.
    repository.file("pdf/more.sh", "echo\n");
    repository.commit("more");
    let other = Shop::with_repository_of(&shop);
    let source = format!("git+{}", other.1.url());
    refused(&other.0.context(), &source, |fault| {
        matches!(fault, SignatureError::OtherFiles { .. })
    });
}
