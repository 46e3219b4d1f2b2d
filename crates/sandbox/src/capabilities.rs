//! Drops every capability permanently.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// Empties the bounding set. This must happen before the user is changed, which gives up the right
/// to do it.
pub(crate) fn empty_bounds() -> Result<(), Box<str>> {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(one) {
            Ok(true) => match remove_capability_from_bounding_set(one) {
                // Without the right to do it there is no capability to lose: the set only bounds
                // what a set-user-id program could add, and those are disabled.
                Ok(()) | Err(Errno::PERM) => {}
                Err(error) => return Err(text(error)),
            },
            Ok(false) => {}
            // The kernel knows no capability above this one.
            Err(_) => break,
        }
    }
    Ok(())
}

/// Empties every other set and disables new privileges.
pub(crate) fn drop_all() -> Result<(), Box<str>> {
    clear_ambient_capability_set().map_err(text)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).map_err(text)?;
    set_no_new_privs(true).map_err(text)?;
    match capabilities(None) {
        Ok(left) if left.permitted.is_empty() && left.effective.is_empty() => Ok(()),
        Ok(left) => Err(format!("{left:?} are left").into()),
        Err(error) => Err(text(error)),
    }
}

fn text(error: Errno) -> Box<str> {
    std::io::Error::from(error).to_string().into()
}
