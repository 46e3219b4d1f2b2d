//! MCP servers that agent files define.
//!
//! The text of a file of servers is kept, and `prowess-config` parses it for the trust summary and
//! for a session alike. Only findings are made here.

use prowess_spec::ResourcePath;

use crate::file_reader::{FileReader, UNSUPPORTED, VALUE, find};
use crate::model::ServerFile;
use crate::tree::NodeEntry;

/// Maximum number of servers of one file.
const MAX_SERVERS: usize = 64;

/// Checks the keys of a server: a program, or a URL.
pub(crate) fn check_server(reader: &mut FileReader<'_>, entries: &[NodeEntry]) {
    reader.map(entries, "env");
    reader.map(entries, "headers");
    reader.list(entries, "args");
    reader.text(entries, "command");
    reader.text(entries, "url");
}

/// Checks `mcp.json` of core-agent: a map `servers`.
pub(crate) fn check_servers(reader: &mut FileReader<'_>) {
    let Some(entries) = super::dialects::json_object(reader) else {
        return;
    };
    let servers = reader.map(&entries, "servers").unwrap_or_default();
    for (number, entry) in servers.iter().enumerate() {
        if number == MAX_SERVERS {
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
            reader.report(UNSUPPORTED, entry.key_span, message, help);
        }
        check_server(reader, keys);
    }
}

/// Returns a file of servers with its text.
pub(crate) fn server_file(path: &ResourcePath, text: &str) -> ServerFile {
    ServerFile {
        path: path.as_str().into(),
        text: text.into(),
    }
}
