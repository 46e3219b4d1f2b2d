//! MCP client: tools and skills of other servers.
//!
//! [`Client`] starts the configured servers and connects to them. Their tools are ordinary
//! [`Tool`]s named `mcp__server__tool`, and ask the gate before each call. Their skills, listed
//! with the extension `io.modelcontextprotocol/skills`, come from a [`SkillSource`], are named
//! `server:name`, and are never trusted: a model receives their text marked as text of that server,
//! and it grants nothing.
//!
//! Before its first use, a server is only asked what it offers. A server that exits is restarted on
//! the next use, after a backoff that grows while it keeps failing. A request that was pending when
//! the server exited is not repeated, because it may have had effects.

mod connection;
mod error;
mod http;
mod request_limit;
mod skills;
mod stdio;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use prowess_config::McpServer;
use prowess_http::HttpClient;
use prowess_registry::{Registry, SkillSource};
use prowess_tools::Tool;
use prowess_traits::{OfferedSkills, SkillServerError};

pub(crate) use connection::Link;
pub use error::{ConnectError, LinkError};
use skills::ServerSkills;
pub use stdio::harmless;
use tools::RemoteTool;

/// Timeout for starting a server and listing what it offers.
const OFFER: Duration = Duration::from_secs(90);
/// Timeout for closing all servers.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Connections to servers. Dropping it stops the programs that it started.
#[derive(Debug)]
pub struct Client {
    offers: Vec<Offer>,
    /// `None` only during drop.
    runtime: Option<tokio::runtime::Runtime>,
}

/// Result of the first connection to a server.
#[derive(Debug)]
struct Offer {
    link: Arc<Link>,
    tools: Vec<Arc<RemoteTool>>,
    /// Skipped tools, with reasons.
    left: Vec<String>,
    skills: Option<Arc<ServerSkills>>,
    fault: Option<LinkError>,
}

/// Tools and skills of a server.
struct Offered {
    tools: Vec<Arc<RemoteTool>>,
    left: Vec<String>,
    skills: Option<Arc<ServerSkills>>,
}

/// Lists the tools and skills of a server.
async fn offer(link: &Arc<Link>, order: usize) -> Result<Offered, LinkError> {
    let (has_tools, has_skills) = link.offers().await?;
    let (tools, left) = if has_tools {
        tools::list(link).await?
    } else {
        Default::default()
    };
    let skills = has_skills.then(|| Arc::new(ServerSkills::new(Arc::clone(link), order)));
    if let Some(skills) = &skills {
        // Tools work without skills; the error is reported with the skills.
        let _ = skills.update().await;
    }
    Ok(Offered {
        tools,
        left,
        skills,
    })
}

/// Environment of the servers.
#[derive(Clone, Debug)]
pub struct ClientPlace {
    /// Default working directory of programs.
    pub folder: PathBuf,
    /// Environment variables of programs, in addition to their own.
    pub environment: Vec<(String, String)>,
    /// HTTP client for remote servers.
    pub http: Option<HttpClient>,
}

/// Status of a server, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// Local name of the server.
    pub name: Box<str>,
    /// Names of its tools, as models see them.
    pub tools: Vec<Box<str>>,
    /// Names of its skills.
    pub skills: Vec<Box<str>>,
    /// Skipped tools, with reasons.
    pub left: Vec<String>,
    /// Reason why the server cannot be used.
    pub fault: Option<String>,
}

