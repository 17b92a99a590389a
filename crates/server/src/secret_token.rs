//! Generates secrets of pages and compares what a client sends with them, in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;

/// A random text that only its receivers know.
#[derive(Clone)]
pub struct SecretToken(String);

impl SecretToken {
    /// Creates a random token.
    ///
    /// # Panics
    /// If the system has no random numbers: the token would not be secret.
    pub fn random() -> Self {
        let mut bits = [0; 32];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(&mut bits).expect("the system has random numbers");
        Self(URL_SAFE_NO_PAD.encode(bits))
    }

    /// The text of the token.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is the token.
    pub fn is(&self, offered: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing = own.iter().zip(offered).fold(0, |sum, (one, other)| sum | (one ^ other));
        own.len() == offered.len() && std::hint::black_box(differing) == 0
    }
}

/// Hides the secret.
impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretToken")
    }
}

#[cfg(test)]
mod tests {
    use super::SecretToken;

    #[test]
    fn no_two_are_the_same_and_each_is_only_itself() {
        let (one, other) = (SecretToken::random(), SecretToken::random());
        assert!(one.is(one.text().as_bytes()) && !one.is(other.text().as_bytes()));
        assert!(!one.is(b"") && !one.is(b"board") && !one.is(&one.text().as_bytes()[1..]));
        assert_eq!(one.text().len(), 43);
        assert!(!format!("{one:?}").contains(one.text()));
    }
}
