//! Skills of MCP servers as packages.

use std::rc::Rc;
use std::time::{Duration, Instant};

use prowess_diag::{sanitize, suggest};
use prowess_traits::{OfferedFile, OfferedSkill, OfferedSkills, SkillServerError};

use crate::error::PackageError;
use crate::find::FindError;
use crate::index::add;
use crate::lock::LockedPackage;
use crate::served::served_files;
use crate::source::{LockedSource, check_locked_allowed};
use crate::tree::{PackageTree, TreeBuilder, TreeLimits, digest_of_bytes};

use super::fetch::{Declared, FetchedPackage, PackageOrigin, SourceFetcher};
use super::{OperationError, PackageProgress};

/// The timeout of all files of a skill. Each of them has one of its own.
const DEADLINE: Duration = Duration::from_mins(10);

impl SourceFetcher<'_> {
    /// Lists the skills of an MCP server, once.
    pub(super) fn offered(&self, server: &str) -> Result<Rc<OfferedSkills>, PackageError> {
        if let Some(offered) = self.offered.borrow().get(server) {
            return Ok(Rc::clone(offered));
        }
        let shown = format!("mcp:{server}");
        self.online(&shown)?;
        self.context
            .report(&PackageProgress::Resolving { source: &shown });
        let servers = self.context.access.servers.as_deref();
        let servers = servers.ok_or_else(|| SkillServerError::Unknown {
            server: server.to_owned(),
        })?;
        let offered = Rc::new(servers.list(server)?);
        let mut all = self.offered.borrow_mut();
        all.insert(server.to_owned(), Rc::clone(&offered));
        Ok(offered)
    }

    /// Fetches a skill of an MCP server. What arrives is what the server listed.
    pub(super) fn served_package(
        &self,
        name: &str,
        server: &str,
        skill: &OfferedSkill,
    ) -> Result<FetchedPackage, PackageError> {
        let source = LockedSource::Mcp(server.to_owned());
        for patterns in &self.settings.sources {
            let shorthand = self.settings.shorthand();
            check_locked_allowed(&source, Some(&skill.uri), patterns, shorthand)?;
        }
        self.signers(&source, Some(&skill.uri))
            .refuse_unsigned(&skill.uri)?;
        let tree = self.served_tree(name, server, skill)?;
        let origin = PackageOrigin {
            source: Some(source),
            path: Some(skill.uri.clone()),
            ..PackageOrigin::default()
        };
        let declared = Declared::of(&tree.folder);
        self.finish(name, origin, declared, tree)
    }

    fn served_tree(
        &self,
        name: &str,
        server: &str,
        skill: &OfferedSkill,
    ) -> Result<PackageTree, PackageError> {
        let files = listed(server, skill)?;
        let servers = self.context.access.servers.as_deref();
        let servers = servers.ok_or_else(|| SkillServerError::Unknown {
            server: server.to_owned(),
        })?;
        self.context.report(&PackageProgress::Staging { name });
        let mut builder = TreeBuilder::create(self.place()?, TreeLimits::default())?;
        let start = Instant::now();
        for file in files {
            if start.elapsed() > DEADLINE {
                return Err(SkillServerError::Failed {
                    server: server.to_owned(),
                    message: format!(
                        "reading `{}` from MCP server `{server}` took longer than {} s",
                        skill.uri,
                        DEADLINE.as_secs()
                    ),
                }
                .into());
            }
            let content = servers.read(server, &skill.uri, &file.path)?;
            let found = digest_of_bytes(&content);
            if found != file.digest {
                return Err(OperationError::ServedChanged {
                    name: name.to_owned(),
                    server: server.to_owned(),
                    path: file.path.clone(),
                    locked: Some(file.digest.clone()),
                    found: Some(found),
                }
                .into());
            }
            add(&mut builder, &file.path, &content)?;
        }
        Ok(builder.finish()?)
    }

    /// Fetches a locked skill again. Each file must be the locked one on the server, too.
    pub(super) fn refetch_served(
        &self,
        server: &str,
        locked: &LockedPackage,
        uri: &str,
    ) -> Result<PackageTree, PackageError> {
        let source = LockedSource::Mcp(server.to_owned());
        self.signers(&source, Some(uri)).refuse_unsigned(uri)?;
        let offered = self.offered(server)?;
        let skill = select_offered(&offered, server, uri)?;
        let files = listed(server, skill)?;
        if let Some(changed) = served_change(server, locked, skill, files) {
            return Err(changed.into());
        }
        self.served_tree(&locked.name, server, skill)
    }

    /// Returns `true` if the server lists exactly the locked files. No file is read.
    pub(super) fn is_served_as_locked(
        &self,
        server: &str,
        wanted: &str,
        locked: &LockedPackage,
    ) -> Result<bool, PackageError> {
        let offered = self.offered(server)?;
        let skill = select_offered(&offered, server, wanted)?;
        let files = listed(server, skill)?;
        Ok(served_change(server, locked, skill, files).is_none())
    }
}

/// Returns the first file that differs between the server and the lock.
fn served_change(
    server: &str,
    locked: &LockedPackage,
    skill: &OfferedSkill,
    files: &[OfferedFile],
) -> Option<OperationError> {
    let expected = served_files(locked, &skill.uri).unwrap_or_default();
    let find = |files: &[OfferedFile], path: &str| {
        let found = files.iter().find(|file| file.path == path);
        found.map(|file| (file.digest.clone(), file.size))
    };
    let mut paths = expected.iter().chain(files).map(|file| &file.path);
    let path = paths.find(|path| find(&expected, path) != find(files, path))?;
    let digest = |files: &[OfferedFile]| find(files, path).map(|(digest, _)| digest);
    Some(OperationError::ServedChanged {
        name: locked.name.clone(),
        server: server.to_owned(),
        path: sanitize::line(path).into_owned(),
        locked: digest(&expected),
        found: digest(files),
    })
}

fn listed<'o>(server: &str, skill: &'o OfferedSkill) -> Result<&'o [OfferedFile], OperationError> {
    skill
        .files
        .as_deref()
        .ok_or_else(|| OperationError::Dynamic {
            server: server.to_owned(),
            uri: skill.uri.clone(),
        })
}

/// Returns the skill with an address or a name.
pub(super) fn select_offered<'o>(
    offered: &'o OfferedSkills,
    server: &str,
    wanted: &str,
) -> Result<&'o OfferedSkill, PackageError> {
    if let Some(found) = offered.skills.iter().find(|skill| skill.uri == wanted) {
        return Ok(found);
    }
    let named = offered.skills.iter().filter(|skill| skill.name == wanted);
    match named.collect::<Vec<_>>().as_slice() {
        [one] => Ok(one),
        [] => {
            let main = format!("{wanted}/SKILL.md");
            let fault = offered
                .faults
                .iter()
                .find(|(place, _)| place.ends_with(&main));
            if let Some((_, reason)) = fault {
                return Err(OperationError::NotServable {
                    server: server.to_owned(),
                    uri: wanted.to_owned(),
                    reason: reason.clone(),
                }
                .into());
            }
            let names = offered.skills.iter().map(|skill| &*skill.name);
            Err(FindError::NotFound {
                wanted: wanted.to_owned(),
                near: suggest::nearest(wanted, names).map(str::to_owned),
            }
            .into())
        }
        several => Err(OperationError::ChooseSkill {
            names: several.iter().map(|skill| skill.uri.clone()).collect(),
        }
        .into()),
    }
}
