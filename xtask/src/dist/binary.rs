//! The platform of a binary, read from the binary itself.

use anyhow::{Result, bail};

/// The C library that a binary needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Libc {
    /// glibc, at least 2.N.
    Gnu(u32),
    /// musl, or none at all.
    Musl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arch {
    X86_64,
    Aarch64,
}

/// A Linux platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) arch: Arch,
    pub(super) libc: Libc,
}

impl Platform {
    /// Reads the platform of an ELF file.
    pub(super) fn of(program: &[u8]) -> Result<Self> {
        if !program.starts_with(b"\x7fELF\x02\x01") {
            bail!("not a 64-bit little-endian ELF file");
        }
        let arch = match program.get(18..20) {
            Some([0x3e, 0]) => Arch::X86_64,
            Some([0xb7, 0]) => Arch::Aarch64,
            _ => bail!("unknown processor"),
        };
        Ok(Self {
            arch,
            libc: glibc(program).map_or(Libc::Musl, Libc::Gnu),
        })
    }

    /// Returns the target triple of Rust.
    pub(super) fn triple(self) -> String {
        let libc = match self.libc {
            Libc::Gnu(_) => "gnu",
            Libc::Musl => "musl",
        };
        format!("{}-unknown-linux-{libc}", self.machine())
    }

    /// Returns the name of the processor, as Linux spells it.
    pub(super) fn machine(self) -> &'static str {
        match self.arch {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }

    /// Returns the platform tag of a wheel: installers refuse it where the C library does not fit.
    pub(super) fn wheel_tag(self) -> String {
        match self.libc {
            // 2.17 is the oldest version that installers know under this name.
            Libc::Gnu(minor) => format!("manylinux_2_{}_{}", minor.max(17), self.machine()),
            Libc::Musl => format!("musllinux_1_1_{}", self.machine()),
        }
    }
}

/// Returns N if symbols of glibc 2.N are needed, the highest one.
fn glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let mut highest = None;
    let mut rest = program;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK) {
        rest = &rest[at + MARK.len()..];
        let digits: String = rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .take(4)
            .map(|&byte| char::from(byte))
            .collect();
        highest = highest.max(digits.parse().ok());
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_read_from_the_file() {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(18, 0);
        file.extend([0x3e, 0]);
        let still = Platform::of(&file).unwrap();
        assert_eq!(still.wheel_tag(), "musllinux_1_1_x86_64");
        assert_eq!(still.triple(), "x86_64-unknown-linux-musl");
        file.extend(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17\0");
        let dynamic = Platform::of(&file).unwrap();
        assert_eq!(dynamic.wheel_tag(), "manylinux_2_34_x86_64");
        assert_eq!(dynamic.triple(), "x86_64-unknown-linux-gnu");
        assert!(Platform::of(b"#!/bin/sh\n").is_err());
    }
}
