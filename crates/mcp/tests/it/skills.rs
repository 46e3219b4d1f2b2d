//! The skills extension as SEP-2640 requires it of a server: the scenarios
//! `sep-2640-skills-enumeration`, `-manifest` and `-directory`, and cases 135 and 136 of the
//! reference. Cases 137 and 138 are about hosts.

use std::collections::BTreeSet;
use std::time::Duration;

use prowess_test::{World, wait_for};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Raw, handshake, modern, plain, skill};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Returns all pages of `skills/list`.
fn all(raw: &mut Raw) -> (Vec<Value>, Vec<Value>, usize) {
    let (mut skills, mut omitted, mut pages) = (Vec::new(), Vec::new(), 0);
    let mut params = json!({});
    loop {
        let page = raw.request("skills/list", params.clone());
        assert_eq!(page["resultType"], "complete");
        skills.extend(page["skills"].as_array().unwrap().iter().cloned());
        let left = page["_meta"]["prowess/omitted"].as_array();
        omitted.extend(left.into_iter().flatten().cloned());
        pages += 1;
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return (skills, omitted, pages),
        }
    }
}

fn read(raw: &mut Raw, uri: &str) -> Vec<u8> {
    use base64::Engine;
    let content = &raw.request("resources/read", json!({ "uri": uri }))["contents"][0];
    assert_eq!(content["uri"], uri);
    match content.get("text") {
        Some(plain) => text(plain).as_bytes().to_vec(),
        None => base64::prelude::BASE64_STANDARD
            .decode(text(&content["blob"]))
            .unwrap(),
    }
}

