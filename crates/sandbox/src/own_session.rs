//! Starts a program in a session of its own.

#![expect(
    unsafe_code,
    reason = "the standard library has no stable call that starts a session"
)]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts the command in a new session without a controlling terminal, so that it cannot prompt, and
/// kills it if the thread that starts it ends. The process is the leader of its process group.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    let start = || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        Ok(())
    };
    // SAFETY: the closure runs after `fork` and only makes two system calls, which allocate nothing.
    unsafe { command.pre_exec(start) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn command_has_no_terminal_and_leads_its_session() {
        let script = "read -r pid name state parent group session terminal rest < /proc/$$/stat; \
                      echo $((pid - session)) $((pid - group)) $terminal";
        let mut command = Command::new("bash");
        command.args(["-c", script]);
        let output = in_own_session(&mut command).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0 0 0\n");
    }
}
