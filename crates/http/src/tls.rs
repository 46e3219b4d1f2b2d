//! TLS settings: one provider and the certificates of the system.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::client::{HttpError, HttpErrorKind};

/// Returns the TLS configuration. If the system has no certificates, `http` still works, and
/// `https` fails with an unknown issuer.
pub(crate) fn config() -> Result<ClientConfig, HttpError> {
    let provider = Arc::new(ring::default_provider());
    let with_system = builder(&provider)?.with_platform_verifier();
    match with_system {
        Ok(verified) => Ok(verified.with_no_client_auth()),
        Err(_) => Ok(builder(&provider)?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth()),
    }
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, HttpError> {
    ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::new(HttpErrorKind::Setup, error.to_string()))
}