fn sha256(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

/// A skill with files of several kinds, one of which is a skill itself.
fn rich(world: &World) {
    skill(
        world,
        "pdf-forms",
        "---\nname: pdf-forms\ndescription: >\n  Fills in\n  forms.\nlicense: MIT\nversion: 1.10\n\
         allowed-tools: [Read, \"Bash(ls:*)\"]\nx-own: {a: [1, null, true]}\n---\nRead templates/.\n",
    );
    for (path, bytes) in [
        ("templates/invoice.md", b"# Invoice\n".as_slice()),
        ("templates/regional/eu invoice#1.md", b"EU\n"),
        ("assets/logo.png", b"\x89PNG\r\n\x1a\n\x00\xff"),
        ("inner/SKILL.md", b"---\nname: inner\ndescription: x\n---\n"),
        ("empty.txt", b""),
        (".git/config", b"secret"),
        (".git/HEAD", b"ref: refs/heads/main"),
        (".git/objects/info/x", b""),
        (".git/refs/heads/main", b""),
    ] {
        world.file(format!("skills/pdf-forms/{path}"), bytes);
    }
    world
        .file("skills/outside", "secret")
        .link("skills/pdf-forms/leak", "../outside");
}

#[test]
fn enumeration() {
    let world = World::new();
    let names: BTreeSet<String> = (0..120).map(|at| format!("skill-{at:03}")).collect();
    for name in &names {
        plain(&world, name);
    }
    skill(
        &world,
        "quiet",
        "---\nname: quiet\ndescription: For people.\ndisable-model-invocation: true\n---\nx\n",
    );
    let mut raw = Raw::start(&world, &[]);
    let about = raw.request("initialize", handshake("2025-11-25"));
    let capabilities = &about["capabilities"];
    assert_eq!(
        capabilities["extensions"]["io.modelcontextprotocol/skills"],
        json!({ "directoryRead": true })
    );
    assert!(
        capabilities["resources"].is_object(),
        "the extension needs resources"
    );
    assert!(capabilities.get("experimental").is_none());

    let (skills, omitted, pages) = all(&mut raw);
    assert_eq!((skills.len(), omitted.len(), pages), (120, 0, 3));
    let found: BTreeSet<String> = skills
        .iter()
        .map(|skill| text(&skill["frontmatter"]["name"]).to_owned())
        .collect();
    assert_eq!(found, names, "each exactly once");
    for skill in &skills {
        let uri = text(&skill["uri"]);
        let path = uri
            .strip_prefix("skill://")
            .and_then(|rest| rest.strip_suffix("/SKILL.md"));
        let last = path.unwrap().rsplit('/').next();
        assert_eq!(
            last,
            skill["frontmatter"]["name"].as_str(),
            "the name is in the URI"
        );
        assert!(skill["resources"].is_array());
    }
    // Both methods return the same entry, also for a skill that is not listed.
    let got = raw.request("skills/get", json!({ "uri": skills[7]["uri"] }));
    assert_eq!(got["skill"], skills[7]);
    assert_eq!(got["resultType"], "complete");
    let quiet = raw.request("skills/get", json!({ "uri": "skill://quiet/SKILL.md" }));
    assert_eq!(
        quiet["skill"]["frontmatter"]["disable-model-invocation"],
        true
    );

    for uri in [
        "skill://nobody/SKILL.md",
        "skill://skill-001",
        "skill://skill-001/",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(
            raw.refused("skills/get", json!({ "uri": uri })),
            -32602,
            "{uri}"
        );
    }
    assert_eq!(raw.refused("skills/get", json!({})), -32602);
    assert_eq!(
        raw.refused("skills/list", json!({ "cursor": "nonsense" })),
        -32602
    );
    assert_eq!(raw.refused("skills/other", json!({})), -32601);
}

#[test]
fn manifest() {
    let world = World::new();
    rich(&world);
    let mut raw = Raw::connect(&world, &[]);
    let (skills, omitted, _) = all(&mut raw);
    assert_eq!((skills.len(), omitted.len()), (1, 0), "{omitted:?}");
    let entry = skills[0].clone();
    assert_eq!(
        entry["frontmatter"],
        json!({
            "name": "pdf-forms", "description": "Fills in forms.\n", "license": "MIT",
            "version": 1.1, "allowed-tools": ["Read", "Bash(ls:*)"],
            "x-own": { "a": [1, null, true] },
        })
    );
    let files = entry["resources"].as_array().unwrap();
    let uris: Vec<&str> = files.iter().map(|file| text(&file["uri"])).collect();
    assert_eq!(
        uris,
        [
            "skill://pdf-forms/SKILL.md",
            "skill://pdf-forms/assets/logo.png",
            "skill://pdf-forms/empty.txt",
            "skill://pdf-forms/inner/SKILL.md",
            "skill://pdf-forms/templates/invoice.md",
            "skill://pdf-forms/templates/regional/eu%20invoice%231.md",
        ],
        "all files, none from outside, none of version control"
    );
    for file in files {
        let bytes = read(&mut raw, text(&file["uri"]));
        assert_eq!(file["size"], bytes.len() as u64);
        assert_eq!(file["digest"], sha256(&bytes));
    }
    let main = raw.request("resources/read", json!({ "uri": uris[0] }));
    assert_eq!(main["contents"][0]["mimeType"], "text/markdown");

    // Files that are not in the manifest are not served.
    for path in [
        "leak",
        ".git/config",
        "../outside",
        "%2e%2e/outside",
        "templates",
        "nothing.md",
        "",
    ] {
        let uri = format!("skill://pdf-forms/{path}");
        assert_eq!(
            raw.refused("resources/read", json!({ "uri": uri })),
            -32002,
            "{uri}"
        );
    }

    // Case 135: a changed file has a new digest; until the client knows it, reads fail.
    let invoice = world.path("skills/pdf-forms/templates/invoice.md");
    std::fs::write(&invoice, "# INVOICE\n").unwrap();
    assert_eq!(
        raw.refused("resources/read", json!({ "uri": uris[4] })),
        -32603
    );
    world.file("skills/pdf-forms/new.md", "new");
    let new = "skill://pdf-forms/new.md";
    assert_eq!(
        raw.refused("resources/read", json!({ "uri": new })),
        -32002,
        "not in the client's list"
    );
    let again = raw.request("skills/get", json!({ "uri": uris[0] }))["skill"].clone();
    assert_ne!(again["resources"], entry["resources"]);
    assert_eq!(read(&mut raw, uris[4]), b"# INVOICE\n");
    assert_eq!(read(&mut raw, new), b"new");
    std::fs::remove_file(&invoice).unwrap();
    assert_eq!(
        raw.refused("resources/read", json!({ "uri": uris[4] })),
        -32603
    );
}

#[test]
fn unsupported_skills_are_reported_as_omitted() {
    let world = World::new();
    plain(&world, "good");
    plain(&world, "many");
    for at in 0..512 {
        world.file(format!("skills/many/{at}"), "x");
    }
    plain(&world, "large");
    world.file("skills/large/data", vec![0; 16 * 1024 * 1024]);
    skill(
        &world,
        "silent",
        "---\nname: silent\n---\nNo description.\n",
    );
    skill(
        &world,
        "other-name",
        "---\nname: Other Name\ndescription: x\n---\n",
    );
    skill(
        &world,
        "broken",
        "---\nname: broken\ndescription: a: b: c\n---\n",
    );
    let mut raw = Raw::connect(&world, &[]);
    let (skills, omitted, _) = all(&mut raw);
    let names: Vec<&str> = skills
        .iter()
        .map(|skill| text(&skill["frontmatter"]["name"]))
        .collect();
    assert_eq!(names, ["good"]);
    let reasons: Vec<String> = omitted
        .iter()
        .map(|left| format!("{}: {}", text(&left["name"]), text(&left["reason"])))
        .collect();
    for (name, reason) in [
        ("broken", "frontmatter"),
        ("large", "16777216"),
        ("many", "513 files"),
        ("other-name", "name"),
        ("silent", "description"),
    ] {
        let found = reasons
            .iter()
            .find(|text| text.starts_with(name))
            .expect(name);
        assert!(found.contains(reason), "{found}");
        let uri = format!("skill://{name}/SKILL.md");
        assert_eq!(
            raw.refused("skills/get", json!({ "uri": uri })),
            -32602,
            "{name}"
        );
        // They are still available as resources and tools.
        assert!(!read(&mut raw, &uri).is_empty());
    }
}

#[test]
fn directory() {
    let world = World::new();
    rich(&world);
    for at in 0..250 {
        world.file(format!("skills/pdf-forms/wide/{at:03}.txt"), "x");
    }
    let mut raw = Raw::connect(&world, &[]);
    let mut children = |uri: &str, cursor: Option<&Value>| {
        let mut params = json!({ "uri": uri });
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.clone();
        }
        raw.request("resources/directory/read", params)
    };
    let root = children("skill://pdf-forms", None);
    assert_eq!(root["resultType"], "complete");
    let seen: Vec<(String, String)> = root["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| {
            (
                text(&child["name"]).to_owned(),
                child["mimeType"].as_str().unwrap_or("-").to_owned(),
            )
        })
        .collect();
    let expected = [
        ("SKILL.md", "text/markdown"),
        ("assets", "inode/directory"),
        ("empty.txt", "text/plain"),
        ("inner", "inode/directory"),
        ("templates", "inode/directory"),
        ("wide", "inode/directory"),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, kind)| (name.to_owned(), kind.to_owned()))
    );
    let templates = children("skill://pdf-forms/templates", None);
    let uris: Vec<&str> = templates["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| text(&child["uri"]))
        .collect();
    assert_eq!(
        uris,
        [
            "skill://pdf-forms/templates/invoice.md",
            "skill://pdf-forms/templates/regional"
        ]
    );
    let first = children("skill://pdf-forms/wide", None);
    let second = children("skill://pdf-forms/wide", first.get("nextCursor"));
    let count = |page: &Value| page["resources"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&second)), (200, 50));
    assert!(second.get("nextCursor").is_none());
    for uri in [
        "skill://pdf-forms/SKILL.md",
        "skill://pdf-forms/templates/",
        "skill://pdf-forms/none",
        "skill://nobody",
        "skill://",
        "skill://pdf-forms/..",
    ] {
        assert_eq!(
            raw.refused("resources/directory/read", json!({ "uri": uri })),
            -32602,
            "{uri}"
        );
    }
}

