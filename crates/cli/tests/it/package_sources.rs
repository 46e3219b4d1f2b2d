//! Sources of packages through the binary: MCP servers, registries, signed tags, and sources that are
//! refused. Servers, keys and git are real.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prowess_package::LockFile;
use prowess_package::served::served_files;
use prowess_test::{WebServer, wait_for_exit};
use serde_json::{Value, json};

use crate::mission_surfaces::FORBID;
use crate::world::{Output, World};

/// Returns a world with a second project, whose skill `refunds` is served.
fn shop() -> World {
    let world = World::new();
    world.file(
        "~/shop/.agents/skills/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Gives money back. Use when asked.\nversion: 1.2.0\n---\nPay them.\n",
    );
    world.file("~/shop/.agents/skills/refunds/a b/größe.md", "Large.\n");
    world.file_with_mode(
        "~/shop/.agents/skills/refunds/scripts/pay.sh",
        "#!/bin/sh\necho paid\n",
        0o755,
    );
    world
}

fn stdio_server(world: &World) -> String {
    format!(
        "[mcp.servers.shop]\ncommand = {:?}\nargs = ['mcp']\ncwd = '{}'\nenv = {{ PROWESS_HOME = '{}' }}\n",
        env!("CARGO_BIN_EXE_prowess"),
        world.path("~/shop").display(),
        world.path("~/other").display(),
    )
}

fn lock(world: &World) -> LockFile {
    let text = fs::read_to_string(world.path(".agents/prowess.lock")).unwrap();
    LockFile::parse(&text).unwrap()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "gpg.format=ssh"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Creates a repository with the skill `pdf`, and returns its folder.
fn repository(world: &World, place: &str) -> PathBuf {
    world.file(
        format!("{place}/pdf/SKILL.md"),
        "---\nname: pdf\ndescription: Fills forms. Use when asked.\n---\nFill.\n",
    );
    let folder = world.path(place);
    git(&folder, &["init", "-q", "."]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "one"]);
    folder
}

