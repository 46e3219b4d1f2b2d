//! Bearer tokens.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Maximum size of a token file, in bytes.
const MAX_FILE: u64 = 64 * 1024;
/// Minimum length of a token, in characters.
const SHORTEST: usize = 32;

/// A bearer token: 256 random bits in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Error from reading or creating a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("cannot use the token file `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file is readable by other users.
    #[error("`{0}` is readable by other users; run `chmod 600 {0}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// The file has no token, or one that is too short.
    #[error("`{}` contains no token of at least {SHORTEST} characters", path.display())]
    Short {
        /// The file.
        path: PathBuf,
    },
    /// No random numbers are available.
    #[error("cannot get random numbers from the system")]
    Random,
}

impl Token {
    /// Creates a random token.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| TokenError::Random)?;
        Ok(Self(prowess_diag::hex(&bytes)))
    }

    /// Reads the tokens of a file, one per line. Creates the file with a random token if it does
    /// not exist. Fails if other users can read the file.
    pub fn load_or_create(path: &Path) -> Result<Vec<Self>, TokenError> {
        let failed = |source| TokenError::File {
            path: path.to_owned(),
            source,
        };
        match Self::load(path) {
            Err(TokenError::File { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound => {}
            loaded => return loaded,
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let token = Self::random()?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(path) {
            Ok(mut file) => {
                file.write_all(format!("{}\n", token.0).as_bytes())
                    .map_err(failed)?;
                file.sync_all().map_err(failed)?;
                Ok(vec![token])
            }
            // Another server created it at the same time.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::load(path),
            Err(error) => Err(failed(error)),
        }
    }

    fn load(path: &Path) -> Result<Vec<Self>, TokenError> {
        let failed = |source| TokenError::File {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        let is_ours = facts.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || facts.permissions().mode() & 0o077 != 0 {
            return Err(TokenError::Open {
                path: path.to_owned(),
            });
        }
        let mut text = String::new();
        file.take(MAX_FILE)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let tokens: Vec<Self> = lines.map(|line| Self(line.to_owned())).collect();
        let is_short = |token: &Self| token.0.len() < SHORTEST;
        if tokens.is_empty() || tokens.iter().any(is_short) {
            return Err(TokenError::Short {
                path: path.to_owned(),
            });
        }
        Ok(tokens)
    }

    /// Returns the token as text, for configuring a client.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the token is `word`. Compares in constant time.
    pub(crate) fn is(&self, word: &[u8]) -> bool {
        let [ours, theirs] =
            [self.0.as_bytes(), word].map(|word| <[u8; 32]>::from(Sha256::digest(word)));
        ours.ct_eq(&theirs).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_is_created_once_and_must_be_private() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("state/mcp-token");
        let first = Token::load_or_create(&path).unwrap();
        assert_eq!(first[0].expose().len(), 64);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(Token::load_or_create(&path).unwrap(), first);
        assert!(first[0].is(first[0].expose().as_bytes()));
        assert!(!first[0].is(b"another"));
        assert!(!format!("{first:?}").contains(first[0].expose()));

        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(
            Token::load_or_create(&path),
            Err(TokenError::Open { .. })
        ));
        std::fs::write(&path, "short\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(matches!(
            Token::load_or_create(&path),
            Err(TokenError::Short { .. })
        ));
    }
}
