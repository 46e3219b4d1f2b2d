//! A token of a service in a file.

use super::{FindingSink, Passage};
use crate::address::is_lively;
use crate::matching::matcher;

rule!(
    "token-inside",
    Error,
    lowers: false,
    "a file contains a token that looks live",
    "remove the token and revoke it, and read it from a variable instead",
    triggers: [
        "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-or-v1-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "AKIA", "xoxb-",
        "xoxp-", "xoxa-", "AIza", "sk_live_", "rk_live_", "npm_", "hf_", "SG.", "dop_v1_", "pypi-AgEI", ":AAE", ":AAF",
        ":AAG", ":AAH", "sk-", "xai-", "gsk_", "r8_", "ntn_", "lin_api_", "figd_", "shpat_", "tvly-", "moltbook_sk_"
    ]
);

matcher!(
    TOKENS,
    r"(?-i) \b(?:
      sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{60,} | sk-(?:proj|svcacct)-[A-Za-z0-9_-]{40,} | sk-or-v1-[a-f0-9]{64}
      | sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20} | sk-[A-Za-z0-9]{48} | sk-[a-f0-9]{32}
      | gh[pos]_[A-Za-z0-9]{36} | github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}
      | glpat-[A-Za-z0-9_-]{20} | AKIA[A-Z0-9]{16} | xox[bpa]-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9-]{20,}
      | AIza[A-Za-z0-9_-]{35} | [sr]k_live_[A-Za-z0-9]{24,} | npm_[A-Za-z0-9]{36} | hf_[A-Za-z0-9]{34}
      | SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43} | dop_v1_[a-f0-9]{64} | pypi-AgEI[A-Za-z0-9_-]{50,}
      | [0-9]{8,10}:AA[A-Za-z0-9_-]{33} | xai-[A-Za-z0-9]{80} | gsk_[A-Za-z0-9]{52} | r8_[A-Za-z0-9]{37}
      | ntn_[A-Za-z0-9]{46} | lin_api_[A-Za-z0-9]{40} | figd_[A-Za-z0-9_-]{40,} | shpat_[a-f0-9]{32}
      | tvly-[A-Za-z0-9-]{32,} | moltbook_sk_[A-Za-z0-9_-]{32} )(?:\b|$)"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    for range in TOKENS.find_all(passage.text) {
        let token = &passage.text[range.clone()];
        let start = token.find(['_', '-', '.', ':']).map_or(0, |at| at + 1);
        if is_lively(&token[start..]) {
            // The token itself stays out of messages.
            let shown: String = token.chars().take(8).collect();
            out.passage(
                passage,
                range,
                format!("the file contains a token (`{shown}…`) that looks live"),
            );
        }
    }
}