/// Case 136: reading a resource does not run anything.
#[test]
fn reading_does_not_activate() {
    let world = World::new();
    let mark = world.path("skills/mark");
    let text = format!(
        "---\nname: runs\ndescription: x\n---\nNow: !`touch {}`\n",
        mark.display()
    );
    skill(&world, "runs", &text);
    let mut raw = Raw::connect(&world, &["--commands"]);
    let uri = "skill://runs/SKILL.md";
    assert_eq!(
        read(&mut raw, uri),
        text.as_bytes(),
        "the original text, nothing expanded"
    );
    assert!(!mark.exists());
    let listed = raw.request(
        "tools/call",
        json!({ "name": "list_skills", "arguments": {} }),
    );
    assert_eq!(listed["structuredContent"]["skills"][0]["loaded"], false);
}

#[test]
fn rules_apply_to_resources() {
    let world = World::new();
    plain(&world, "open");
    plain(&world, "secret");
    let mut raw = Raw::connect(&world, &["--deny", "Skill(secret)"]);
    assert!(!read(&mut raw, "skill://open/SKILL.md").is_empty());
    let uri = "skill://secret/SKILL.md";
    assert_eq!(raw.refused("resources/read", json!({ "uri": uri })), -32002);
    let call = json!({ "name": "load_skill", "arguments": { "name": "secret" } });
    assert_eq!(raw.request("tools/call", call)["isError"], true);
}

