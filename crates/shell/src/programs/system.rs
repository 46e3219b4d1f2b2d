//! The machine itself.

use super::Changes;
use super::ProgramEffect::{Configures, Reads, Runs, Writes};
use super::engine::{NONE, Program, Starts, any, because, list, operand, opt, outside};

pub(super) const SYSTEM: &[Program] = &[
    Program {
        names: list("hostname domainname dnsdomainname mount swapon locale-gen mesg"),
        options: &[opt(
            "-F: --file: -a --all -b --boot",
            Configures,
            "changes the machine",
            "mount -a",
        )],
        operands: &[operand(
            0,
            any,
            Configures,
            "changes the machine",
            "hostname x",
        )],
        values: list("-t -o"),
        plain: &["hostname", "mount", "hostname -f"],
        ..NONE
    },
    Program {
        names: list(
            "umount swapoff modprobe insmod rmmod depmod iptables ip6tables nft ufw \
                     firewall-cmd shutdown reboot halt poweroff init telinit useradd usermod \
                     userdel groupadd adduser deluser passwd chpasswd chsh chfn visudo vipw mkfs \
                     fdisk parted sfdisk wipefs losetup cryptsetup lvm mdadm setcap chattr \
                     setfacl update-alternatives ldconfig update-rc.d chkconfig hostnamectl \
                     timedatectl localectl loginctl setenforce semanage auditctl kexec \
                     grub-install efibootmgr hwclock ntpdate setterm stty chvt launchctl \
                     defaults dscl diskutil networksetup pmset csrutil spctl nvram systemsetup \
                     reg sc schtasks netsh wmic rundll32 regsvr32 mshta certutil bitsadmin \
                     mkswap mknod debugfs gsettings dconf xdotool xset dbus-send busctl gdbus \
                     logger wall write service rc-service",
        ),
        always: Some(because(Configures, "changes the machine", "iptables -F")),
        changes: Changes::Always,
        ..NONE
    },
    Program {
        names: list("sysctl"),
        options: &[opt(
            "-w --write -p? --load? --system",
            Configures,
            "changes the kernel",
            "sysctl -w a=b",
        )],
        operands: &[operand(
            0,
            |text| text.contains('='),
            Configures,
            "changes the kernel",
            "sysctl a.b=c",
        )
        .globs()],
        plain: &["sysctl -a", "sysctl kernel.ostype"],
        ..NONE
    },
    Program {
        names: list("systemctl journalctl supervisorctl pm2 resolvectl networkctl"),
        options: &[
            opt(
                "-H: --host: -M: --machine: --root: --image: -D: --directory: --file:",
                Reads,
                "connects to another machine",
                "systemctl -H x status",
            ),
            opt(
                "--vacuum-size: --vacuum-time: --vacuum-files: --rotate --flush --sync \
                 --setup-keys --relinquish-var --update-catalog --cursor-file:",
                Writes,
                "changes the journal",
                "journalctl --rotate",
            ),
        ],
        values: list(
            "-u -n -t -p -o -S -U -s --unit --since --until --lines --type --state --output",
        ),
        quiet: "status show list-units list-unit-files list-timers list-sockets is-active is-enabled \
                is-failed list-dependencies cat get-default list query --version",
        other: Some(because(
            Configures,
            "changes what runs",
            "systemctl restart x",
        )),
        plain: &[
            "systemctl status nginx",
            "journalctl -u x -n 50",
            "systemctl list-units",
        ],
        ..NONE
    },
    Program {
        names: list("ip ifconfig route arp iw iwconfig brctl tc bridge"),
        options: &[opt(
            "-b: -batch: -B: -n: -netns:",
            Runs,
            "runs a list of commands",
            "ip -b x",
        )],
        operands: &[operand(
            0,
            changes_network,
            Configures,
            "changes the network",
            "ip l set x",
        )
        .globs()],
        values: list("-f -family"),
        words: true,
        subs: &[Program {
            names: list("netns vrf"),
            subs: &[Program {
                names: list("exec"),
                operands: &[operand(
                    1,
                    any,
                    Runs,
                    "is a program that it starts",
                    "ip netns exec x rm y",
                )
                .to(2)
                .starts(Starts::Command)],
                always: Some(because(
                    Runs,
                    "runs another program",
                    "ip netns exec x rm y",
                )),
                stops: 2,
                ..NONE
            }],
            always: Some(because(Configures, "changes the network", "ip netns add x")),
            ..NONE
        }],
        plain: &["ip addr show", "ip -br a", "ifconfig eth0"],
        ..NONE
    },
    Program {
        names: list("ss netstat"),
        options: &[
            opt("-K --kill", Configures, "ends connections", "ss -K"),
            opt(
                "-D: --diag: -F: --filter:",
                Writes,
                "reads or writes a file",
                "ss -D x",
            ),
        ],
        values: list("-f -A -N"),
        plain: &["ss -tlnp", "netstat -an"],
        ..NONE
    },
    Program {
        names: list("dmesg"),
        options: &[
            opt(
                "-C --clear -c --read-clear -D --console-off -E --console-on -n: \
                 --console-level:",
                Configures,
                "changes the log",
                "dmesg -C",
            ),
            opt(
                "-F: --file: -K: --kmsg-file:",
                Reads,
                "reads another file",
                "dmesg -F /x",
            ),
        ],
        values: list("-l -f -s --level --facility --since --until"),
        plain: &["dmesg -T", "dmesg --level err"],
        ..NONE
    },
    Program {
        names: list("dd"),
        changes: Changes::Always,
        operands: &[operand(
            0,
            device,
            Writes,
            "reads or writes a device or elsewhere",
            "dd of=/dev/sda if=x",
        )
        .globs()],
        plain: &["dd if=a of=b bs=1M count=1"],
        ..NONE
    },
];

fn changes_network(word: &str) -> bool {
    super::engine::listed(
        "set add del delete change replace flush exec up down append save restore attach netns",
        word,
    )
}

fn device(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, path)| {
        matches!(name, "if" | "of")
            && outside(path)
            && !matches!(path, "/dev/zero" | "/dev/null" | "/dev/urandom")
    })
}
