//! MCP servers that agent files define.

use prowess_spec::ResourcePath;

use crate::file_reader::{FileReader, VALUE, find};
use crate::model::ServerDef;
use crate::tree::NodeEntry;

/// Maximum number of servers of one file.
const MAX_SERVERS: usize = 64;

/// Reads the keys of a server: a program, or a URL.
pub(crate) fn server(
    reader: &mut FileReader<'_>,
    name: &str,
    file: &str,
    entries: &[NodeEntry],
) -> ServerDef {
    let mut pairs = |key: &str| {
        let entries = reader.map(entries, key).unwrap_or_default();
        let pairs = entries
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.into())));
        pairs.collect()
    };
    let (env, headers) = (pairs("env"), pairs("headers"));
    let args = reader.list(entries, "args").unwrap_or_default();
    let args = args.iter().filter_map(|item| Some(item.text()?.into()));
    ServerDef {
        name: name.into(),
        file: file.into(),
        args: args.collect(),
        command: reader.text(entries, "command"),
        url: reader.text(entries, "url"),
        env,
        headers,
    }
}

/// Reads `mcp.json` of core-agent: a map `servers`.
pub(crate) fn servers_file(reader: &mut FileReader<'_>, path: &ResourcePath) -> Vec<ServerDef> {
    let Some(entries) = super::dialects::json_object(reader) else {
        return Vec::new();
    };
    let mut servers = Vec::new();
    for entry in reader.map(&entries, "servers").unwrap_or_default() {
        if servers.len() == MAX_SERVERS {
            let message = format!("only the first {MAX_SERVERS} servers of a file are read");
            reader.report(VALUE, entry.key_span, message, "split the file");
            break;
        }
        let Some(keys) = entry.value.entries() else {
            reader.wrong_type(entry, "an object");
            continue;
        };
        if find(keys, "auth").is_some() {
            let message = format!("`auth` of the server `{}` has no effect", entry.key);
            let help = "set a header with a variable instead, such as `\"headers\": {…}`";
            reader.report(
                crate::file_reader::UNSUPPORTED,
                entry.key_span,
                message,
                help,
            );
        }
        servers.push(server(reader, &entry.key, path.as_str(), keys));
    }
    servers
}
