//! A private repository over ssh: a real server, a real agent, and keys of their own.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use prowess_package::operations::{AddRequest, PackageContext, apply, plan_add};
use prowess_package::{PackageError, PackageExit};
use prowess_test::harness;

use crate::shop::{Shop, typed};
use crate::support::Repository;

prowess_test::tests! {
    private_source_needs_a_key_of_the_agent
}

const SSHD: &str = "/usr/sbin/sshd";
/// The deadline of the requirement.
const DEADLINE: Duration = Duration::from_secs(10);

/// Starts a server, with a process for each connection. Returns its port.
fn start_server(folder: &Path) -> u16 {
    let config = folder.join("sshd_config");
    let text = format!(
        "HostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\nPidFile none\n",
        folder.display()
    );
    fs::write(&config, text).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let log = folder.join("log");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let input: OwnedFd = stream.try_clone().unwrap().into();
            let output: OwnedFd = stream.into();
            let child = Command::new(SSHD)
                .args(["-i", "-f"])
                .arg(&config)
                .arg("-E")
                .arg(&log)
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::null())
                .spawn();
            // Reaped when the connection ends.
            thread::spawn(move || child.map(|mut child| child.wait()));
        }
    });
    port
}

/// An ssh agent with one key.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(folder: &Path, key: &Path) -> Self {
        let socket = folder.join("agent");
        let mut child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It prints its variables when it listens.
        let mut first = [0];
        let output = child.stdout.as_mut().unwrap();
        output.read_exact(&mut first).unwrap();
        let added = Command::new("ssh-add")
            .args(["-q", "--"])
            .arg(key)
            .env("SSH_AUTH_SOCK", &socket)
            .status();
        assert!(added.unwrap().success());
        Self { child, socket }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// packages.md line 53.
fn private_source_needs_a_key_of_the_agent() {
    // A server that root starts needs a folder for its unprivileged part.
    let is_ready = Path::new("/run/sshd").is_dir() || !rustix::process::getuid().is_root();
    if !Path::new(SSHD).exists() || !is_ready {
        let reason = "`sshd` is not installed, or `/run/sshd` does not exist";
        harness::skip_unless_required(reason, "PROWESS_TEST_REQUIRE_SSHD");
    }
    let shop = Shop::new();
    let repository = Repository::create(shop.root.join("repo"));
    repository.skill("pdf", "pdf", "1.0.0", "Private.");
    repository.commit("one");
    let folder = shop.root.join("ssh");
    fs::create_dir(&folder).unwrap();
    for (name, passphrase) in [("host", ""), ("key", ""), ("locked", "passphrase")] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", passphrase, "-f"])
            .arg(folder.join(name))
            .status();
        assert!(made.unwrap().success());
    }
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let keys = format!("{}{}", read("key.pub"), read("locked.pub"));
    fs::write(folder.join("authorized"), keys).unwrap();
    let port = start_server(&folder);
    let known = format!("[127.0.0.1]:{port} {}", read("host.pub"));
    fs::write(folder.join("known"), known).unwrap();
    // The person's own ssh command: another list of hosts, and no key but the named one.
    let home = shop.root.join("home");
    fs::create_dir_all(&home).unwrap();
    let configure = |identity: &str, hosts: &str| {
        let config = folder.join("config");
        let text = format!(
            "Host *\nUserKnownHostsFile {}\nGlobalKnownHostsFile none\nIdentityFile {identity}\n",
            folder.join(hosts).display()
        );
        fs::write(&config, text).unwrap();
        let text = format!("[core]\nsshCommand = ssh -F {}\n", config.display());
        fs::write(home.join(".gitconfig"), text).unwrap();
    };
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let place = repository.folder.display();
    let source = format!("ssh://{}@127.0.0.1:{port}{place}", user.trim());
    let add = |socket: Option<&Path>| -> Result<(), PackageError> {
        let mut context = shop.context();
        let socket = socket.map(|socket| ("SSH_AUTH_SOCK".into(), socket.into()));
        context.environment.extend(socket);
        add_within(context, source.clone())
    };
    let is_refused = |result: Result<(), PackageError>| {
        let error = result.unwrap_err();
        assert_eq!(error.exit(), PackageExit::Credentials, "{error:?}");
        let shown = error.to_string();
        for word in ["passphrase", "assword:", "(yes/no"] {
            assert!(!shown.contains(word), "{shown}");
        }
        assert_eq!(shop.read(".agents/prowess.lock"), None);
    };
    configure("none", "known");
    is_refused(add(None));
    // A key with a passphrase is not asked for.
    configure(folder.join("locked").to_str().unwrap(), "known");
    is_refused(add(None));
    let agent = Agent::start(&folder, &folder.join("key"));
    // An unknown host is not accepted, and not asked about.
    configure("none", "unknown");
    is_refused(add(Some(&agent.socket)));
    configure("none", "known");
    add(Some(&agent.socket)).unwrap();
    assert_eq!(
        shop.lock().packages[0].source.to_string(),
        format!("git+{source}")
    );
}

/// Adds the skill `pdf` of a source within the deadline.
fn add_within(context: PackageContext, source: String) -> Result<(), PackageError> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let request = AddRequest::new(typed(&source), &["pdf"]);
        let added = plan_add(&context, &request).and_then(|plan| apply(&context, &plan));
        let _ = sender.send(added.map(drop));
    });
    receiver.recv_timeout(DEADLINE).unwrap()
}
