//! Dispatches the methods of the protocol.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::EXTENSION;
use prowess_catalog::Visibility;
use prowess_catalog::index::IndexBudget;
use prowess_runtime::Engine;
use prowess_tools::names::LOAD_SKILL;
use prowess_tools::{ToolContext, Toolset};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::elicitation::working;
use super::elicitation_rounds::{self, Rounds};
use super::notify::{self, Hub, Watched};
use super::prompts::Declared;
use super::resource_index::ResourceIndex;
use super::run_skill::{self, RUN_SKILL};
use super::session::{MAX_FOLLOWED, Session};
use super::skills::{self, FRESH_MS, Hints};
use super::tools;
use super::usage::DeferredUsage;
use super::{instructions, prompts, resources};

/// Maximum number of concurrent operations for all clients together.
const MOST_AT_ONCE: usize = 32;

/// Methods of the protocol that are handled here.
const METHODS: [&str; 12] = [
    "completion/complete",
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// State shared by all clients.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tool_context: Arc<ToolContext>,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) engine: Option<Engine>,
    pub(crate) resource_index: Arc<ResourceIndex>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) legacy_index: bool,
    pub(crate) watch: bool,
    pub(crate) index: IndexBudget,
    declared: Declared,
    /// Session of clients that reconnect for each request.
    passing: Arc<Session>,
    permits: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(
        tool_context: Arc<ToolContext>,
        tools: Arc<Toolset>,
        served: Visibility,
        options: &super::ServerOptions,
    ) -> Self {
        let registry = Arc::clone(&tool_context.services.registry);
        let resource_index =
            ResourceIndex::new(registry, tool_context.services.trust.clone(), served);
        let hub = Arc::new(Hub::new());
        Self {
            passing: Arc::new(Session::new(&hub, Some(Duration::from_millis(FRESH_MS)))),
            tool_context,
            tools,
            engine: options.engine.clone(),
            resource_index: Arc::new(resource_index),
            hub,
            legacy_index: options.legacy_index,
            watch: options.watch,
            index: options.index,
            declared: Declared::default(),
            permits: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }
    }
}

/// A client.
#[derive(Debug)]
pub(crate) struct Handler {
    shared: Arc<Shared>,
    tool_context: Arc<ToolContext>,
    session: Arc<Session>,
    /// `true` if another handler may get the next request of the same client.
    may_pass: bool,
}

/// Parameters of `skills/list`.
#[derive(Debug, Default, Deserialize)]
struct ListParams {
    #[serde(default)]
    cursor: Option<String>,
}

/// Parameters of `skills/get` and `resources/directory/read`.
#[derive(Debug, Deserialize)]
struct GetParams {
    uri: String,
    #[serde(default)]
    cursor: Option<String>,
}

impl Handler {
    pub(crate) fn new(shared: &Arc<Shared>, may_pass: bool) -> Self {
        let mut tool_context = shared.tool_context.derive();
        tool_context.services.usage = tool_context.services.usage.map(DeferredUsage::wrap);
        Self {
            tool_context: Arc::new(tool_context),
            session: Arc::new(Session::new(&shared.hub, None)),
            shared: Arc::clone(shared),
            may_pass,
        }
    }

    /// Returns the session of the client.
    fn session(&self, context: &RequestContext<RoleServer>) -> Arc<Session> {
        let passes = self.may_pass && is_modern(context);
        Arc::clone(if passes {
            &self.shared.passing
        } else {
            &self.session
        })
    }

    /// Waits for a free slot.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, ErrorData> {
        let permit = Arc::clone(&self.shared.permits).acquire_owned().await;
        permit.map_err(|_| ErrorData::internal_error("the server is closing", None))
    }

    /// Runs a blocking operation on a thread, within the concurrency limit.
    async fn work<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Shared, &ToolContext, &Session) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _permit = self.permit().await?;
        let (shared, session) = (Arc::clone(&self.shared), self.session(context));
        working(context, &self.tool_context, move |tool_context| {
            work(&shared, tool_context, &session)
        })
        .await
    }

    fn watched(&self) -> Watched {
        Watched {
            tool_context: Arc::clone(&self.shared.tool_context),
            tools: Arc::clone(&self.shared.tools),
            resource_index: Arc::clone(&self.shared.resource_index),
            folders: self.shared.watch,
        }
    }
}

/// Returns `true` for requests of protocol 2026-07-28 or later.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

