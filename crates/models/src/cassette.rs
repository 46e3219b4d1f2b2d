//! Recording and replaying the replies of models.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_agent::{Delta, MessagePart, Reply, Request, ToolChoice};
use prowess_traits::{BoxFuture, Model, ModelError, ModelErrorKind, ModelInfo, OnDelta};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::price::DEFAULT_WINDOW;

/// The maximum size of a recording in bytes.
pub const MAX_CASSETTE: u64 = 256 * 1024 * 1024;

/// An unusable recording.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be opened, read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A line is not a valid reply.
    #[error("`{}`, line {line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number.
        line: usize,
        /// The reason.
        message: String,
    },
    /// The recording is too large.
    #[error("`{}` is larger than {MAX_CASSETTE} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Serialize, Deserialize)]
struct Line {
    schema: u32,
    model: String,
    digest: String,
    reply: Reply,
}

/// Returns a digest of the content of a request. The order of keys in a schema is ignored.
pub fn digest(request: &Request) -> String {
    let choice = match request.options.choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
    };
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!([tool.name, tool.description, sorted(&tool.schema)]))
        .collect();
    let messages = serde_json::to_value(&*request.messages).unwrap_or_default();
    let whole = json!([
        request.system,
        tools,
        sorted(&messages),
        request.options.max_tokens,
        request.options.effort,
        choice,
    ]);
    let digest = Sha256::digest(whole.to_string());
    prowess_diag::hex(&digest)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let ordered: BTreeMap<&String, &Value> = object.iter().collect();
            ordered
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Wraps a model and appends each reply to a file that only its owner can read. Keys are not part
/// of a request and are never recorded.
#[derive(Debug)]
pub struct RecordingModel {
    inner: Arc<dyn Model>,
    path: PathBuf,
    file: Mutex<File>,
}

impl RecordingModel {
    /// Opens the file, or creates it.
    pub fn open(inner: Arc<dyn Model>, path: &Path) -> Result<Self, CassetteError> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| CassetteError::File {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            inner,
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }

    fn write(&self, request: &Request, reply: &Reply) -> Result<(), ModelError> {
        let model = self.inner.about().name.to_string();
        let line = Line {
            schema: 1,
            model,
            digest: digest(request),
            reply: reply.clone(),
        };
        let fault = |message: String| ModelError {
            kind: ModelErrorKind::BadRequest,
            model: self.inner.about().name.clone(),
            message: format!(
                "cannot record the reply in `{}`: {message}",
                self.path.display()
            ),
            attempts: 1,
        };
        let mut text = serde_json::to_string(&line).map_err(|error| fault(error.to_string()))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .map_err(|error| fault(error.to_string()))
    }
}

impl Model for RecordingModel {
    fn about(&self) -> &ModelInfo {
        self.inner.about()
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let reply = self.inner.ask(request, deltas).await?;
            self.write(request, &reply)?;
            Ok(reply)
        })
    }
}

/// Returns the replies of a recording.
#[derive(Debug)]
pub struct ReplayModel {
    about: ModelInfo,
    /// The replies to each request in the order of the recording, and the number already returned.
    replies: Mutex<BTreeMap<String, (Vec<Reply>, usize)>>,
}

impl ReplayModel {
    /// Reads a recording.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        let failed = |error| CassetteError::File {
            path: path.to_owned(),
            error,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_CASSETTE + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MAX_CASSETTE {
            return Err(CassetteError::TooLarge {
                path: path.to_owned(),
            });
        }
        let mut replies: BTreeMap<String, (Vec<Reply>, usize)> = BTreeMap::new();
        let mut model = String::new();
        for (at, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let fault = |message: String| CassetteError::Line {
                path: path.to_owned(),
                line: at + 1,
                message,
            };
            let line: Line =
                serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            if line.schema != 1 {
                return Err(fault(format!("unsupported schema {}", line.schema)));
            }
            model = line.model;
            replies.entry(line.digest).or_default().0.push(line.reply);
        }
        let about = ModelInfo {
            name: format!("replay/{model}").into(),
            window: DEFAULT_WINDOW,
            price: None,
            note: Some("the replies come from a recording; no model is used".into()),
        };
        Ok(Self {
            about,
            replies: Mutex::new(replies),
        })
    }

    /// Returns the next reply to a request. The last one is repeated.
    fn find(&self, request: &Request) -> Option<Reply> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, given) = replies.get_mut(&digest(request))?;
        let reply = known.get(*given).or_else(|| known.last())?.clone();
        *given = (*given + 1).min(known.len());
        Some(reply)
    }
}

impl Model for ReplayModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let reply = self.find(request).ok_or_else(|| ModelError {
                kind: ModelErrorKind::BadRequest,
                model: self.about.name.clone(),
                message: format!("the recording has no reply to request {}", digest(request)),
                attempts: 1,
            })?;
            for part in &reply.parts {
                match part {
                    MessagePart::Text { text, .. } => deltas(Delta::Text(text.clone())),
                    MessagePart::Reasoning { text, .. } if !text.is_empty() => {
                        deltas(Delta::Reasoning(text.clone()));
                    }
                    MessagePart::Call(call) => deltas(Delta::Call {
                        name: call.name.clone(),
                    }),
                    MessagePart::Hint { .. }
                    | MessagePart::Reasoning { .. }
                    | MessagePart::Image(_)
                    | MessagePart::Result(_) => {}
                }
            }
            Ok(reply)
        })
    }
}
