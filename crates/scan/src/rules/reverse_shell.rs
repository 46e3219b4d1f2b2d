//! A shell that another machine controls.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "reverse-shell",
    Error,
    lowers: true,
    "a shell is connected to another machine",
    "do not run it: the other machine could run any command",
    triggers: [
        "/dev/tcp/", "/dev/udp/", "nc ", "ncat", "netcat", "mkfifo", "mknod", "pty.spawn", "dup2", "fsockopen", "tcpsocket", "net.socket", "net.connect",
        "createConnection", "tcpclient", "socat", "use socket", "io::socket", "/inet/tcp", "socket.tcp", "openssl s_client", "telnet ", "bash -i", "sh -i",
        "socket.socket", "n'c", "zsh/net/tcp", "s_client"
    ]
);

matcher!(
    LINE,
    r"(?: \b(?:ba|z|k|da)?sh \s+ -i \b [^\n]* /dev/(?:tcp|udp)/ )
      | (?: /dev/(?:tcp|udp)/ [^\n]* (?: 0>&1 | 0<&1 | <&\s?1 | \b(?:ba|z|da)?sh\s+(?:-i|<&|0<) ) )
      | (?: \b(?:ba|z|da)?sh \b [^\n]{0,20} (?:<|>|&>|>&)\s* /dev/(?:tcp|udp)/ [^\n]*\d [^\n]{0,12} (?:0>&1|2>&1|<&) )
      | (?: \bexec \s+ \d+<>\s*/dev/(?:tcp|udp)/ [^\n]* (?: \b(?:ba|z|da)?sh\b | while\s+read [^\n]* (?:eval|\$\w+\s+2>&1|\$line) ) )
      | (?: \b(?:nc|ncat|netcat|nc\.exe|nc\.traditional) \b [^|;\n]* \s(?:-[a-z]*[ec]\b|--exec|--sh-exec) \s* [\x22']?\S{0,20}\b(?:sh|bash|zsh|cmd|cmd\.exe|powershell|powershell\.exe)\b )
      | (?: \bmk(?:fifo|nod) \b [^\n]* \b(?:ba|z|da)?sh \b [^\n]* \b(?:nc|ncat|netcat|telnet|openssl|socat)\b )
      | (?: \btelnet \b [^|\n]* \| \s* (?:/bin/)?(?:ba|z|da)?sh \s* \| \s* telnet )
      | (?: \b(?:nc|ncat|netcat) \b [^|\n]* \| \s* (?:/bin/)?(?:ba|z|da)?sh \s* \| \s* (?:nc|ncat|netcat) )
      | (?: \bsocat \b [^\n]* \bexec:\s*[\x22']?\S{0,16}\b(?:ba|z|da)?sh\b )
      | (?: \bsocat \b [^\n]* \bexec:\S*(?:cmd|powershell) )
      | (?: /inet/(?:tcp|udp)/ [^\n]* (?: getline | system\( | \| ) )
      | (?: \bphp \b [^\n]* fsockopen [^\n]* (?:exec|shell_exec|system|passthru|popen|proc_open) )
      | (?: \bTCPSocket\.(?:new|open) [^\n]* (?: exec | popen | spawn | \$stdin\.reopen ) )
      | (?: \bsocket\.tcp\(\) [^\n]* (?: os\.execute | io\.popen ) )
      | (?: \buse\s+Socket \b [^\n]* exec [^\n]{0,30} (?:/bin/)?(?:ba|z|da)?sh )
      | (?: \bIO::Socket::INET [^\n]* (?: exec | system | ->fdopen | \x60 ) )
      | (?: \bTCPClient\s*\( [^\n]* \b(?:iex|invoke-expression)\b )
      | (?: \b(?:net\.(?:Socket|connect|createConnection)|createConnection) [^\n]* (?: /bin/(?:ba|z|da)?sh | cmd\.exe ) )
      | (?: (?: /bin/(?:ba|z|da)?sh | cmd\.exe ) [^\n]* \b net\.(?:Socket|connect|createConnection) )
      | (?: \bztcp \b [^\n]* (?:>&|<&)\$?\{?REPLY )"
);
matcher!(CONNECT, r"\.\s*connect\s*\(|create_connection\s*\(");
matcher!(
    HANDS_OVER,
    r"\bdup2\s*\(|\bpty\.spawn\s*\(|(?:subprocess\.\w+|Popen|os\.popen|os\.system|check_output)\s*\(\s*(?:\[\s*)?[\x22'](?:/bin/)?(?:ba|z|da)?sh[\x22']|subprocess\.\w+\(\s*\w+\s*,\s*shell\s*=\s*True"
);
matcher!(
    SOCKET,
    r"\bsocket\.socket\s*\(|\bsocket\(\s*(?:socket\.)?AF_INET|from\s+socket\s+import"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    const MESSAGE: &str = "connects a shell to another machine";
    if let Some(range) = LINE.find(&passage.plain().text) {
        return out.plain(passage, range, MESSAGE);
    }
    // Programs of several lines.
    let around = passage.around();
    if let Some(range) = HANDS_OVER
        .find(passage.text)
        .or_else(|| SOCKET.find(passage.text))
        && SOCKET.is_match(around)
        && CONNECT.is_match(around)
        && (around.contains("dup2") || around.contains("pty.spawn") || is_command_loop(around))
    {
        out.passage(passage, range, MESSAGE);
    }
}

matcher!(RECEIVED, r"\.recv\s*\(");
matcher!(
    RUNS_RECEIVED,
    r"(?:subprocess\.\w+|Popen|os\.popen|os\.system|check_output|getoutput)\s*\(\s*(?:cmd|command|data|buf|msg|received|line)\b"
);

/// Returns `true` if a program runs what it receives.
fn is_command_loop(text: &str) -> bool {
    RECEIVED.is_match(text) && RUNS_RECEIVED.is_match(text)
}
