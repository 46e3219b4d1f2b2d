//! System calls that a command does not need, or that bypass the other layers.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::protocol::Seccomp;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Always refused.
const REFUSED: &[i64] = &[
    // Memory and descriptors of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // A second way to almost every call.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    libc::SYS_unshare,
    libc::SYS_setns,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    // Files by number, without a path.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Keys of the session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Clock and names.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Refused without an IPC namespace: what these make is shared with every process of the machine
/// and outlives the command.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that change how another process runs. The process is the first argument; 0 is the caller.
const SCHEDULING: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls that change the priority of processes. The first argument is the kind of the second: a
/// process, a group or a user.
const PRIORITIES: &[(i64, u64)] = &[
    (libc::SYS_setpriority, PRIO_USER),
    (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
];

/// Flags of `clone` that create a namespace. Time is missing: it shares bits with a signal.
const NAMESPACES: u64 = 0x7e02_0000;

/// The bit that makes a file run as its owner.
const SET_USER: u64 = 0o4000;

/// Applies the filter to this thread and its descendants.
pub(crate) fn apply(open: Seccomp) -> Result<(), Box<str>> {
    let program = program(open).map_err(|error| error.to_string())?;
    // The kernel requires this of a process without privileges.
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    apply_filter(&clones_hidden()).map_err(|error| error.to_string())?;
    apply_filter(&program).map_err(|error| error.to_string())?;
    Ok(())
}

fn program(open: Seccomp) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    for call in [
        libc::SYS_kexec_file_load,
        libc::SYS_iopl,
        libc::SYS_ioperm,
        libc::SYS_modify_ldt,
    ] {
        rules.insert(call, Vec::new());
    }
    if !open.ipc {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
    }
    sockets(&mut rules, open)?;
    other_processes(&mut rules, open)?;

    // `clone` has its flags in the first argument everywhere but on S/390.
    for bit in (0..64)
        .map(|bit| 1 << bit)
        .filter(|bit| NAMESPACES & bit != 0)
    {
        refuse_bits(&mut rules, libc::SYS_clone, 0, bit)?;
    }
    refuse_bits(&mut rules, libc::SYS_fchmod, 1, SET_USER)?;
    refuse_bits(&mut rules, libc::SYS_fchmodat, 2, SET_USER)?;
    refuse_bits(&mut rules, SYS_FCHMODAT2, 2, SET_USER)?;
    refuse_bits(&mut rules, libc::SYS_mknodat, 2, SET_USER)?;
    refuse_made(&mut rules, libc::SYS_openat, 2)?;
    #[cfg(target_arch = "x86_64")]
    {
        refuse_bits(&mut rules, libc::SYS_chmod, 1, SET_USER)?;
        refuse_bits(&mut rules, libc::SYS_mknod, 1, SET_USER)?;
        refuse_bits(&mut rules, libc::SYS_creat, 1, SET_USER)?;
        refuse_made(&mut rules, libc::SYS_open, 1)?;
    }
    // Typing and pasting into a terminal.
    for command in [libc::TIOCSTI, libc::TIOCLINUX] {
        let typing = SeccompCondition::new(1, Width::Dword, Op::Eq, command)?;
        rules
            .entry(libc::SYS_ioctl)
            .or_default()
            .push(SeccompRule::new(vec![typing])?);
    }
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let mut program = compile(rules, refuse)?;
    if cfg!(target_arch = "x86_64") {
        program.splice(0..0, other_numbering());
    }
    Ok(program)
}

/// Hides `openat2` and `clone3`, whose arguments are in memory that a filter cannot read. Programs
/// fall back to the older calls.
fn clones_hidden() -> BpfProgram {
    let rules = [libc::SYS_clone3, libc::SYS_openat2]
        .map(|call| (call, Vec::new()))
        .into();
    let hide = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    compile(rules, hide).unwrap_or_default()
}

fn compile(rules: Rules, then: SeccompAction) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, then, arch)?.try_into()
}