/// Returns the skill `refunds` as the server lists it.
fn listed_by_server(world: &World) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_prowess"))
        .arg("mcp")
        .current_dir(world.path("~/shop"))
        .env("HOME", world.path("~"))
        .env("PROWESS_HOME", world.path("~/other"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let client = json!({ "name": "test", "version": "1" });
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/skills": {} } });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "skills/list", "params": {} }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|answer| answer["id"] == 2)
        .unwrap();
    drop(input);
    wait_for_exit(&mut child);
    let skills = answer["result"]["skills"].as_array().unwrap();
    let is_refunds = |skill: &&Value| skill["frontmatter"]["name"] == "refunds";
    skills.iter().find(is_refunds).unwrap().clone()
}

/// packages.md lines 12 and 23.
#[test]
fn skill_of_an_mcp_server_is_locked_with_its_digests() {
    let world = shop();
    world.file("~/config.toml", stdio_server(&world));
    let listing = world.run(&["add", "mcp:shop", "--list"]).expect(0);
    assert!(
        listing.stdout.contains("refunds  skill://refunds"),
        "{}",
        listing.stdout
    );
    world.run(&["add", "mcp:shop"]).expect(2);
    world
        .run(&["add", "mcp:shop/skill://refunds/SKILL.md"])
        .expect(0);
    let package = lock(&world).packages[0].clone();
    assert_eq!(package.source.to_string(), "mcp+shop");
    assert_eq!(package.path.as_deref(), Some("skill://refunds"));
    assert_eq!(package.version.as_deref(), Some("1.2.0"));

    // The manifest for MCP comes from the lock alone, and is the server's own.
    let listed = listed_by_server(&world);
    let root = listed["uri"].as_str().unwrap();
    let root = root.strip_suffix("/SKILL.md").unwrap();
    let made: Vec<Value> = served_files(&package, root)
        .unwrap()
        .iter()
        .map(|file| json!({ "uri": file.uri, "digest": file.digest, "size": file.size }))
        .collect();
    assert_eq!(listed["resources"], Value::Array(made));

    // Nothing changed: no update.
    world.run(&["outdated"]).expect(0);
    world.run(&["update"]).expect(0);
    world.run(&["sync", "--frozen"]).expect(0);
    world.run(&["verify"]).expect(0);

    // One byte of one file changes on the server: the locked skill cannot be fetched again.
    world.file("~/shop/.agents/skills/refunds/a b/größe.md", "LargE.\n");
    let outdated = world.run(&["outdated"]).expect(1);
    assert!(outdated.stdout.contains("refunds"), "{}", outdated.stdout);
    let before = fs::read_to_string(world.path(".agents/prowess.lock")).unwrap();
    remove_store(&world);
    let refused = world.run(&["sync"]).expect(2);
    assert!(
        refused.stderr.contains("`a b/größe.md` of `refunds`"),
        "{}",
        refused.stderr
    );
    let after = fs::read_to_string(world.path(".agents/prowess.lock")).unwrap();
    assert_eq!(after, before);
    // Offline, nothing is started.
    let offline = world.run(&["sync", "--offline"]).expect(2);
    assert!(offline.stderr.contains("--offline"), "{}", offline.stderr);
}

fn remove_store(world: &World) {
    let store = world.path("~/data/store");
    let made = Command::new("chmod")
        .arg("-R")
        .arg("u+w")
        .arg(&store)
        .status();
    assert!(made.unwrap().success());
    fs::remove_dir_all(store).unwrap();
    let _ = fs::remove_dir_all(world.path(".agents/skills"));
}

/// packages.md lines 12 and 52.
#[test]
fn mcp_server_over_http_needs_its_token() {
    let world = shop();
    world.folder("~/server");
    let server = world
        .command(&["mcp", "--http", "127.0.0.1:0"])
        .env("PROWESS_HOME", world.path("~/server"))
        .dir("~/shop")
        .start();
    let line = server.line(|line| line.contains("Listening on "));
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let url = url.unwrap().to_owned();
    let token = fs::read_to_string(world.path("~/server/state/mcp-token")).unwrap();
    let token = token.lines().next().unwrap().to_owned();
    let settings = format!(
        "[mcp.servers.web]\nurl = '{url}'\nheaders = {{ Authorization = 'Bearer ${{SHOP_TOKEN}}' }}\n"
    );
    world.file("~/config.toml", settings);
    let add = |token: &str| {
        world
            .command(&["add", "mcp:web", "refunds"])
            .env("SHOP_TOKEN", token)
            .run()
    };
    let wrong = add("wrong-token-of-another-user").expect(2);
    assert!(!wrong.stderr.contains("wrong-token"), "{}", wrong.stderr);
    // The variable is not set: said, and nothing is asked.
    let unset = world.run(&["add", "mcp:web", "refunds"]).expect(2);
    assert!(
        unset.stderr.contains("`SHOP_TOKEN` is not set"),
        "{}",
        unset.stderr
    );
    add(&token).expect(0);
    assert_eq!(lock(&world).packages[0].source.to_string(), "mcp+web");
    assert_no_text(
        &world,
        &[
            &world.path(""),
            &world.path("~/state"),
            &world.path("~/data"),
        ],
        &token,
    );
}

/// Asserts that no file below some folders contains a text.
fn assert_no_text(world: &World, folders: &[&Path], text: &str) {
    for folder in folders {
        let found = Command::new("grep")
            .args(["-rlF", "--", text])
            .arg(folder)
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(found.is_empty(), "{found} in {}", world.text(""));
    }
}

/// The manifest of a project starts no program that the project brings along.
#[test]
fn project_cannot_start_a_server_for_packages() {
    let world = World::new();
    let mark = world.path("mark");
    let program = world.file_with_mode(
        "server.sh",
        format!("#!/bin/sh\ntouch '{}'\n", mark.display()),
        0o755,
    );
    let servers = json!({ "mcpServers": { "evil": { "command": program } } });
    world.file(".mcp.json", servers.to_string());
    world.file(
        ".agents/prowess.toml",
        "[packages]\nx = { mcp = \"evil\", uri = \"skill://x\" }\n[mcp.servers.evil]\ncommand = './server.sh'\n",
    );
    // Even if the file is trusted for sessions.
    let trusted = world.run(&["mcp", "trust"]);
    let digest = format!("{}{}", trusted.stdout, trusted.stderr);
    let digest = digest.split_whitespace().find_map(|word| {
        let at = word.find("sha256:")?;
        let digits: String = word[at + 7..]
            .chars()
            .take_while(char::is_ascii_hexdigit)
            .collect();
        Some(format!("sha256:{digits}"))
    });
    let digest = digest.unwrap();
    world.run(&["mcp", "trust", "--digest", &digest]).expect(0);
    for arguments in [
        &["sync"][..],
        &["update"],
        &["add", "mcp:evil/skill://x"],
        &["lock"],
    ] {
        let refused = world.run(arguments).expect(2);
        assert!(
            refused
                .stderr
                .contains("your settings have no MCP server `evil`"),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    world.run(&["outdated"]).expect(2);
    assert!(!mark.exists());
}

/// An MCP server over standard input and output that lists and serves what its files say.
const SERVER: &str = r#"
import json, sys
listing = json.load(open(sys.argv[1]))
contents = json.load(open(sys.argv[2]))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, params = message.get("method"), message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        capabilities = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
        reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                           "serverInfo": {"name": "x", "version": "1"}}
    elif method == "skills/list":
        reply["result"] = {"skills": listing}
    elif method == "resources/read":
        uri = params["uri"]
        reply["result"] = {"contents": [{"uri": uri, "text": contents.get(uri, "")}]}
    else:
        reply["error"] = {"code": -32601, "message": "method not found"}
    print(json.dumps(reply), flush=True)
"#;

/// packages.md line 12: what cannot be locked, or is not what was listed, installs nothing.
#[test]
fn hostile_mcp_servers_install_nothing() {
    let text = "---\nname: x\ndescription: Does x. Use when asked.\n---\nDo x.\n";
    let digest = |text: &str| prowess_package::tree::digest_of_bytes(text.as_bytes());
    let file =
        |uri: &str, text: &str| json!({ "uri": uri, "digest": digest(text), "size": text.len() });
    let main = "skill://x/SKILL.md";
    let frontmatter = json!({ "name": "x", "description": "Does x. Use when asked." });
    let entry = |resources: Value| json!([{ "uri": main, "frontmatter": frontmatter, "resources": resources }]);
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "a".repeat(64)
    );
    let many: Vec<Value> = (0..600)
        .map(|at| file(&format!("skill://x/{at}"), "a"))
        .chain([file(main, text)])
        .collect();
    let cases = [
        ("dynamic", entry(json!("dynamic")), text, "cannot be locked"),
        (
            "other bytes",
            entry(json!([file(main, &text.replace("Do x", "Do y"))])),
            text,
            "does not match its list",
        ),
        (
            "outside",
            entry(json!([file(main, text), file("skill://x/../y", "a")])),
            text,
            "outside its folder",
        ),
        (
            "windows name",
            entry(json!([file(main, text), file("skill://x/con.md", "")])),
            text,
            "reserved",
        ),
        (
            "twins",
            entry(json!([
                file(main, text),
                file("skill://x/A.md", ""),
                file("skill://x/a.md", "")
            ])),
            text,
            "same path",
        ),
        (
            "lfs",
            entry(json!([file(main, text), file("skill://x/a.md", &pointer)])),
            text,
            "git LFS",
        ),
        ("many", entry(json!(many)), text, "the limit is"),
        (
            "large",
            entry(json!([{ "uri": main, "digest": digest(text), "size": 1_u64 << 40 }])),
            text,
            "the limit is",
        ),
        (
            "other frontmatter",
            entry(json!([file(main, &text.replace("Does x", "Does z"))])),
            &text.replace("Does x", "Does z"),
            "differs from the listed one",
        ),
        ("no list", json!({}), text, "no `skills`"),
        ("absent", json!([]), text, "x"),
    ];
    let world = World::new();
    let server = world.file("../server.py", SERVER);
    let (listing, contents) = (
        world.path("../listing.json"),
        world.path("../contents.json"),
    );
    let settings = format!(
        "[mcp.servers.hostile]\ncommand = 'python3'\nargs = ['{}', '{}', '{}']\n",
        server.display(),
        listing.display(),
        contents.display()
    );
    world.file("~/config.toml", settings);
    for (name, list, served, expected) in cases {
        fs::write(&listing, list.to_string()).unwrap();
        let all = json!({ main: served, "skill://x/a.md": pointer });
        fs::write(&contents, all.to_string()).unwrap();
        let refused = world.run(&["add", "mcp:hostile/skill://x"]);
        assert_eq!(refused.code, 2, "{name}: {}", refused.snapshot());
        assert!(
            refused.stderr.contains(expected),
            "{name}: {}",
            refused.stderr
        );
        assert!(!world.exists(".agents"), "{name}");
    }
    // The control: an honest list.
    fs::write(&listing, entry(json!([file(main, text)])).to_string()).unwrap();
    fs::write(&contents, json!({ main: text }).to_string()).unwrap();
    world.run(&["add", "mcp:hostile/skill://x"]).expect(0);
    // `sources` also decides about skills that are chosen by name.
    world.run(&["remove", "x"]).expect(0);
    world.file(
        ".agents/prowess.toml",
        "[install]\nsources = [\"mcp:hostile/skill://other/*\"]\n",
    );
    world.run(&["add", "mcp:hostile", "x"]).expect(3);
    world.run(&["add", "mcp:hostile/skill://x"]).expect(3);
}

/// packages.md line 43.
#[test]
fn pinned_signer_must_have_signed_the_tag() {
    let world = World::new();
    let folder = repository(&world, "../repo");
    for name in ["acme", "evil"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(world.path(format!("../{name}")))
            .status();
        assert!(made.unwrap().success());
    }
    let sign = |key: &str, tag: &str| {
        let key = format!(
            "user.signingkey={}",
            world.path(format!("../{key}")).display()
        );
        git(&folder, &["-c", &key, "tag", "-s", "-m", "x", tag]);
    };
    sign("acme", "v1.0.0");
    sign("evil", "v1.1.0");
    git(&folder, &["tag", "v1.2.0"]);
    let key = fs::read_to_string(world.path("../acme.pub")).unwrap();
    let source = format!("git+file://{}", folder.display());
    let settings = |key: &str| {
        format!(
            "[signers.acme]\nkey = \"{}\"\nsources = [\"{source}\"]\n",
            key.trim()
        )
    };
    world.file("~/config.toml", settings(&key));
    for (wanted, expected) in [
        ("@v1.1.0", "is not one of `acme` over it"),
        ("@v1.2.0", "is not signed"),
        ("@^1", "is not signed"),
        ("@main", "is not a tag"),
        ("", "is not a tag"),
    ] {
        let refused = world
            .run(&["add", &format!("{source}{wanted}"), "pdf"])
            .expect(3);
        assert!(
            refused.stderr.contains(expected),
            "{wanted}: {}",
            refused.stderr
        );
        assert!(!world.exists(".agents"), "{wanted}");
    }
    let added = world
        .run(&["add", &format!("{source}@v1.0.0"), "pdf"])
        .expect(0);
    assert!(added.stdout.contains("signed by acme"), "{}", added.stdout);
    assert_eq!(lock(&world).packages[0].signer.as_deref(), Some("acme"));
    // A key that cannot be read does not switch the check off.
    world.file("~/config.toml", settings("ssh-ed25519 AAAA"));
    let refused = world.run(&["sync"]).expect(2);
    assert!(
        refused.stderr.contains("`key` must be"),
        "{}",
        refused.stderr
    );
    // Keys in a project's file do not count: the demand of the project stays.
    world.file("~/config.toml", "");
    world.run(&["remove", "pdf"]).expect(0);
    world.file(
        ".agents/prowess.toml",
        format!("{}[install]\nrequire-signed-tag = true\n", settings(&key)),
    );
    let refused = world
        .run(&["add", &format!("{source}@v1.0.0"), "pdf"])
        .expect(3);
    assert!(
        refused.stderr.contains("no signer is pinned"),
        "{}",
        refused.stderr
    );
}

/// packages.md line 1: no process starts and no connection opens for a form that is refused, and
/// line 54: for one that `sources` does not allow.
#[test]
fn refused_sources_start_no_process_and_open_no_connection() {
    let world = World::new();
    let launcher = world.file("../forbid.py", FORBID);
    let start = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(&launcher).args(arguments).env_clear();
        command
            .current_dir(world.path(""))
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", world.path("~"))
            .env("PROWESS_HOME", world.path("~"))
            .output()
            .unwrap()
    };
    let program = env!("CARGO_BIN_EXE_prowess");
    // The filter works: a source that is not refused starts git.
    let control = start(&[program, "add", "git+https://127.0.0.1:9/x.git", "pdf"]);
    assert_eq!(control.status.signal(), Some(31), "{control:?}");
    let check = |form: &str, code: i32| {
        let output = start(&[program, "add", "--", form, "pdf"]);
        assert_eq!(output.status.code(), Some(code), "{form:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!error.contains("s3cret"), "{form:?}: {error}");
        assert!(!error.contains('\u{1b}'), "{form:?}: {error}");
    };
    for form in [
        "http://host.example/x",
        "http://10.0.0.1/x.zip",
        "file:///srv/x",
        "git://host.example/x",
        "ext::sh -c touch% mark",
        "git+ext::sh -c touch% mark",
        "fd::17",
        "ftp://host.example/x",
        "https://me:s3cret@host.example/x.git",
        "https://s3cret@host.example/x",
        "git+https://s3cret@host.example/x",
        "ssh://me:s3cret@host.example/x",
        "-x",
        "--upload-pack=touch mark",
        "ssh://-oProxyCommand=touch mark/x",
        "ssh://-oProxyCommand=x/y",
        "git@-oProxyCommand=x:y",
        "git@host.example:-x",
        "owner/repo\u{1b}[31m",
        "owner/repo/../x",
        "https://host.example/a/%2e%2e/b.git",
        "owner/repo@a..b",
        "owner/repo@-x",
        "owner/repo@--upload-pack=x",
        "owner/repo@a b",
        "owner/repo@x.lock",
        "git+file:///srv/../etc",
        "https://host.example/a?token=s3cret",
        "mcp:../x/skill://y",
        "pdf",
        "",
    ] {
        check(form, 2);
    }
    world.file(
        ".agents/prowess.toml",
        "[install]\nsources = [\"https://git.example.com/acme/*\", \"acme/*\"]\n",
    );
    for form in [
        "other/repo",
        "https://git.example.com/acmes/x.git",
        "https://git.example.com.evil.example/acme/x.git",
        "git+file:///srv/x",
        "ssh://git@git.example.com/acme/x",
        "https://docs.example.com",
        "https://127.0.0.1:9/x.tar.gz",
        "mcp:shop/skill://x",
        "corp:acme/forms",
        "./dir",
        "x.skill",
    ] {
        check(form, 3);
    }
    assert!(!world.exists("mark"));
}

/// packages.md line 52: the token of a registry is sent to its host only, and no credentials are kept.
#[test]
fn credentials_are_neither_stored_nor_printed() {
    let world = World::new();
    world.file(
        "../site/skill/forms/SKILL.md",
        "---\nname: forms\ndescription: Fills forms. Use when asked.\n---\nFill.\n",
    );
    world.run(&["pack", "../site/skill/forms"]).expect(0);
    fs::create_dir_all(world.path("../site/token/packages/acme")).unwrap();
    let archive = fs::read(world.path("forms.skill")).unwrap();
    fs::remove_file(world.path("forms.skill")).unwrap();
    let digest = prowess_package::tree::digest_of_bytes(&archive);
    world.file("../site/token/forms.skill", archive);
    let web = WebServer::start(&world.path("../site"));
    let other = WebServer::start(&world.path("../site"));
    let publish = |url: &str| {
        let version = json!({ "version": "3.1.0", "url": url, "digest": digest });
        let document =
            json!({ "schema": "prowess.registry/1", "name": "acme/forms", "versions": [version] });
        world.file(
            "../site/token/packages/acme/forms.json",
            document.to_string(),
        );
    };
    world.file(
        "~/config.toml",
        format!(
            "[registries.corp]\nurl = '{}'\ntoken-env = 'CORP_TOKEN'\n",
            web.url("/token")
        ),
    );
    let run = |arguments: &[&str], token: &str| -> Output {
        let run = world.command(arguments).env("PROWESS_LOG", "trace");
        run.env("CORP_TOKEN", token).run()
    };
    let add = ["add", "corp:acme/forms@~3.1"];
    publish("../../forms.skill");
    let unset = world.run(&add).expect(4);
    assert!(unset.stderr.contains("CORP_TOKEN"), "{}", unset.stderr);
    assert!(web.asked().is_empty());
    let wrong = run(&add, "wr0ng-s3cret").expect(4);
    assert!(!wrong.stderr.contains("wr0ng"), "{}", wrong.stderr);
    // Neither another host nor a redirect to one gets a request.
    for url in [
        other.url("/token/forms.skill"),
        format!("/to/{}/forms.skill", other.port),
    ] {
        publish(&url);
        run(&add, "s3cret-token").expect(2);
    }
    assert!(other.asked().is_empty());
    publish("../../forms.skill");
    let added = run(&add, "s3cret-token").expect(0);
    assert!(!format!("{}{}", added.stdout, added.stderr).contains("s3cret"));
    let is_sent = |head: &String| head.contains("Bearer s3cret-token");
    assert!(web.asked().iter().any(is_sent));
    run(&["outdated"], "s3cret-token").expect(0);
    run(&["sync", "--frozen"], "s3cret-token").expect(0);
    // A password that a person's git configuration adds to an address.
    let host = web.url("");
    let with_password = host.replace("http://", "http://me:s3cret-word@");
    world.file(
        "~/.gitconfig",
        format!("[url \"{with_password}/\"]\ninsteadOf = {host}/\n"),
    );
    let private = format!("git+{}", web.url("/private/x.git"));
    let refused = run(&["add", &private, "pdf"], "s3cret-token").expect(4);
    assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);
    fs::remove_file(world.path("~/.gitconfig")).unwrap();
    assert_no_text(&world, &[&world.path(""), &world.path("~")], "s3cret");
}

