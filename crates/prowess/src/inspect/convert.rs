//! The document of a conversion.

use prowess_diag::FileReport;
use prowess_flow::convert::{Conversion, ConvertTarget};
use serde_json::{Value, json};

use super::agents::findings;

/// Returns the document of a conversion: `prowess.convert/1`. `out` is the folder that was written,
/// and `reports` are the findings of the source that prevent it.
pub fn conversion(
    target: ConvertTarget,
    conversion: &Conversion,
    out: Option<&str>,
    reports: &[FileReport],
) -> Value {
    let files: Vec<Value> = conversion
        .files
        .iter()
        .map(|file| json!({ "path": file.path, "bytes": file.text.len() }))
        .collect();
    let lost: usize = conversion
        .reports
        .iter()
        .map(|report| report.diagnostics.len())
        .sum();
    let all: Vec<FileReport> = reports.iter().chain(&conversion.reports).cloned().collect();
    json!({
        "schema": "prowess.convert/1",
        "to": target.as_str(),
        "out": out,
        "written": out.is_some(),
        "files": files,
        "counts": { "files": files.len(), "lost": lost },
        "findings": findings(&all),
    })
}
