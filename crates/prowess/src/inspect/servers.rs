//! What an MCP server starts or connects to, for a person who decides about trust.

use std::collections::BTreeMap;
use std::path::Path;

use prowess_config::{McpServer, McpTransport};
use prowess_diag::wording;
use prowess_shell::programs;
use serde_json::{Value, json};

/// Returns the command of a server with its arguments, each quoted if it needs to be, or its URL.
/// Variables are not expanded.
pub fn server_command(server: &McpServer) -> String {
    match &server.transport {
        McpTransport::Program { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            let words = words.map(|word| wording::shell_word(word));
            words.collect::<Vec<_>>().join(" ")
        }
        McpTransport::Web { url, .. } => url.clone(),
    }
}

/// Returns the folder that a server starts in, and its environment variables or headers, as they are
/// written: trust covers the contents of the file.
pub fn server_settings(server: &McpServer) -> Vec<String> {
    let (folder, pairs) = match &server.transport {
        McpTransport::Program { env, cwd, .. } => (cwd.as_ref(), env),
        McpTransport::Web { headers, .. } => (None, headers),
    };
    let folder = folder.map(|folder| format!("in {}", folder.display()));
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("with {name} = {value}"));
    folder.into_iter().chain(pairs).collect()
}

/// Returns the files of the project that servers may execute or read, as far as their words tell.
pub fn project_programs<'s>(
    project: &Path,
    servers: impl IntoIterator<Item = &'s McpServer>,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for server in servers {
        let McpTransport::Program {
            command,
            args,
            env,
            cwd,
        } = &server.transport
        else {
            continue;
        };
        let folder = project.join(cwd.as_deref().unwrap_or(Path::new("")));
        let is_own = |name: &String| {
            let path = folder.join(name);
            path.starts_with(project) && path.is_file()
        };
        let words = std::iter::once(command).chain(args).chain(env.values());
        let found = words
            .flat_map(|word| programs::named_files(word))
            .filter(is_own);
        for name in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns a server as a document. Without `settings`, the values of variables and headers are left
/// out: they may be secrets.
pub(super) fn server(server: &McpServer, file: &str, settings: bool) -> Value {
    let (command, args, env, url, headers) = match &server.transport {
        McpTransport::Program {
            command, args, env, ..
        } => (Some(command), &**args, Some(env), None, None),
        McpTransport::Web { url, headers } => (None, &[][..], None, Some(url), Some(headers)),
    };
    let names = |pairs: Option<&BTreeMap<String, String>>| {
        let names = pairs.into_iter().flat_map(BTreeMap::keys);
        json!(names.collect::<Vec<_>>())
    };
    let mut document = json!({
        "name": server.name,
        "file": file,
        "command": command,
        "args": args,
        "env": names(env),
        "url": url,
        "headers": names(headers),
    });
    if settings {
        document["settings"] = json!(server_settings(server));
    }
    document
}
