//! Proof that a tenant may load the hosts of its plan (ADR 0067).
//!
//! Above a rate, or a number of users, that the operator chose for a tenant, each agent looks for a
//! token on the hosts before it starts. The token is derived from the operator's key, the tenant
//! and the host, so that nothing is stored. Must never put the key into a decision.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use loadpilot_events::id::TenantId;
use loadpilot_events::log::ctl::{Excess, OwnershipProof};
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::Rate;
use sha2::Sha256;

/// Minimum length of an operator's key, in bytes.
pub const KEY_BYTES_MIN: usize = 32;

/// Maximum length of an operator's key, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// Beginning of every token.
const TOKEN_PREFIX: &str = "loadpilot-";

/// The operator's key of ownership tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnershipKey(Vec<u8>);

impl fmt::Debug for OwnershipKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnershipKey(…)")
    }
}

impl OwnershipKey {
    /// The key in the bytes of a file, without white space around it.
    ///
    /// # Errors
    /// It is too short or too long, at `field`. The problem does not show it.
    pub fn new(field: &str, bytes: &[u8]) -> Result<Self, Problem> {
        let key = bytes.trim_ascii();
        if (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Ok(Self(key.to_owned()));
        }
        let rule = format!(
            "must name a file with a key of {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes, such as \
             the output of: openssl rand -hex 32"
        );
        let found = format!("a key of {} bytes", key.len());
        Err(Problem::new(field, rule, found))
    }

    /// The token by which `host` shows that `tenant` may load it: HMAC-SHA-256 (RFC 2104) of tenant
    /// and host, the first 128 bits in hex.
    #[must_use]
    pub fn token(&self, tenant: &TenantId, host: &str) -> String {
        let host = host_name(host);
        let code = hmac(&self.0, format!("{tenant}\n{host}").as_bytes());
        let mut token = TOKEN_PREFIX.to_owned();
        for byte in &code[..16] {
            // Writing to a text cannot fail.
            let _ = write!(token, "{byte:02x}");
        }
        token
    }
}

/// Limits of a tenant without a proof; `None` in both: no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unproven {
    /// Maximum rate of an open loop.
    pub rate: Option<Rate>,
    /// Maximum number of users of a closed loop.
    pub users: Option<u32>,
}

impl Unproven {
    /// Whether there is a limit. Where only one kind of load has one, the other kind always needs a
    /// proof: it could be as high.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.rate.is_some() || self.users.is_some()
    }

    /// How a plan exceeds the limits.
    #[must_use]
    pub fn excess(&self, plan: &Plan) -> Option<Excess> {
        match plan.users {
            None => self.excess_rate(plan.profile.peak()),
            Some(requested) => {
                let limit = self.users.unwrap_or_default();
                let is_above = self.is_limited() && requested > limit;
                is_above.then_some(Excess::Users { requested, limit })
            }
        }
    }

    /// How a rate of an open loop exceeds the limits.
    #[must_use]
    pub fn excess_rate(&self, requested: Rate) -> Option<Excess> {
        let limit = self.rate.unwrap_or_default();
        let is_above = self.is_limited() && requested > limit;
        is_above.then_some(Excess::Rate { requested, limit })
    }

    /// The proof that a run of `tenant` needs; `None`: none.
    ///
    /// # Errors
    /// Its plan has a proxy, or a host that cannot publish a token.
    pub fn required(
        &self,
        plan: &Plan,
        tenant: &TenantId,
        key: Option<&OwnershipKey>,
    ) -> Result<Option<OwnershipProof>, Problem> {
        let (Some(excess), Some(key)) = (self.excess(plan), key) else {
            return Ok(None);
        };
        if let Some(proxy) = &plan.connections.proxy {
            let rule = format!(
                "must be left out: {}, and no proof that tenant {tenant} owns the target can be \
                 read through a proxy",
                excess.words()
            );
            return Err(Problem::new("connections.proxy", rule, &proxy.url));
        }
        let mut tokens = BTreeMap::new();
        for url in plan.targets().chain(origins(plan)) {
            let host = host_of(url).to_owned();
            tokens.insert(host.clone(), key.token(tenant, &host));
        }
        Ok(Some(OwnershipProof {
            tenant: tenant.clone(),
            excess,
            tokens,
        }))
    }
}

fn origins(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.connections.redirect_origins.iter().map(String::as_str)
}

/// The host in a URL, `http(s)://host[:port][/path]`, an authority, or a host alone: without port
/// and brackets, as written.
#[must_use]
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some(inner) = authority.strip_prefix('[') {
        return inner.split(']').next().unwrap_or_default();
    }
    match authority.split_once(':') {
        // An IPv6 address without brackets has several colons.
        Some((host, port)) if !port.contains(':') => host,
        _ => authority,
    }
}

/// A host in the form that tokens are derived from: names are equal in either case, and with or
/// without a dot at the end.
fn host_name(host: &str) -> String {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.to_ascii_lowercase()
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let keyed = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    keyed.chain_update(text).finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a text takes it");
            text
        })
    }

    /// Test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn the_code_is_that_of_the_standard() {
        for (key, text, code) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(&key, text)), code);
        }
    }

    /// Broken if a token of one tenant or host is that of another, or depends on how a host is
    /// written.
    #[test]
    fn a_token_is_of_one_tenant_and_one_host() {
        let key = OwnershipKey::new("key", &[b'k'; 32]).expect("long enough");
        let tenant = |name| TenantId::parse(name).expect("a token");
        let shop = key.token(&tenant("shop"), "shop.example");
        assert_eq!(shop, key.token(&tenant("shop"), "SHOP.example."));
        assert_ne!(shop, key.token(&tenant("search"), "shop.example"));
        assert_ne!(shop, key.token(&tenant("shop"), "shop.example.org"));
        let other = OwnershipKey::new("key", &[b'l'; 32]).expect("long enough");
        assert_ne!(shop, other.token(&tenant("shop"), "shop.example"));
        assert_eq!(format!("{key:?}"), "OwnershipKey(…)");
        let short = OwnershipKey::new("key", b"  hunter2\n").expect_err("too short");
        assert!(short.to_string().contains("a key of 7 bytes"), "{short}");
        assert!(!short.to_string().contains("hunter2"));
    }

    /// Broken if a proof is required for another host than that of the load.
    #[test]
    fn the_host_is_that_of_the_url() {
        for (url, host) in [
            ("https://shop.example/path?x=1", "shop.example"),
            ("http://shop.example:8080", "shop.example"),
            ("http://[::1]:80/", "::1"),
            ("[fe80::1]", "fe80::1"),
            ("::1", "::1"),
            ("shop.example:80", "shop.example"),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }
}