/// Flags name the ref and the folder of any git source, also of one with a user name.
#[test]
fn flags_name_the_ref_and_the_folder() {
    let world = World::new();
    let folder = repository(&world, "../repo");
    git(&folder, &["tag", "v1.0.0"]);
    let source = format!("git+file://{}", folder.display());
    let arguments = ["add", &source, "--tag", "v1.0.0", "--path", "pdf"];
    world.run(&arguments).expect(0);
    let manifest = fs::read_to_string(world.path(".agents/prowess.toml")).unwrap();
    assert!(
        manifest.contains("path = \"pdf\", tag = \"v1.0.0\""),
        "{manifest}"
    );
    for (arguments, expected) in [
        (
            &["ssh://git@host.example/x", "--tag", "v1", "--offline"][..],
            "must be fetched, but `--offline` is set",
        ),
        (
            &["https://host.example/x", "--branch", "main", "--offline"],
            "must be fetched, but `--offline` is set",
        ),
        (
            &["owner/repo@v1", "--tag", "v2"],
            "more than one version or ref",
        ),
        (&["./dir", "--tag", "v2"], "has no versions"),
        (&["owner/repo", "--tag=-x"], "invalid ref"),
        (&["owner/repo", "--branch", "a..b"], "invalid ref"),
        (&["owner/repo", "--rev", "a b"], "invalid ref"),
        (&["owner/repo", "--path", "../x"], "`..`"),
        (&["x.skill", "--path", "y"], "`--path` is for git"),
    ] {
        let refused = world.run(&[&["add"], arguments].concat()).expect(2);
        assert!(
            refused.stderr.contains(expected),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
}

/// packages.md line 55: a proxy that counts sees requests to the named host only.
#[test]
fn no_request_leaves_but_to_the_named_source() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut stream = BufReader::new(stream);
            let _ = stream.read_line(&mut line);
            let _ = sender.send(line);
            let _ = stream
                .get_mut()
                .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let proxy = format!("http://127.0.0.1:{port}");
    let run = |arguments: &[&str]| {
        let run = world.command(arguments).env("HTTPS_PROXY", &proxy);
        run.env("HTTP_PROXY", &proxy).env("ALL_PROXY", &proxy).run()
    };
    run(&["add", "git+https://git.example.com/acme/ops", "pdf"]);
    let first: Vec<String> = asked.try_iter().collect();
    assert!(!first.is_empty());
    let is_named = |line: &String| line.starts_with("CONNECT git.example.com:443 ");
    assert!(first.iter().all(is_named), "{first:?}");
    // Commands that need no source send no request.
    world.file(
        "skill/notes/SKILL.md",
        "---\nname: notes\ndescription: Takes notes. Use when asked.\n---\nx\n",
    );
    run(&["pack", "skill/notes"]).expect(0);
    for arguments in [
        &["add", "notes.skill"][..],
        &["sync"],
        &["verify"],
        &["outdated"],
        &["update"],
        &["lock"],
        &["list"],
        &["rollback"],
        &["store", "show"],
    ] {
        run(arguments);
    }
    let rest: Vec<String> = asked.try_iter().collect();
    assert!(rest.is_empty(), "{rest:?}");
}