#[test]
fn restrictions_of_loaded_skills_apply_to_prompts_and_resources() {
    let world = World::new();
    plain(&world, "secret");
    let text = "---\nname: strict\ndescription: d\ndisallowed-tools: Skill(secret)\n---\nStrict.\n";
    skill(&world, "strict", text);
    let mut raw = Raw::connect(&world, &[]);
    let uri = json!({ "uri": "skill://secret/SKILL.md" });
    let prompt = json!({ "name": "secret" });
    raw.request("resources/read", uri.clone());
    raw.request("prompts/get", prompt.clone());
    let call = json!({ "name": "load_skill", "arguments": { "name": "strict" } });
    assert_ne!(raw.request("tools/call", call)["isError"], true);
    let call = json!({ "name": "load_skill", "arguments": { "name": "secret" } });
    assert_eq!(raw.request("tools/call", call)["isError"], true);
    assert_eq!(raw.refused("resources/read", uri), -32002);
    assert_eq!(raw.refused("prompts/get", prompt), -32602);
}

#[test]
fn cache_hints_are_sent_to_modern_clients_only() {
    let world = World::new();
    plain(&world, "deploy");
    let mut raw = Raw::start(&world, &[]);
    let list = raw.request("skills/list", modern(json!({})));
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(60_000), &json!("private"))
    );
    let uri = "skill://nobody/SKILL.md";
    assert_eq!(
        raw.refused("resources/read", modern(json!({ "uri": uri }))),
        -32602
    );
    let mut raw = Raw::connect(&world, &[]);
    let list = raw.request("skills/list", json!({}));
    assert!(list.get("ttlMs").is_none() && list.get("cacheScope").is_none());
}

#[test]
fn legacy_index_is_served_on_request() {
    let world = World::new();
    plain(&world, "deploy");
    let params = || json!({ "uri": "skill://index.json" });
    assert_eq!(
        Raw::connect(&world, &[]).refused("resources/read", params()),
        -32002
    );
    let mut raw = Raw::connect(&world, &["--legacy-index"]);
    let index: Value = serde_json::from_slice(&read(&mut raw, "skill://index.json")).unwrap();
    let main = read(&mut raw, "skill://deploy/SKILL.md");
    assert_eq!(
        index["skills"],
        json!([{
            "name": "deploy", "type": "skill-md", "description": "Does deploy. Use when asked for deploy.",
            "url": "skill://deploy/SKILL.md", "digest": sha256(&main),
        }])
    );
}

#[test]
fn changes_are_notified() {
    let world = World::new();
    plain(&world, "deploy");
    world.file("skills/deploy/notes.md", "one");
    let mut raw = Raw::connect(&world, &[]);
    raw.request(
        "resources/subscribe",
        json!({ "uri": "skill://deploy/notes.md" }),
    );
    assert_eq!(
        raw.refused("resources/subscribe", json!({ "uri": "skill://no/x" })),
        -32002
    );
    // A change is missed until the server watches the folder, so change the file until it is seen.
    let mut version = 0;
    let news = wait_for("a notification", || {
        version += 1;
        world.file("skills/deploy/notes.md", format!("version {version}"));
        raw.receive_within(Duration::from_millis(500))
    });
    assert_eq!(news["method"], "notifications/resources/updated");
    assert_eq!(news["params"]["uri"], "skill://deploy/notes.md");
    plain(&world, "second");
    let mut missing = BTreeSet::from([
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    ]);
    while !missing.is_empty() {
        missing.remove(text(&raw.receive()["method"]));
    }
    // Without any skill, the tools for skills are missing.
    std::fs::remove_dir_all(world.path("skills/deploy")).unwrap();
    std::fs::remove_dir_all(world.path("skills/second")).unwrap();
    while text(&raw.receive()["method"]) != "notifications/tools/list_changed" {}
    assert_eq!(raw.request("tools/list", json!({}))["tools"], json!([]));
}
