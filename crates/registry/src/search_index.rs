//! Keeps a search index in sync with the catalogue.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_catalog::{Catalog, Scope, Skill, SkillId, changes};
use prowess_search::{
    SearchDocument, SearchHit, SearchIndex, SearchPart, SearchPartBuilder, SearchQuery,
};
use prowess_spec::parse;
use sha2::{Digest, Sha256};

use crate::cache::{read_cache, write_cache};
use crate::fs::read::read_file;
use crate::registry::Registry;

/// Number of skills indexed per part.
const SKILLS_PER_PART: usize = 512;
/// Minimum number of skills per thread.
const SKILLS_PER_THREAD: usize = 64;

/// The index, and the catalogue that it was built from. Built on the first search.
#[derive(Debug, Default)]
pub(crate) struct Searching {
    made: Mutex<Option<(Arc<Catalog>, Arc<SearchIndex>)>>,
}

impl Registry {
    /// Searches the skills that are not shadowed. The first search reads all bodies; later ones
    /// read only those that changed.
    pub fn search(&self, query: &SearchQuery<'_>) -> Vec<SearchHit> {
        self.search_index().search(query)
    }

    /// Returns the index of the current catalogue.
    pub fn search_index(&self) -> Arc<SearchIndex> {
        let mut made = self
            .searching()
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = self.snapshot();
        let index = match &*made {
            Some((then, index)) if Arc::ptr_eq(then, &now) => return Arc::clone(index),
            Some((then, index)) => arranged(self.follow(then, &now, index), &now),
            None => self.first(&now),
        };
        let index = Arc::new(index);
        *made = Some((now, Arc::clone(&index)));
        index
    }

    /// Builds the first index in catalogue order, reusing the cache file where it is still valid.
    fn first(&self, now: &Catalog) -> SearchIndex {
        let skills: Vec<Arc<Skill>> = now.listed().map(|entry| Arc::clone(&entry.skill)).collect();
        let file = self
            .cache_folder()
            .map(|folder| folder.join(file_name(&skills)));
        let remembered = file.as_deref().and_then(read_cache);
        let remembered = remembered.and_then(|bytes| SearchIndex::from_bytes(&bytes, &skills));
        let index = match remembered {
            Some((index, missing)) if missing.is_empty() && index.len() == skills.len() => {
                return index;
            }
            Some((index, missing)) if missing.len() <= skills.len() / 10 => {
                let missing: Vec<&Arc<Skill>> = missing
                    .iter()
                    .filter_map(|&place| skills.get(place))
                    .collect();
                let index = index.with_part(&[], self.index_part(&missing));
                arranged(index, now)
            }
            _ => SearchIndex::from_parts(self.index_bodies(&skills.iter().collect::<Vec<_>>())),
        };
        if let Some(file) = file {
            // Ignore errors: the next process builds it again.
            let _ = write_cache(&file, &index.to_bytes());
        }
        index
    }

    /// Updates an index with the changes between two catalogues.
    fn follow(&self, then: &Catalog, now: &Catalog, index: &SearchIndex) -> SearchIndex {
        let changed = changes(then, now);
        let removed: Vec<SkillId> = changed.iter().map(|change| change.id.clone()).collect();
        let mut added: Vec<&Arc<Skill>> = Vec::new();
        for change in &changed {
            // The first entry of a name is the one that is not shadowed.
            let entry = now.group(&change.name).first().into_iter();
            added.extend(
                entry
                    .filter(|entry| entry.skill.id == change.id)
                    .map(|entry| &entry.skill),
            );
        }
        let mut parts = self.index_bodies(&added).into_iter();
        match (parts.next(), parts.next()) {
            (Some(only), None) => index.with_part(&removed, only),
            // So much changed that a rebuild is as cheap.
            (Some(_), Some(_)) => {
                let skills: Vec<&Arc<Skill>> = now.listed().map(|entry| &entry.skill).collect();
                SearchIndex::from_parts(self.index_bodies(&skills))
            }
            (None, _) => index.with_part(&removed, SearchPartBuilder::new().finish()),
        }
    }

    /// Reads and indexes the bodies of skills, with several threads if there are many.
    fn index_bodies(&self, skills: &[&Arc<Skill>]) -> Vec<SearchPart> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.min(skills.len().div_ceil(SKILLS_PER_THREAD)).max(1);
        let each = skills.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            // Index one part at a time, to reuse its buffers for the next.
            let index_chunk = |chunk: &[&Arc<Skill>]| -> Vec<SearchPart> {
                chunk
                    .chunks(SKILLS_PER_PART)
                    .map(|some| self.index_part(some))
                    .collect()
            };
            let workers: Vec<_> = skills
                .chunks(each)
                .map(|chunk| scope.spawn(move || index_chunk(chunk)))
                .collect();
            workers
                .into_iter()
                .filter_map(|worker| worker.join().ok())
                .flatten()
                .collect()
        })
    }

    fn index_part(&self, skills: &[&Arc<Skill>]) -> SearchPart {
        let mut builder = SearchPartBuilder::new();
        let mut buffer = Vec::new();
        for &skill in skills {
            // Most skills are files at a known path. Others are read from their source, except
            // skills of a server, which must not learn about a search.
            let read = skill.file().is_some_and(|path| {
                read_file(rustix::fs::CWD, path.as_os_str(), &mut buffer).is_ok()
            });
            if skill.id.origin.scope == Scope::Server {
                buffer.clear();
            } else if !read {
                buffer = self.text(&skill.id).unwrap_or_default();
            }
            let parsed = parse(&buffer);
            builder.add(SearchDocument {
                skill,
                body: parsed.body_text(),
            });
        }
        builder.finish()
    }
}

/// Puts the documents of an index into the order of a catalogue.
fn arranged(index: SearchIndex, catalog: &Catalog) -> SearchIndex {
    index.arranged(catalog.listed().map(|entry| &entry.skill.id))
}

/// Returns the name of the cache file of a set of roots: each project has its own.
fn file_name(skills: &[Arc<Skill>]) -> String {
    let roots: BTreeSet<&str> = skills.iter().map(|skill| &*skill.id.origin.root).collect();
    let mut hasher = Sha256::new();
    for root in roots {
        hasher.update((root.len() as u64).to_le_bytes());
        hasher.update(root);
    }
    format!("search-{}.bin", prowess_diag::hex(&hasher.finalize()[..12]))
}
