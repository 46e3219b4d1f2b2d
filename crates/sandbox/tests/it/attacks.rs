//! Attempts of a hostile script. Each one must work without the sandbox, or it proves nothing.
//!
//! So every line below really happens, and as root if the tests are run by root. It must be harmless
//! where it works: it touches the scene, or puts back what it changed. Nothing may stay mounted:
//! removing the scene would remove what is mounted in it.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};

use prowess_policy::profile::Strength;

use crate::support::{
    Lacking, Place, Runtime, as_ordinary_user, mode, private_helper, probe, root, strong_sets,
};

prowess_test::tests! {
    scripts_that_work_without_the_sandbox_fail_inside
    place_holders_are_gone_afterwards
    a_protected_link_is_protected_too
}

/// A name, and a script that ends with 0 if the attack worked. Names in braces are replaced.
const ATTACKS: &[(&str, &str)] = &[
    ("read a key in home", "cat {home}/.ssh/id_rsa"),
    (
        "read a key through a link",
        "ln -s {home}/.ssh/id_rsa l && cat l",
    ),
    (
        "read a key through a link to its folder",
        "ln -s {home} l && cat l/.ssh/id_rsa",
    ),
    (
        "read a key through /proc/self/root",
        "cat /proc/self/root{home}/.ssh/id_rsa",
    ),
    (
        "read a key by a hard link",
        "ln {home}/.ssh/id_rsa l && cat l",
    ),
    ("list the folder of keys", "ls {home}/.ssh | grep id_rsa"),
    ("read our own state", "cat {ours}/trust.json"),
    ("write our own state", "echo x > {ours}/trust.json"),
    (
        "make a hook where none is",
        "echo x > {work}/.git/hooks/pre-commit",
    ),
    (
        "make a hook after moving the folder",
        "mv {work}/.git {work}/g && mkdir -p {work}/.git/hooks && echo x > {work}/.git/hooks/pre-commit",
    ),
    (
        "make a hook after moving the hooks",
        "mv {work}/.git/hooks {work}/.git/h && mkdir {work}/.git/hooks && echo x > {work}/.git/hooks/pre-commit",
    ),
    (
        "make a hook through a link",
        "ln -s {work}/.git/hooks l && echo x > l/pre-commit",
    ),
    (
        "move a hook into place",
        "echo x > h && mv h {work}/.git/hooks/pre-commit && test -e {work}/.git/hooks/pre-commit",
    ),
    ("write git's configuration", "echo x >> {work}/.git/config"),
    (
        "replace git's configuration",
        "echo x > c && mv -f c {work}/.git/config && grep x {work}/.git/config",
    ),
    (
        "remove git's configuration",
        "rm -f {work}/.git/config && test ! -e {work}/.git/config",
    ),
    (
        "make settings where none are",
        "mkdir -p {work}/.agents && echo x > {work}/.agents/prowess.toml",
    ),
    ("make settings as a link", "ln -s /etc/passwd {work}/.envrc"),
    (
        "make settings by renaming",
        "echo x > e && mv e {work}/.envrc && test -e {work}/.envrc",
    ),
    (
        "make settings by a hard link",
        "echo x > e && ln e {work}/.envrc",
    ),
    ("write a start-up file", "echo x >> {home}/.bashrc"),
    ("make a start-up file", "echo x > {home}/.zshenv"),
    ("write its own skill", "echo x >> {skill}/SKILL.md"),
    ("make a script in its own skill", "echo x > {skill}/run.sh"),
    ("write outside", "echo x >> {outside}/file"),
    (
        "write outside through a link",
        "ln -s {outside}/file l && echo x >> l",
    ),
    (
        "write outside through a linked folder",
        "ln -s {outside} l && echo x > l/new",
    ),
    (
        "write outside through /proc/PID/root",
        "echo x >> /proc/{runtime}/root{outside}/file",
    ),
    (
        "write outside through /proc/PID/cwd",
        "cd {outside} && (echo x >> /proc/{runtime}/cwd/{relative})",
    ),
    (
        "remove outside",
        "rm -f {outside}/file && test ! -e {outside}/file",
    ),
    ("rename outside", "mv {outside}/file {outside}/other"),
    (
        "take a file from outside",
        "mv {outside}/file taken && test ! -e {outside}/file",
    ),
    ("change a mode outside", "chmod 600 {outside}/file"),
    ("change a time outside", "touch {outside}/file"),
    ("change an owner outside", "chown 1 {outside}/file"),
    (
        "make a cron job",
        "echo x > /etc/cron.d/prowess-test && rm /etc/cron.d/prowess-test",
    ),
    (
        "write a program of the system",
        "touch /usr/local/bin/prowess-test && rm /usr/local/bin/prowess-test",
    ),
    (
        "read a disk",
        "read -r major minor rest < <(tail -n 1 /proc/partitions) && mknod disk b $major $minor && head -c 1 disk",
    ),
    ("make a device", "mknod d c 1 3"),
    ("read the password file", "head -c 1 /etc/shadow"),
    ("TCP by bash", "exec 3<>/dev/tcp/127.0.0.1/{tcp}"),
    ("UDP by bash", "echo x > /dev/udp/127.0.0.1/{udp}"),
    (
        "TCP by a program",
        "{probe} tcp=127.0.0.1:{tcp} | grep works",
    ),
    ("a name server", "{probe} udp=127.0.0.1:{udp} | grep works"),
    (
        "a socket of this machine, such as docker's",
        "{probe} path-socket={socket} | grep works",
    ),
    (
        "a socket of this machine, from a pair",
        "{probe} datagram-pair={datagram} | grep works",
    ),
    (
        "point git to another folder",
        "mkdir -p {work}/evil/objects && echo ../evil > {work}/.git/commondir",
    ),
    (
        "point git to another folder by renaming",
        "echo ../evil > c && mv c {work}/.git/commondir",
    ),
    (
        "take the git folder away",
        "mv {work}/.git {work}/g && test ! -e {work}/.git",
    ),
    (
        "break the git folder and become one",
        "rm -f {work}/.git/HEAD && echo 'ref: refs/heads/main' > {work}/HEAD",
    ),
    (
        "make a git folder of a nested one",
        "echo x >> {work}/nested/.git/config",
    ),
    (
        "point a submodule elsewhere",
        "rm -f {work}/module/.git && mkdir {work}/module/.git",
    ),
    ("signal the runtime", "kill -0 {runtime}"),
    (
        "signal its own parent",
        "p=$PPID; [ $p -gt 1 ] && kill -0 $p && [ -e /proc/{runtime} ]",
    ),
    ("trace the runtime", "{probe} ptrace={runtime} | grep works"),
    (
        "read the runtime's variables",
        "{probe} read-environment={runtime} | grep works",
    ),
    (
        "read the runtime's memory map",
        "head -c 1 /proc/{runtime}/maps",
    ),
    (
        "list the runtime's descriptors",
        "ls /proc/{runtime}/fd | grep .",
    ),
    ("mount", "mkdir m && {probe} mount={work}/m | grep works"),
    (
        "bind a folder over another",
        "mkdir m && {probe} bind={work}/m | grep works",
    ),
    ("new user namespace", "unshare -U true"),
    ("new user and mount namespace", "unshare -Urm true"),
    ("another root", "chroot / true"),
    ("set the clock", "{probe} clock | grep works"),
    ("set the host's name", "{probe} host-name | grep works"),
    ("keys of the session", "{probe} keyctl | grep works"),
    ("io_uring", "{probe} io-uring | grep works"),
    ("bpf", "{probe} bpf | grep works"),
    (
        "a file that runs as its owner",
        "cp /bin/true t && chmod 4755 t && test -u t",
    ),
    (
        "a file made to run as its owner",
        "{probe} set-user-made={work}/s | grep works",
    ),
    (
        "become another user",
        "setpriv --reuid=1 --clear-groups true",
    ),
    (
        "where crashes go",
        "p=/proc/sys/kernel/core_pattern; cat $p > c && cat c > $p",
    ),
    (
        "settings of the kernel",
        "p=/proc/sys/vm/swappiness; cat $p > c && cat c > $p",
    ),
    ("open_tree_attr", "{probe} open-tree-attr | grep works"),
    ("statmount", "{probe} statmount | grep works"),
    ("listmount", "{probe} listmount | grep works"),
    ("any capability", "{probe} capability | grep works"),
    ("new privileges", "{probe} new-privileges | grep works"),
    (
        "leave its control group",
        "for f in $(find /sys/fs/cgroup -name cgroup.procs 2> /dev/null | head -20); do echo 0 > $f && exit 0; done; exit 1",
    ),
    (
        "files of the kernel",
        "test -w /sys/module && test -w /sys/kernel",
    ),
];

