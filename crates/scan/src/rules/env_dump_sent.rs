//! The environment sent to another machine.

use prowess_shell::pipeline::{self, Stage};

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "env-dump-sent",
    Error,
    lowers: true,
    "all environment variables are sent to another machine",
    "do not run it: the environment usually contains keys",
    triggers: [
        "env |", "env|", "env$", "$(env", "`env", "<(env", "printenv", "process.env", "os.environ", "export -p", "declare -x", "/environ", "env:", "ENV.to_",
        "getenvironmentvariables", "set |", "e'nv", "en'v", "env)", "e\\nv", "en\\v"
    ]
);

matcher!(
    IN_CODE,
    r"(?: \b(?:requests|httpx|session|client|aiohttp)\.(?:post|put|patch|request)\s*\( [^\n]* (?: (?:json|data|params|content|body)\s*=\s*(?:\{[^}\n]*:\s*)? (?:str\(|dict\(|json\.dumps\(|repr\()* \s*(?:dict\()?\s* os\.environ (?:\.copy\(\))? \s* [,)\x7d] ) )
      | (?: \b(?:urlopen|urllib\.request\.\w+|urlencode)\s*\( [^\n]* (?:dict\(|str\(|json\.dumps\()* \s*os\.environ \s*(?:\.copy\(\))?\s*\) )
      | (?: \b(?:fetch|axios(?:\.post|\.put)?|http\.request|https\.request|got(?:\.post)?|\.write|\.send|\.end|sendBeacon)\s*\( [^\n]* (?: JSON\.stringify\(\s*(?:\{[^}\n]*:\s*)?process\.env\s*[)\x7d,] | (?:body|data|json)\s*:\s*process\.env\s*[,)\x7d] | \bprocess\.env\s*\) ) )
      | (?: \b(?:irm|iwr|invoke-restmethod|invoke-webrequest)\b [^\n]* (?: \bgci\s+env: | get-childitem\s+env: | \[environment\]::getenvironmentvariables ) )
      | (?: (?: \bgci\s+env: | get-childitem\s+env: | getenvironmentvariables ) [^\n]* \b(?:irm|iwr|invoke-restmethod|invoke-webrequest)\b )
      | (?: \bENV\.to_(?:h|a|json|hash)\b [^\n]* \b(?:Net::HTTP|post)\b ) | (?: \bNet::HTTP\.post\w* [^\n]* \bENV\.to_ )"
);

// Names of what sends, in any of the languages.
matcher!(
    SENDS,
    r"\b(?: curl | wget | nc | ncat | netcat | socat | telnet | irm | iwr | invoke-\w+ | post | put | fetch | axios | got | urlopen | urllib | urlencode | request\w* | httpx | send\w* | write | http\w* | mail )\b"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    const MESSAGE: &str = "sends all environment variables to another machine";
    let text = &passage.plain().text;
    if !SENDS.is_match(text) {
        return;
    }
    let stages = passage.stages();
    for (at, stage) in stages.iter().enumerate() {
        if !stage.dumps_environment() {
            continue;
        }
        if let Some(reader) = pipeline::consumer(&stages, at, &|stage: &Stage<'_>| sends(stage)) {
            return out.plain(passage, stage.range.start..reader.range.end, MESSAGE);
        }
        if let Some(outer) = pipeline::surroundings(&stages, at).find(|outer| sends(outer)) {
            return out.plain(passage, outer.range.start..stage.range.end, MESSAGE);
        }
    }
    if let Some(range) = IN_CODE.find(text) {
        out.plain(passage, range, MESSAGE);
    }
}

/// Returns `true` if a command sends what it is given.
pub(super) fn sends(stage: &Stage<'_>) -> bool {
    let Some(program) = stage.command().first() else {
        return false;
    };
    stage
        .sender()
        .is_some_and(|at| stage.words[at] == *program || at == 0)
}