impl Client {
    /// Starts all servers concurrently and lists what they offer. A server that fails does not
    /// affect the others; [`Client::servers`] reports the reason.
    pub fn connect(servers: &[McpServer], place: &ClientPlace) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mcp-client")
            .enable_all()
            .build()?;
        let (sender, receiver) = mpsc::channel();
        for (order, server) in servers.iter().enumerate() {
            let link = Arc::new(Link::new(
                server.clone(),
                place.clone(),
                runtime.handle().clone(),
            ));
            let sender = sender.clone();
            runtime.spawn(async move {
                let offered = tokio::time::timeout(OFFER, offer(&link, order)).await;
                let late = |_| Err(link.odd("listing its tools and skills timed out"));
                let offered = offered.unwrap_or_else(late);
                let _ = sender.send((order, link, offered));
            });
        }
        drop(sender);
        // Each of them has a deadline, so this ends.
        let mut answers: Vec<_> = receiver.iter().collect();
        answers.sort_by_key(|(order, ..)| *order);
        let offers = answers.into_iter().map(|(_, link, offered)| match offered {
            Ok(Offered {
                tools,
                left,
                skills,
            }) => Offer {
                link,
                tools,
                left,
                skills,
                fault: None,
            },
            Err(fault) => {
                let (tools, left, skills) = (Vec::new(), Vec::new(), None);
                Offer {
                    link,
                    tools,
                    left,
                    skills,
                    fault: Some(fault),
                }
            }
        });
        Ok(Self {
            offers: offers.collect(),
            runtime: Some(runtime),
        })
    }

    /// Returns the tools of the servers, for each server in the order in which they were given.
    pub fn tools_by_server(&self) -> impl Iterator<Item = Vec<Arc<dyn Tool>>> {
        let offers = self.offers.iter().map(|offer| &offer.tools);
        offers.map(|tools| tools.iter().map(|tool| Arc::clone(tool) as _).collect())
    }

    /// Returns the tools of all servers.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.offers.iter().flat_map(|offer| &offer.tools);
        tools
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
            .collect()
    }

    /// Adds the skills of all servers to a registry, and updates them when the servers report
    /// changes.
    pub fn add_skills(&self, registry: &Registry) {
        self.add_skills_of(registry, &|_| true);
    }

    /// Adds the skills of the servers whose positions satisfy `wanted`, like [`Self::add_skills`].
    pub fn add_skills_of(&self, registry: &Registry, wanted: &dyn Fn(usize) -> bool) {
        let position = |offer: &Offer| self.offers.iter().position(|it| std::ptr::eq(it, offer));
        let is_wanted =
            |(offer, _): &(&Offer, &Arc<ServerSkills>)| position(offer).is_some_and(wanted);
        for (offer, skills) in self.with_skills().filter(is_wanted) {
            registry.add_source(Arc::clone(skills) as Arc<dyn SkillSource>);
            let (skills, registry) = (Arc::downgrade(skills), registry.clone());
            offer.link.follow(Arc::new(move || {
                let (skills, registry) = (skills.upgrade(), registry.clone());
                Box::pin(async move {
                    // Update the server first, without holding the registry.
                    let Some(skills) = skills else { return false };
                    let answered = skills.update().await.is_ok();
                    let _ = tokio::task::spawn_blocking(move || registry.refresh()).await;
                    answered
                })
            }));
        }
        if self.with_skills().any(|found| is_wanted(&found)) {
            registry.refresh();
        }
    }

    fn with_skills(&self) -> impl Iterator<Item = (&Offer, &Arc<ServerSkills>)> {
        self.offers
            .iter()
            .filter_map(|offer| Some((offer, offer.skills.as_ref()?)))
    }

    /// Lists the skills of a server, with their files, for packages.
    pub fn offered_skills(&self, server: &str) -> Result<OfferedSkills, SkillServerError> {
        self.skills_of(server)?.offered()
    }

    /// Reads a file of a listed skill. `skill` is the URI of its folder.
    pub fn offered_file(
        &self,
        server: &str,
        skill: &str,
        path: &str,
    ) -> Result<Vec<u8>, SkillServerError> {
        self.skills_of(server)?.offered_file(skill, path)
    }

    fn skills_of(&self, server: &str) -> Result<&Arc<ServerSkills>, SkillServerError> {
        let named = |offer: &&Offer| offer.link.name() == server;
        let Some(offer) = self.offers.iter().find(named) else {
            return Err(SkillServerError::Unknown {
                server: server.to_owned(),
            });
        };
        match (&offer.skills, &offer.fault) {
            (Some(skills), _) => Ok(skills),
            (None, Some(fault)) => Err(SkillServerError::Failed {
                server: server.to_owned(),
                message: fault.to_string(),
            }),
            (None, None) => Err(SkillServerError::NoSkills {
                server: server.to_owned(),
            }),
        }
    }

    /// Returns the status of every server.
    pub fn servers(&self) -> Vec<ServerView> {
        let view = |offer: &Offer| {
            let mut left = offer.left.clone();
            let skills = match &offer.skills {
                Some(skills) => {
                    let scan = skills.scan(prowess_registry::Known::default());
                    left.extend(
                        scan.faults
                            .iter()
                            .map(|fault| format!("{}: {}", fault.location, fault.why)),
                    );
                    scan.skills.iter().map(|skill| skill.name.clone()).collect()
                }
                None => Vec::new(),
            };
            ServerView {
                name: offer.link.name().into(),
                tools: offer.tools.iter().map(|tool| tool.name().into()).collect(),
                skills,
                left,
                fault: offer.fault.as_ref().map(ToString::to_string),
            }
        };
        self.offers.iter().map(view).collect()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        let (sender, receiver) = mpsc::channel::<()>();
        for offer in &self.offers {
            let (link, sender) = (Arc::clone(&offer.link), sender.clone());
            runtime.spawn(async move {
                link.close().await;
                drop(sender);
            });
        }
        drop(sender);
        // Nothing is ever sent: the channel closes when the last task ends.
        let _ = receiver.recv_timeout(CLOSE_TIMEOUT);
        runtime.shutdown_background();
    }
}
