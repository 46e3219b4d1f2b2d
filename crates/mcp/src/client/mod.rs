//! Tools and skills of other servers.
//!
//! [`Client`] starts the servers that a person configured and speaks with them. Their tools are
//! [`Tool`]s like any other, called `mcp__server__tool`, and ask the gate before each call. Their
//! skills, by the extension `io.modelcontextprotocol/skills`, come from a [`SkillSource`], are called
//! `server:name`, and are never trusted: their text reaches a model as text of that server, and
//! grants nothing.
//!
//! Nothing is asked of a server before it is needed but what it offers. A server that ends is started
//! again when it is needed next, after a pause that grows while it keeps failing. What was asked
//! when it ended is not asked again: nobody knows what it did.

mod guard;
mod http;
mod link;
mod program;
mod skills;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use prowess_config::McpServer;
use prowess_http::HttpClient;
use prowess_registry::{Registry, SkillSource};
use prowess_tools::Tool;

pub(crate) use link::Link;
pub use link::LinkError;
pub use program::harmless;
use skills::ServerSkills;
use tools::RemoteTool;

/// How long a server may take to start and to say what it offers.
const OFFER: Duration = Duration::from_secs(90);
/// How long the end of all servers may take.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// Connections to servers. Dropping it ends the programs that it started.
#[derive(Debug)]
pub struct Client {
    offers: Vec<Offer>,
    /// Nothing only while it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

/// What a server offered when it was first asked.
#[derive(Debug)]
struct Offer {
    link: Arc<Link>,
    tools: Vec<Arc<RemoteTool>>,
    /// What was left out, and why.
    left: Vec<String>,
    skills: Option<Arc<ServerSkills>>,
    fault: Option<LinkError>,
}

/// What a server offers.
struct Offered {
    tools: Vec<Arc<RemoteTool>>,
    left: Vec<String>,
    skills: Option<Arc<ServerSkills>>,
}

/// Asks a server for its tools and its skills.
async fn offer(link: &Arc<Link>, order: usize) -> Result<Offered, LinkError> {
    let (has_tools, has_skills) = link.offers().await?;
    let (tools, left) = if has_tools {
        tools::list(link).await?
    } else {
        Default::default()
    };
    let skills = has_skills.then(|| Arc::new(ServerSkills::new(Arc::clone(link), order)));
    if let Some(skills) = &skills {
        // Its tools can be used nevertheless; the fault is told with the skills.
        let _ = skills.update().await;
    }
    Ok(Offered {
        tools,
        left,
        skills,
    })
}

/// What servers are started with.
#[derive(Clone, Debug)]
pub struct ClientPlace {
    /// Where programs start, unless the settings say otherwise.
    pub folder: PathBuf,
    /// The variables that programs see beside their own.
    pub environment: Vec<(String, String)>,
    /// Asks servers on the web.
    pub http: Option<HttpClient>,
}

/// A server, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// What it is called here.
    pub name: Box<str>,
    /// The names of its tools, as models call them.
    pub tools: Vec<Box<str>>,
    /// The names of its skills.
    pub skills: Vec<Box<str>>,
    /// What of its offer is not used, and why.
    pub left: Vec<String>,
    /// Why it cannot be used.
    pub fault: Option<String>,
}

impl Client {
    /// Starts servers, all at once, and asks what they offer. One that fails takes nothing from the
    /// others; [`Client::servers`] says why it did.
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
                let late = |_| Err(link.odd("it takes too long to say what it offers"));
                let offered = offered.unwrap_or_else(late);
                let _ = sender.send((order, link, offered));
            });
        }
        drop(sender);
        // Each of them has its own deadline, so this ends.
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

    /// The tools of all servers.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.offers.iter().flat_map(|offer| &offer.tools);
        tools
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
            .collect()
    }

    /// Adds the skills of all servers to a registry, and keeps them as the servers say they are.
    pub fn add_skills(&self, registry: &Registry) {
        for (offer, skills) in self.with_skills() {
            registry.add_source(Arc::clone(skills) as Arc<dyn SkillSource>);
            let (skills, registry) = (Arc::downgrade(skills), registry.clone());
            offer.link.follow(Arc::new(move || {
                let (skills, registry) = (skills.upgrade(), registry.clone());
                Box::pin(async move {
                    // The server first: nobody who holds the registry waits for it.
                    let Some(skills) = skills else { return false };
                    let answered = skills.update().await.is_ok();
                    let _ = tokio::task::spawn_blocking(move || registry.refresh()).await;
                    answered
                })
            }));
        }
        if self.with_skills().next().is_some() {
            registry.refresh();
        }
    }

    fn with_skills(&self) -> impl Iterator<Item = (&Offer, &Arc<ServerSkills>)> {
        self.offers
            .iter()
            .filter_map(|offer| Some((offer, offer.skills.as_ref()?)))
    }

    /// Every server, with what it offers.
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
        // Nothing is ever sent: the channel ends with the last of them.
        let _ = receiver.recv_timeout(FAREWELL);
        runtime.shutdown_background();
    }
}
