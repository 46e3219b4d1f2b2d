//! A bound on what a server may ask of us at a time.
//!
//! The library answers each request of a server in a task of its own. One that asks and never takes
//! an answer would make them pile up; its connection ends here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// Most requests of a server that wait for our answers.
const MAX_WAITING: usize = 64;

/// A connection whose other end may not ask too much.
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
                // An answer that nobody takes still waits.
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
