//! TLS settings: one provider and the certificates of the system.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::client::{HttpError, HttpErrorKind};

/// Returns the TLS configuration. If the system has no certificates, `http` still works, and
/// `https` fails.
pub(crate) fn config() -> Result<ClientConfig, HttpError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = SystemVerifier {
        provider: Arc::clone(&provider),
        verifier: OnceLock::new(),
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::new(HttpErrorKind::Setup, error.to_string()))?;
    // rustls calls every verifier of a program dangerous. This one is the verifier of the platform.
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Verifies servers with the certificates of the system, which are read when the first certificate
/// is verified: reading them takes several times as long as a short run that never connects.
#[derive(Debug)]
struct SystemVerifier {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Verifier, Error>>,
}

impl SystemVerifier {
    fn system(&self) -> Result<&Verifier, Error> {
        self.verifier
            .get_or_init(|| Verifier::new(Arc::clone(&self.provider)))
            .as_ref()
            .map_err(Error::clone)
    }
}

impl ServerCertVerifier for SystemVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.system()?.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::CertificateError;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// An authority that no system knows, valid until 2126.
    const AUTHORITY: &[u8] = b"-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUHj0FnUe+EPW0ZEx8Y72Ga6iC7vkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTExNzEyMzY1OVoYDzIxMjYxMDI0
MTIzNjU5WjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATf7KqjYyERI+dsBXlJSDFN28mLc/09uhM+YG8M5hIt1JHXDAUuvgac
n6FzLOrfaYDKc4WSwhYPJ2SWicxOL4dho1MwUTAdBgNVHQ4EFgQUSmXMowBrWWlF
WCkt1eddZyVOE8gwHwYDVR0jBBgwFoAUSmXMowBrWWlFWCkt1eddZyVOE8gwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA/BS4axQLHgDXgOcvgXWN
xXcIUy0ZgjtIVPco2MOlsSACIGZndnSXBai3GPon0qoXOwq63uDloDCTER7xry+Y
+zlE
-----END CERTIFICATE-----
";

    /// A certificate for `localhost`, signed by [`AUTHORITY`].
    const SERVER: &[u8] = b"-----BEGIN CERTIFICATE-----
MIIBpDCCAUqgAwIBAgIUVRIhGcsshB/qiz8yKpvRILzuQagwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTExNzEyMzcwMFoYDzIxMjYxMDI0
MTIzNzAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASEIYHfEwBj4DbOjTXnRUTy9y80eP01fxWvX4QNLR7lJHi+TQznXurf
sYJEWmBEQpSecSgrhuaDLkOrOVSUOU/ho3gwdjAUBgNVHREEDTALgglsb2NhbGhv
c3QwCQYDVR0TBAIwADATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQU3KZk
+956dbRyUE62OAnm4HL9zFswHwYDVR0jBBgwFoAUSmXMowBrWWlFWCkt1eddZyVO
E8gwCgYIKoZIzj0EAwIDSAAwRQIgMYRk3dykdJSC07CdsBH4J15r6vpVvfcgbhMw
mnmh6H8CIQCYNf/lUfzdoiFjQ/HX/SqsMD6EXydcCgkTwPm9USFDBg==
-----END CERTIFICATE-----
";

    fn verifier(system: OnceLock<Result<Verifier, Error>>) -> SystemVerifier {
        SystemVerifier {
            provider: Arc::new(ring::default_provider()),
            verifier: system,
        }
    }

    fn verify(verifier: &SystemVerifier, host: &'static str) -> Result<(), Error> {
        let server = CertificateDer::from_pem_slice(SERVER).unwrap();
        let host = ServerName::try_from(host).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_hours(500_000));
        let verified = verifier.verify_server_cert(&server, &[], &host, &[], now);
        verified.map(|_| ())
    }

    #[test]
    fn known_authority_vouches_for_its_hosts_only() {
        let roots = [CertificateDer::from_pem_slice(AUTHORITY).unwrap()];
        let system = Verifier::new_with_extra_roots(roots, Arc::new(ring::default_provider()));
        let verifier = verifier(OnceLock::from(system));
        assert_eq!(verify(&verifier, "localhost"), Ok(()));
        let other = verify(&verifier, "example.com").unwrap_err();
        assert!(
            matches!(
                other,
                Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })
            ),
            "{other:?}"
        );
    }

    #[test]
    fn unknown_authority_is_rejected() {
        let verifier = verifier(OnceLock::new());
        assert!(verify(&verifier, "localhost").is_err());
        // The certificates of this system, if it has any.
        if let Some(Ok(_)) = verifier.verifier.get() {
            let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
            assert_eq!(verify(&verifier, "localhost"), Err(unknown));
        }
    }

    #[test]
    fn system_without_certificates_rejects_every_server() {
        let none = Error::General("no certificates".to_owned());
        let verifier = verifier(OnceLock::from(Err(none.clone())));
        assert_eq!(verify(&verifier, "localhost"), Err(none));
    }
}