struct Scene {
    place: Place,
    runtime: Runtime,
    tcp: TcpListener,
    udp: UdpSocket,
    _socket: UnixListener,
    _datagrams: UnixDatagram,
}

impl Scene {
    fn new(strength: Strength, without: Lacking<'_>) -> Self {
        let mut place = Place::new(strength).without(without);
        if strength == Strength::Off {
            place.runner = prowess_sandbox::Runner::with_helper(private_helper());
        }
        let (here, work) = (place.here(), place.work().to_owned());
        let folder = |path: &std::path::Path| {
            std::fs::create_dir_all(path).unwrap();
            mode(path, 0o777);
        };
        for path in [
            work.join(".git"),
            work.join(".git/hooks"),
            work.join("nested"),
            work.join("nested/.git"),
            work.join("module"),
            here.join("home"),
        ] {
            folder(&path);
        }
        for path in [
            here.join("home/.ssh"),
            here.join("ours"),
            here.join("skill"),
        ] {
            folder(&path);
        }
        let file = |path: &str, bits| {
            std::fs::write(here.join(path), "content\n").unwrap();
            mode(&here.join(path), bits);
        };
        // Files that everybody may write: it is the sandbox that stops, not their mode.
        for path in [
            "work/.git/config",
            "work/.git/HEAD",
            "work/nested/.git/config",
            "work/module/.git",
            "home/.ssh/id_rsa",
            "home/.bashrc",
            "ours/trust.json",
            "skill/SKILL.md",
        ] {
            file(path, 0o666);
        }
        file("outside/file", 0o644);
        let protected =
            [".git/hooks", ".git/config", ".agents", ".envrc"].map(|name| work.join(name));
        let home = [".bashrc", ".zshenv"].map(|name| here.join("home").join(name));
        place.profile.protected = protected
            .into_iter()
            .chain(home)
            .chain([here.join("skill")])
            .collect();
        place.profile.hidden = vec![here.join("home/.ssh"), here.join("ours")];
        place.profile.readable.extend([
            here.join("home"),
            here.join("skill"),
            here.join("outside"),
        ]);
        place.profile.limits.deadline_ms = 20_000;
        let socket = here.join("outside/socket");
        Self {
            _socket: UnixListener::bind(&socket).unwrap(),
            _datagrams: UnixDatagram::bind(here.join("outside/datagram")).unwrap(),
            runtime: Runtime::start(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            place,
        }
    }

    fn works(&self, script: &str) -> Result<bool, String> {
        let here = self.place.here();
        let show = |name: &str| here.join(name).to_str().unwrap().to_owned();
        let own = std::fs::read_link(format!("/proc/{}/cwd", self.runtime.pid())).unwrap();
        let up = "../".repeat(own.components().count() - 1);
        let values = [
            ("{home}", show("home")),
            ("{work}", show("work")),
            ("{ours}", show("ours")),
            ("{skill}", show("skill")),
            ("{outside}", show("outside")),
            ("{socket}", show("outside/socket")),
            ("{datagram}", show("outside/datagram")),
            (
                "{relative}",
                format!("{up}{}", show("outside/file").trim_start_matches('/')),
            ),
            ("{runtime}", self.runtime.pid().to_string()),
            ("{tcp}", self.tcp.local_addr().unwrap().port().to_string()),
            ("{udp}", self.udp.local_addr().unwrap().port().to_string()),
            ("{probe}", probe().display().to_string()),
        ];
        let mut line = script.to_owned();
        for (name, value) in values {
            line = line.replace(name, &value);
        }
        // A script, so that builtins and redirections are the shell's.
        let outcome = self.place.try_run(&format!("({line}) && echo IT WORKED"));
        let outcome = outcome.map_err(|error| error.to_string())?;
        Ok(outcome.stdout.text().contains("IT WORKED"))
    }
}

fn nothing_works(sets: &[(&str, Lacking<'_>)]) {
    let (mut tried, mut void, mut through) = (0, Vec::new(), Vec::new());
    for (name, script) in ATTACKS {
        // A new scene each time: what worked has changed the old one.
        if Scene::new(Strength::Off, (&[]).into()).works(script) != Ok(true) {
            void.push(*name);
            continue;
        }
        for (set, without) in sets {
            tried += 1;
            let scene = Scene::new(Strength::Required, *without);
            match scene.works(script) {
                Ok(false) => {}
                Ok(true) => through.push(format!("{set}: {name}")),
                Err(error) => through.push(format!("{set}: {name}: {error}")),
            }
        }
    }
    println!("{tried} attacks tried; no control here for {void:?}");
    assert!(
        through.is_empty(),
        "{} got through: {through:#?}",
        through.len()
    );
    assert!(
        ATTACKS.len() - void.len() >= 40,
        "too few controls work: {void:?}"
    );
}

fn scripts_that_work_without_the_sandbox_fail_inside() {
    nothing_works(&strong_sets());
    if root() {
        println!(
            "as an ordinary user: {}",
            as_ordinary_user("attacks::as_a_user")
        );
    }
}

pub(crate) fn as_a_user() {
    nothing_works(&strong_sets()[..1]);
}

fn place_holders_are_gone_afterwards() {
    let scene = Scene::new(Strength::Required, (&[]).into());
    let outcome = scene.place.run("ls -la; echo fine");
    assert!(
        outcome.stdout.text().contains(".envrc"),
        "one stands there meanwhile"
    );
    let work = scene.place.work();
    for path in [".agents", ".envrc"] {
        assert!(
            work.join(path).symlink_metadata().is_err(),
            "{path} is left"
        );
    }
    assert!(work.join(".git/config").exists());
}

fn a_protected_link_is_protected_too() {
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        std::fs::write(place.work().join("real"), "x\n").unwrap();
        std::os::unix::fs::symlink("real", place.work().join("link")).unwrap();
        std::fs::create_dir(place.work().join("folder")).unwrap();
        mode(&place.work().join("folder"), 0o777);
        place.profile.protected = vec![place.work().join("link")];
        let tries = [
            "echo y > link",
            "rm -f link; echo y > link",
            "echo y > real",
            "mv link l",
        ];
        for line in tries {
            place.run(line);
            assert_eq!(
                std::fs::read_to_string(place.work().join("link")).unwrap(),
                "x\n",
                "{name}: {line}"
            );
        }
        let fine = place.run("echo z > folder/new && cat folder/new");
        assert_eq!(
            fine.stdout.text(),
            "z\n",
            "{name}: its siblings are still writable"
        );
    }
}
