//! Configuration of clients: the written entry, and that nothing else is lost.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use prowess_mcp::install::{
    Homes, InstallChange, InstallError, Launch, McpClientApp, MergeError, install, merge, snippet,
};
use prowess_test::World;
use serde_json::{Value, json};

fn homes(home: &Path) -> Homes {
    Homes {
        home: home.to_owned(),
        config: home.join(".config"),
        mac: false,
    }
}

fn launch() -> Launch {
    Launch {
        program: "/opt/my tools/prowess".to_owned(),
        arguments: vec!["mcp".to_owned()],
    }
}

#[test]
fn every_client_gets_its_entry() {
    let home = homes(Path::new("/people/me"));
    let program = "/opt/my tools/prowess";
    for client in McpClientApp::ALL {
        let snippet = snippet(client, &launch(), &home);
        assert!(snippet.path.starts_with("/people/me"), "{snippet:?}");
        assert_eq!(McpClientApp::parse(client.as_str()), Ok(client));
        let read = |section: &str| -> Value {
            let value: Value = serde_json::from_str(&snippet.text).unwrap();
            value[section]["prowess"].clone()
        };
        match client {
            McpClientApp::ClaudeCode => assert_eq!(
                read("mcpServers"),
                json!({ "type": "stdio", "command": program, "args": ["mcp"] })
            ),
            McpClientApp::ClaudeDesktop | McpClientApp::Cursor | McpClientApp::GeminiCli => {
                assert_eq!(
                    read("mcpServers"),
                    json!({ "command": program, "args": ["mcp"] })
                );
            }
            McpClientApp::VsCode => assert_eq!(
                read("servers"),
                json!({ "type": "stdio", "command": program, "args": ["mcp"] })
            ),
            McpClientApp::OpenCode => assert_eq!(
                read("mcp"),
                json!({ "type": "local", "command": [program, "mcp"], "enabled": true })
            ),
            McpClientApp::Codex => assert_eq!(
                snippet.text,
                "[mcp_servers.prowess]\ncommand = \"/opt/my tools/prowess\"\nargs = [\"mcp\"]\n"
            ),
            McpClientApp::Goose => assert_eq!(
                snippet.text,
                "extensions:\n  prowess:\n    name: prowess\n    description: Agent Skills\n    type: stdio\n    \
                 enabled: true\n    cmd: /opt/my tools/prowess\n    args: [mcp]\n    timeout: 300\n"
            ),
            other => panic!("{other:?} has no test"),
        }
    }
    assert_eq!(McpClientApp::parse("claude-cod"), Err(Some("claude-code")));
    let mac = Homes { mac: true, ..home };
    assert_eq!(
        McpClientApp::VsCode.path(&mac),
        Path::new("/people/me/Library/Application Support/Code/User/mcp.json")
    );
}

#[test]
fn installing_keeps_everything_else() {
    let others = [
        (
            McpClientApp::ClaudeCode,
            "{\n  \"oauth\": {\"k\": 1.50},\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  }\n}\n",
        ),
        (
            McpClientApp::Codex,
            "model = \"o\" # mine\n\n[mcp_servers.x]\ncommand = \"y\"\n\n[profiles.a]\nb = 1\n",
        ),
        (
            McpClientApp::Goose,
            "# mine\nGOOSE_MODEL: o\nextensions:\n  x:\n    cmd: y\n",
        ),
        (
            McpClientApp::VsCode,
            "{\n  // mine\n  \"servers\": {},\n  \"inputs\": [],\n}\n",
        ),
    ];
    for (client, before) in others {
        let world = World::new();
        let homes = homes(&world.path("~"));
        let path = client.path(&homes);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, before).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();

        assert_eq!(
            install(client, &launch(), &homes).unwrap(),
            (path.clone(), InstallChange::Added)
        );
        let after = std::fs::read_to_string(&path).unwrap();
        for line in before
            .lines()
            .filter(|line| line.trim().len() > 2 && !line.contains("servers\": {}"))
        {
            assert!(
                after.contains(line.trim_end_matches(',')),
                "{client:?} lost {line}:\n{after}"
            );
        }
        assert!(after.contains("/opt/my tools/prowess"));
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );

        assert_eq!(
            install(client, &launch(), &homes).unwrap().1,
            InstallChange::Unchanged
        );
        assert_eq!(
            install(client, &Launch::default(), &homes).unwrap().1,
            InstallChange::Replaced
        );
        let replaced = std::fs::read_to_string(&path).unwrap();
        assert!(!replaced.contains("/opt/my tools"), "{replaced}");
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "no other file is left");
    }
}

#[test]
fn missing_file_is_created() {
    for client in McpClientApp::ALL {
        let world = World::new();
        let homes = homes(&world.path("~"));
        let (path, change) = install(client, &launch(), &homes).unwrap();
        assert_eq!(change, InstallChange::Created);
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, snippet(client, &launch(), &homes).text);
    }
}

#[test]
fn link_is_kept() {
    let world = World::new();
    let homes = homes(&world.path("~"));
    world
        .file("~/dotfiles/claude.json", "{}")
        .link_to("~/.claude.json", "~/dotfiles/claude.json");
    install(McpClientApp::ClaudeCode, &launch(), &homes).unwrap();
    assert!(
        std::fs::symlink_metadata(world.path("~/.claude.json"))
            .unwrap()
            .is_symlink()
    );
    assert!(world.read("~/dotfiles/claude.json").contains("prowess"));
}

#[test]
fn invalid_file_is_not_changed() {
    for (client, before) in [
        (McpClientApp::Cursor, "{ nonsense"),
        (McpClientApp::Cursor, "{\"mcpServers\": []}"),
        (McpClientApp::Codex, "= nonsense"),
        (McpClientApp::Codex, "mcp_servers = 1"),
        (McpClientApp::Goose, "extensions: [a]"),
        (McpClientApp::Goose, "a: &x 1\nb: *x\n"),
    ] {
        let world = World::new();
        let homes = homes(&world.path("~"));
        let path = client.path(&homes);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, before).unwrap();
        let fault = install(client, &launch(), &homes);
        assert!(
            matches!(fault, Err(InstallError::Content { .. })),
            "{before}: {fault:?}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
    let fault = merge(McpClientApp::Codex, &launch(), "mcp_servers = 1");
    assert_eq!(fault, Err(MergeError::NotATable { key: "mcp_servers" }));
}
