//! The cryptography of tokens by ring, which the rest of the node uses too.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

/// Tokens are verified here and made elsewhere.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Once for the process. Whoever came first stays: nobody else in the process installs another one.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let octets = key.try_get_as_bytes()?.to_vec();
    let (family, material) = match algorithm {
        Algorithm::EdDSA => (AlgorithmFamily::Ed, Material::Public(UnparsedPublicKey::new(&ED25519, octets))),
        Algorithm::ES256 => {
            (AlgorithmFamily::Ec, Material::Public(UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, octets)))
        }
        Algorithm::RS256 => {
            let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, octets);
            (AlgorithmFamily::Rsa, Material::Public(key))
        }
        Algorithm::HS256 => {
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &octets);
            (AlgorithmFamily::Hmac, Material::Secret(key))
        }
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    if key.family() != family {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(Check { algorithm: *algorithm, material }))
}

struct Check {
    algorithm: Algorithm,
    material: Material,
}

enum Material {
    Public(UnparsedPublicKey<Vec<u8>>),
    Secret(ring::hmac::Key),
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let fits = match &self.material {
            Material::Public(key) => key.verify(message, signature),
            Material::Secret(key) => ring::hmac::verify(key, message, signature),
        };
        fits.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
