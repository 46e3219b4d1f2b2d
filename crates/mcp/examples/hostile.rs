//! A scripted server that records its requests, for the tests of the client. It implements the
//! protocol by hand, so that it can violate it.
//!
//! `hostile PLAN LOG`: the plan is JSON with `skills` (entries of `skills/list`), `files` (texts by
//! URI), `tools`, `say` (lines sent before anything else) and `mode`.

use std::io::{BufRead, Write};

use anyhow::Context;
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (plan, log) = (
        args.next().context("a plan")?,
        args.next().context("a log")?,
    );
    let read =
        || -> anyhow::Result<Value> { Ok(serde_json::from_str(&std::fs::read_to_string(&plan)?)?) };
    let mut log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)?;
    writeln!(log, "start")?;
    let first = read()?;
    let mut out = std::io::stdout().lock();
    for line in first["say"].as_array().into_iter().flatten() {
        writeln!(out, "{}", line.as_str().unwrap_or_default())?;
    }
    match first["mode"].as_str() {
        Some("die") => {
            writeln!(std::io::stderr(), "cannot find my licence")?;
            std::process::exit(3);
        }
        Some("long-line") => {
            let piece = vec![b'x'; 1024 * 1024];
            for _ in 0..first["mebibytes"].as_u64().unwrap_or(64) {
                out.write_all(&piece)?;
            }
            out.write_all(b"\n")?;
        }
        _ => {}
    }
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        // Read it for each request: tests change it while the server runs.
        let plan = read()?;
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let about = match method {
            "resources/read" => params["uri"].as_str().unwrap_or_default(),
            "tools/call" => params["name"].as_str().unwrap_or_default(),
            _ => "",
        };
        writeln!(log, "{}", format!("{method} {about}").trim_end())?;
        let Some(id) = message.get("id") else {
            continue;
        };
        match plan["mode"].as_str() {
            Some("silent") => continue,
            Some("die-on-call") if method == "tools/call" => std::process::exit(4),
            Some("silent-on-call") if method == "tools/call" => continue,
            Some("ask-on-call") if method == "tools/call" => {
                // Send requests without reading the responses.
                loop {
                    writeln!(
                        out,
                        "{}",
                        json!({ "jsonrpc": "2.0", "id": "x".repeat(1_000), "method": "ping" })
                    )?;
                }
            }
            Some("change-on-call") if method == "tools/call" => {
                let note =
                    json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed" });
                for _ in 0..1_000 {
                    writeln!(out, "{note}")?;
                }
            }
            _ => {}
        }
        let answer = match result(method, params, &plan) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    writeln!(log, "end")?;
    Ok(())
}

fn result(method: &str, params: &Value, plan: &Value) -> Result<Value, Value> {
    let refuse = |message: &str| json!({ "code": -32602, "message": message });
    Ok(match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {}, "resources": { "listChanged": true },
                "extensions": { "io.modelcontextprotocol/skills": {} },
            },
            "serverInfo": { "name": "hostile", "version": "1" },
        }),
        "tools/list" => json!({ "tools": plan["tools"].as_array().cloned().unwrap_or_default() }),
        "tools/call" if plan["result"].is_object() => plan["result"].clone(),
        "tools/call" => {
            json!({ "content": [{ "type": "text", "text": format!("did {params}") }] })
        }
        "skills/list" if plan["endless"] == true => json!({ "skills": [], "nextCursor": "again" }),
        "skills/list" if plan["fat"] == true => {
            let page = params["cursor"]
                .as_str()
                .and_then(|page| page.parse().ok())
                .unwrap_or(0_u64);
            let mut entry = plan["skills"][0].clone();
            entry["junk"] = "x".repeat(1024 * 1024).into();
            entry["uri"] = format!("skill://shop/{page}/SKILL.md").into();
            json!({ "skills": [entry], "nextCursor": (page + 1).to_string() })
        }
        "skills/list" => json!({ "skills": plan["skills"], "resultType": "complete" }),
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            let text = plan["files"]
                .get(uri)
                .ok_or_else(|| refuse("no such file"))?;
            json!({ "contents": [{ "uri": plan["as"].as_str().unwrap_or(uri), "text": text }] })
        }
        "ping" => json!({}),
        _ => return Err(json!({ "code": -32601, "message": "no such method" })),
    })
}