/// Refuses to change limits and priorities of other processes: with a limit of zero, a process ends.
fn other_processes(rules: &mut Rules, open: Seccomp) -> Result<(), seccompiler::BackendError> {
    let is_other = |argument| SeccompCondition::new(argument, Width::Dword, Op::Ne, 0);
    let is_set = SeccompCondition::new(2, Width::Qword, Op::Ne, 0)?;
    let limits = SeccompRule::new(vec![is_other(0)?, is_set])?;
    rules.insert(libc::SYS_prlimit64, vec![limits]);
    if open.processes {
        return Ok(());
    }
    for call in SCHEDULING {
        rules.insert(*call, vec![SeccompRule::new(vec![is_other(0)?])?]);
    }
    for (call, user) in PRIORITIES {
        let is_user = SeccompCondition::new(0, Width::Dword, Op::Eq, *user)?;
        let refused = [vec![is_other(1)?], vec![is_user]].map(SeccompRule::new);
        rules.insert(*call, refused.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn sockets(rules: &mut Rules, open: Seccomp) -> Result<(), seccompiler::BackendError> {
    let mut families = Vec::new();
    // Unix sockets are never among them: one with a path in a readable folder, such as Docker's, is a
    // way out that neither mounts nor Landlock close.
    if open.network {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    rules.insert(libc::SYS_socket, refuse_others(&families)?);
    // A pair of datagram sockets could send to any socket with a path, so only connected kinds are
    // left. Flags are in the bits above the kind.
    let mut pairs = refuse_others(&[libc::AF_UNIX])?;
    for kind in 0..=SOCKET_KINDS {
        if ![libc::SOCK_STREAM, libc::SOCK_SEQPACKET].contains(&kind) {
            let mask = u64::from(SOCKET_KINDS.cast_unsigned());
            let kind = u64::from(kind.cast_unsigned());
            let is = SeccompCondition::new(1, Width::Dword, Op::MaskedEq(mask), kind)?;
            pairs.push(SeccompRule::new(vec![is])?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    Ok(())
}

/// Refuses every family except these.
fn refuse_others(families: &[i32]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let conditions: Result<Vec<_>, _> = families
        .iter()
        .map(|family| {
            SeccompCondition::new(0, Width::Dword, Op::Ne, u64::from(family.cast_unsigned()))
        })
        .collect();
    let conditions = conditions?;
    if conditions.is_empty() {
        Ok(Vec::new())
    } else {
        Ok(vec![SeccompRule::new(conditions)?])
    }
}

fn refuse_bits(
    rules: &mut Rules,
    call: i64,
    argument: u8,
    bits: u64,
) -> Result<(), seccompiler::BackendError> {
    let set = SeccompCondition::new(argument, Width::Dword, Op::MaskedEq(bits), bits)?;
    rules
        .entry(call)
        .or_default()
        .push(SeccompRule::new(vec![set])?);
    Ok(())
}

/// Refuses to create a file with the set-user-id bit. The mode is the argument after the flags, and
/// only counts if a file is created.
fn refuse_made(rules: &mut Rules, call: i64, flags: u8) -> Result<(), seccompiler::BackendError> {
    for making in [libc::O_CREAT, libc::O_TMPFILE] {
        let making = u64::from(making.cast_unsigned());
        let made = SeccompCondition::new(flags, Width::Dword, Op::MaskedEq(making), making)?;
        let set = SeccompCondition::new(flags + 1, Width::Dword, Op::MaskedEq(SET_USER), SET_USER)?;
        rules
            .entry(call)
            .or_default()
            .push(SeccompRule::new(vec![made, set])?);
    }
    Ok(())
}

/// Refuses the x32 numbering of all calls, which the rules above do not cover.
fn other_numbering() -> [sock_filter; 3] {
    const LOAD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    const SECOND: u32 = 0x4000_0000;
    [
        sock_filter {
            code: LOAD,
            jt: 0,
            jf: 0,
            k: 0,
        },
        sock_filter {
            code: JUMP_IF_AT_LEAST,
            jt: 0,
            jf: 1,
            k: SECOND,
        },
        sock_filter {
            code: RETURN,
            jt: 0,
            jf: 0,
            k: ERRNO | libc::ENOSYS.cast_unsigned(),
        },
    ]
}

/// Not in every version of `libc`.
const SYS_FCHMODAT2: i64 = 452;
const SYS_STATMOUNT: i64 = 457;
const SYS_LISTMOUNT: i64 = 458;
const SYS_OPEN_TREE_ATTR: i64 = 467;

/// The values of `setpriority` and `ioprio_set` for all processes of a user.
const PRIO_USER: u64 = 2;
const IOPRIO_WHO_USER: u64 = 3;

/// The bits that hold the kind of a socket.
const SOCKET_KINDS: i32 = 0xf;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_compiles() {
        for network in [false, true] {
            for own in [false, true] {
                let (ipc, processes) = (own, own);
                let open = Seccomp {
                    network,
                    ipc,
                    processes,
                };
                assert!(program(open).is_ok());
            }
        }
        assert!(!clones_hidden().is_empty());
    }
}