fn params<T: serde::de::DeserializeOwned>(params: Option<Value>) -> Result<T, ErrorData> {
    serde_json::from_value(params.unwrap_or_else(|| json!({})))
        .map_err(|error| ErrorData::invalid_params(format!("invalid parameters: {error}"), None))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let mut settings = JsonObject::new();
        settings.insert("directoryRead".to_owned(), Value::Bool(true));
        let mut extensions = ExtensionCapabilities::new();
        extensions.insert(EXTENSION.to_owned(), settings);
        capabilities.extensions = Some(extensions);
        let about = Implementation::new("prowess", env!("CARGO_PKG_VERSION")).with_title("Prowess");
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(instructions::text(
                &self.tool_context,
                &self.shared.tools,
                self.shared.index,
            ))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.work(&context, move |shared, tool_context, _| {
            prompts::complete(
                tool_context,
                &shared.resource_index,
                &shared.declared,
                &request,
            )
        })
        .await?
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = cursor(request);
        self.work(&context, move |shared, tool_context, _| {
            prompts::list(
                tool_context,
                &shared.resource_index,
                &shared.declared,
                cursor.as_deref(),
            )
        })
        .await?
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let got = self.work(&context, move |_, tool_context, session| {
            let loaded = session.loaded().clone();
            let arguments = request.arguments.as_ref();
            prompts::get(tool_context, &loaded, &request.name, arguments)
        });
        Ok(got.await??.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = cursor(request);
        self.work(&context, move |shared, _, _| {
            resources::list(
                &shared.resource_index,
                cursor.as_deref(),
                shared.legacy_index,
            )
        })
        .await?
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.work(&context, move |shared, tool_context, session| {
            let with_index = shared.legacy_index;
            resources::read(
                tool_context,
                &shared.resource_index,
                session,
                &request.uri,
                with_index,
            )
        });
        Ok(read.await??.into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(files) = &mut accepted.resource_subscriptions {
            files.truncate(MAX_FOLLOWED);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let news = self.shared.hub.listen(|| self.watched());
        notify::stream(context, &self.shared.hub, &self.shared.resource_index, news).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Shared {
            hub,
            resource_index,
            ..
        } = &*self.shared;
        if resource_index.now().find(&request.uri).is_none() {
            let text = format!("resource not found: `{}`", request.uri);
            return Err(ErrorData::resource_not_found(
                text,
                Some(json!({ "uri": request.uri })),
            ));
        }
        let mut followed = self.session.followed();
        if followed.len() >= MAX_FOLLOWED {
            let text = format!("too many subscriptions; the limit is {MAX_FOLLOWED}");
            return Err(ErrorData::invalid_request(text, None));
        }
        if followed.insert(request.uri.clone()) {
            hub.follow(resource_index, &request.uri);
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.session.followed().remove(&request.uri) {
            self.shared.hub.leave(&request.uri);
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(
            &self.shared.tools,
            &self.tool_context,
        )))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let name = request.name;
        if let Some(engine) = self.shared.engine.as_ref().filter(|_| name == RUN_SKILL) {
            let asked = input.clone();
            let admitted = self.work(&context, move |shared, tool_context, session| {
                let loaded = session.loaded().clone();
                shared
                    .tools
                    .admit(tool_context, &loaded, RUN_SKILL, &asked, None)
            });
            if let Err(error) = admitted.await? {
                return Ok(tools::told(RUN_SKILL, Err(error))?.into());
            }
            // Boxed because the future is large and would be moved with every request.
            return Ok(Box::pin(run_skill::run(engine, &context, &input))
                .await?
                .into());
        }
        if name == LOAD_SKILL {
            // Handing a small skill to another thread takes longer than reading it.
            let _permit = self.permit().await?;
            let (tools, tool_context) = (&self.shared.tools, &self.tool_context);
            let mut loaded = self.session(&context).loaded().restrictions_only();
            let is_quick = tools.is_quick(tool_context, &mut loaded, LOAD_SKILL, &input);
            let (tools, session) = (Arc::clone(tools), self.session(&context));
            let load = move |tool_context: &ToolContext| {
                tools::call_with(&tools, tool_context, &session, loaded, LOAD_SKILL, &input)
            };
            let called = if is_quick {
                load(tool_context)
            } else {
                working(&context, tool_context, load).await?
            };
            return Ok(called?.into());
        }
        if elicitation_rounds::can_answer(&context) {
            let asked = Rounds::new(
                request.request_state.as_deref(),
                request.input_responses.as_ref(),
            );
            let _permit = self.permit().await?;
            let (shared, session) = (Arc::clone(&self.shared), self.session(&context));
            let work = move |tool_context: &ToolContext| {
                tools::call(&shared.tools, tool_context, &session, &name, &input)
            };
            return match elicitation_rounds::working(&self.tool_context, asked, work).await? {
                Ok(called) => Ok(called?.into()),
                Err(required) => Ok(required.into()),
            };
        }
        let called = self.work(&context, move |shared, tool_context, session| {
            tools::call(&shared.tools, tool_context, session, &name, &input)
        });
        Ok(called.await??.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let hints = if is_modern(&context) {
            Hints::Given
        } else {
            Hints::Left
        };
        let CustomRequest {
            method,
            params: given,
            ..
        } = request;
        let answer = match &*method {
            "skills/list" => {
                let ListParams { cursor } = params(given)?;
                let work = move |shared: &Shared, _: &ToolContext, session: &Session| {
                    skills::list(&shared.resource_index, session, cursor.as_deref(), hints)
                };
                self.work(&context, work).await?
            }
            "skills/get" => {
                let GetParams { uri, .. } = params(given)?;
                let work = move |shared: &Shared, _: &ToolContext, session: &Session| {
                    skills::get(&shared.resource_index, session, &uri, hints)
                };
                self.work(&context, work).await?
            }
            "resources/directory/read" => {
                let GetParams { uri, cursor } = params(given)?;
                let work = move |shared: &Shared, _: &ToolContext, _: &Session| {
                    skills::directory(&shared.resource_index, &uri, cursor.as_deref(), hints)
                };
                self.work(&context, work).await?
            }
            // `rmcp` reports requests with invalid parameters as unknown methods.
            known if METHODS.contains(&known) => Err(ErrorData::invalid_params(
                "invalid parameters for this method",
                None,
            )),
            _ => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!(
                    "method not found: `{}`",
                    prowess_diag::sanitize::line(&method)
                ),
                None,
            )),
        };
        Ok(CustomResult::new(answer?))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let news = self.shared.hub.listen(|| self.watched());
        tokio::spawn(notify::tell(
            context.peer,
            Arc::downgrade(&self.session),
            news,
        ));
    }
}
