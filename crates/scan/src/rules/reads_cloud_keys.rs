//! Keys of a cloud service that are read.

use super::{FindingSink, Passage};
use crate::matching::matcher;
use crate::private_files::{self, PrivateFiles};

rule!(
    "reads-cloud-keys",
    Warning,
    lowers: true,
    "a file with keys of a service is read",
    "let the program of the service use its keys itself",
    triggers: [
        ".aws/cred", ".aws\\cred", ".kube/config", "application_default_credentials", ".netrc", ".git-credentials", ".azure/", ".docker/config.json", ".config/gh/hosts",
        ".claude/.credentials", ".codex/auth.json", ".npmrc", ".pypirc", "169.254.169.254", "metadata.google.internal", "find-generic-password", ".openclaw/openclaw.json"
    ]
);

matcher!(
    FILES,
    r"(?: \.aws[/\\]credentials | [~/]\.kube/config | application_default_credentials\.json | [~/]\.netrc\b | \.git-credentials\b | \.azure/(?:accessTokens|msal)\w*
      | \.docker/config\.json | \.config/gh/hosts\.yml | \.claude/\.credentials\.json | \.codex/auth\.json | [~/]\.pypirc\b | \.openclaw/openclaw\.json )"
);
matcher!(
    METADATA,
    r"(?: 169\.254\.169\.254/latest/meta-data/iam/security-credentials | metadata\.google\.internal/computeMetadata/v1/instance/service-accounts/[^\s]*token )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let files = PrivateFiles {
        files: &FILES,
        is_public: |_| false,
    };
    if let Some(range) = private_files::read(passage, &files) {
        return out.plain(passage, range, "reads a file with keys of a service");
    }
    if let Some(range) = METADATA
        .find(passage.text)
        .filter(|_| passage.text.contains("curl") || passage.is_code)
    {
        out.passage(
            passage,
            range,
            "reads keys from the metadata service of a cloud",
        );
    }
}
