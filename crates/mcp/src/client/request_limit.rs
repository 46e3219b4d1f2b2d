//! Limits the pending requests of a server.
//!
//! `rmcp` answers each request of a server in its own task. If a server sends requests and never
//! reads the responses, the tasks would accumulate; the connection is closed instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// Maximum number of pending requests of a server.
const MAX_WAITING: usize = 64;

/// A transport that limits the requests of the other end.
pub(crate) struct Guarded<T> {
    inner: T,
    waiting: Arc<AtomicUsize>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            waiting: Arc::default(),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let (sent, waiting) = (self.inner.send(message), Arc::clone(&self.waiting));
        async move {
            let sent = sent.await;
            if answers {
                // A response that could not be sent stays pending.
                let _ = waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |waiting| {
                    waiting.checked_sub(1)
                });
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        if matches!(message, JsonRpcMessage::Request(_))
            && self.waiting.fetch_add(1, Ordering::AcqRel) >= MAX_WAITING
        {
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
