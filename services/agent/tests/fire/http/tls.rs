//! The load engine over TLS: which certificates are trusted, which protocol is negotiated, and
//! which client certificate is used.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::certificates::{Authority, Identity, Manner};
use crate::support::cores::{Cores, Counted, RUN, plan, step, task};
use crate::support::peer::{Act, Peer, Transport};
use loadpilot_agent::fire::Program;
use loadpilot_events::id::RunId;
use loadpilot_events::plan::connections::{Http, Reuse, TlsIdentity};
use loadpilot_events::plan::{Plan, SessionLength, Shape};
use loadpilot_events::units::Rate;
use loadpilot_events::{Cause, Outcome};

/// Name of the target in most tests; only `connect_to` leads to it.
const NAME: &str = "target.test";

fn peer(authority: &Authority, name: &str, manner: Manner) -> Peer {
    let config = authority.server(name, manner);
    Peer::start(Transport::Tls(config), |_| Act::Answer(200))
}

/// 20 arrivals within 2 ms, less than a handshake takes, to the target's name.
fn secure_plan(peer: &Peer, authority: &Authority, http: Http) -> Plan {
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(format!("https://{NAME}:8443"), 10_000, 2, tasks);
    plan.connections.http = http;
    plan.connections.connect_to = Some(peer.address.to_string());
    plan.connections.tls.roots_pem = Some(authority.pem());
    plan
}

async fn run(plan: Plan, secrets: &BTreeMap<String, String>) -> Counted {
    let mut cores = Cores::with_secrets(plan, secrets, 1, 20).start();
    cores.finish().await
}

fn all(outcome: Outcome) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(outcome, 20)])
}

/// Broken if the protocol is another than the plan allows and the target accepts, or if negotiating
/// it costs connections or is not counted.
#[tokio::test]
async fn the_protocol_is_what_both_sides_agree_on() {
    /// The negotiated protocol, or the outcome if there is none.
    type Agreed = Result<Option<&'static str>, Outcome>;
    const BOTH: &[&str] = &["h2", "http/1.1"];
    const OLD: &[&str] = &["http/1.1"];
    const NEW: &[&str] = &["h2"];
    let authority = Authority::new();
    let cases: [(&[&str], Http, Agreed); 12] = [
        (BOTH, Http::V1, Ok(Some("http/1.1"))),
        (BOTH, Http::V2, Ok(Some("h2"))),
        (BOTH, Http::Auto, Ok(Some("h2"))),
        (OLD, Http::V1, Ok(Some("http/1.1"))),
        (OLD, Http::V2, Err(Outcome::Tls)),
        (OLD, Http::Auto, Ok(Some("http/1.1"))),
        (NEW, Http::V1, Err(Outcome::Tls)),
        (NEW, Http::V2, Ok(Some("h2"))),
        (NEW, Http::Auto, Ok(Some("h2"))),
        (&[], Http::V1, Ok(None)),
        (&[], Http::V2, Err(Outcome::Tls)),
        (&[], Http::Auto, Ok(None)),
    ];
    for (protocols, http, wanted) in cases {
        let manner = Manner {
            protocols,
            ..Manner::BOTH
        };
        let peer = peer(&authority, NAME, manner);
        let counted = run(secure_plan(&peer, &authority, http), &BTreeMap::new()).await;
        let outcome = wanted.err().unwrap_or(Outcome::Ok);
        assert_eq!(counted.outcomes(), all(outcome), "{protocols:?} {http:?}");
        let Ok(agreed_on) = wanted else {
            assert_eq!(peer.seen().calls.len(), 0);
            continue;
        };
        peer.assert_once_each(20);
        let (opened, reused) = counted.connections();
        assert_eq!(opened + reused, 20);
        assert_eq!(opened, peer.connections(), "{protocols:?} {http:?}");
        if agreed_on == Some("h2") {
            assert_eq!(opened, 1, "{http:?}");
        }
        for connection in &peer.seen().connections {
            assert_eq!(connection.agreed_on.as_deref(), agreed_on);
            assert_eq!(connection.server_name.as_deref(), Some(NAME));
        }
    }
}

/// Broken if the connection on which the protocol was negotiated does not follow the rules of the
/// others.
#[tokio::test]
async fn the_first_connection_is_as_short_lived_as_any_other() {
    for protocols in [&["h2"][..], &["http/1.1"]] {
        let authority = Authority::new();
        let manner = Manner {
            protocols,
            ..Manner::BOTH
        };
        let peer = peer(&authority, NAME, manner);
        let mut plan = secure_plan(&peer, &authority, Http::Auto);
        plan.connections.reuse = Reuse::Never;
        let mut cores = Cores::new(plan, 1, 20).start();
        cores.cores[0].idle().await;
        peer.wait_until_all_closed();
        let counted = cores.finish().await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok));
        assert_eq!(counted.connections(), (20, 0));
        assert!(
            peer.seen()
                .connections
                .iter()
                .all(|connection| connection.calls == 1)
        );
        assert_eq!(peer.connections(), 20);
    }
}

/// Broken if the name in Host, authority or TLS is that of `connect_to` instead of the target's.
#[tokio::test]
async fn the_target_keeps_its_name_wherever_it_is_connected_to() {
    let authority = Authority::new();
    for http in [Http::V1, Http::V2] {
        let peer = peer(&authority, NAME, Manner::BOTH);
        let counted = run(secure_plan(&peer, &authority, http), &BTreeMap::new()).await;
        assert_eq!(counted.outcomes(), all(Outcome::Ok));
        let seen = peer.seen();
        for call in &seen.calls {
            let authority = call.uri.authority().map(|authority| authority.as_str());
            let host = call.header("host").or(authority);
            assert_eq!(host, Some("target.test:8443"));
        }
    }
}

/// Broken if an unknown authority is trusted, or a known one is not, unless the plan says so.
#[tokio::test]
async fn only_a_known_authority_and_name_are_trusted_unless_the_plan_says_otherwise() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for http in [Http::V1, Http::V2, Http::Auto] {
        // The authority that signs, the name in the certificate, whether the plan accepts any
        // certificate, and the expected result.
        let cases = [
            (&authority, NAME, false, Ok(())),
            (&stranger, NAME, false, Err(Cause::CertificateUntrusted)),
            (
                &authority,
                "other.test",
                false,
                Err(Cause::CertificateOtherName),
            ),
            (&stranger, NAME, true, Ok(())),
            (&authority, "other.test", true, Ok(())),
        ];
        for (signer, name, insecure, wanted) in cases {
            let peer = peer(signer, name, Manner::BOTH);
            let mut plan = secure_plan(&peer, &authority, http);
            plan.connections.tls.insecure = insecure;
            let counted = run(plan, &BTreeMap::new()).await;
            let outcome = wanted.map_or(Outcome::Tls, |()| Outcome::Ok);
            assert_eq!(counted.outcomes(), all(outcome), "{name} {insecure}");
            if let Err(cause) = wanted {
                assert_eq!(counted.causes(), BTreeMap::from([(cause, 20)]));
                assert_eq!(
                    peer.seen().calls.len(),
                    0,
                    "an untrusted target received a call"
                );
                assert_eq!(peer.seen().accepted, 20);
            }
        }
    }
}

/// Broken if a certificate that the plan trusts is refused because it is its own authority, or
/// accepted under another name, after its last day or from a target without its key.
#[tokio::test]
async fn a_self_signed_certificate_of_the_plan_is_trusted() {
    let own = Identity::self_signed(NAME, 2099);
    let other_name = Identity::self_signed("other.test", 2099);
    let over = Identity::self_signed(NAME, 2020);
    let issued = Authority::new().issue(NAME);
    let impostor = own.clone().with_key_of(&other_name);
    // The certificate of the target, the one that the plan trusts, and the expected result.
    let cases = [
        (&own, &own, Ok(())),
        (&issued, &issued, Ok(())),
        (&own, &over, Err(Cause::CertificateInvalid)),
        (&other_name, &other_name, Err(Cause::CertificateOtherName)),
        (&over, &over, Err(Cause::CertificateExpired)),
        (&impostor, &own, Err(Cause::CertificateUntrusted)),
    ];
    for (number, (shown, trusted, wanted)) in cases.into_iter().enumerate() {
        for is_old in [false, true] {
            let peer = Peer::start(Transport::Tls(shown.server(is_old)), |_| Act::Answer(200));
            let mut plan = secure_plan(&peer, &Authority::new(), Http::V1);
            plan.connections.tls.roots_pem = Some(trusted.certificate_pem.clone());
            let counted = run(plan, &BTreeMap::new()).await;
            let outcome = wanted.map_or(Outcome::Tls, |()| Outcome::Ok);
            assert_eq!(counted.outcomes(), all(outcome), "case {number} {is_old}");
            if let Err(cause) = wanted {
                assert_eq!(
                    counted.causes(),
                    BTreeMap::from([(cause, 20)]),
                    "case {number}"
                );
            }
        }
    }
}

/// Broken if a call that opens a connection as a new client resumes the TLS session of another
/// connection, or if an ordinary client makes a full handshake each time.
#[tokio::test]
async fn new_clients_take_up_no_tls_session() {
    let authority = Authority::new();
    for http in [Http::V1, Http::V2] {
        for is_old in [false, true] {
            let manner = Manner {
                is_old,
                ..Manner::BOTH
            };
            for (reuse, requests_max, may_resume) in [
                (Reuse::Never, None, false),
                (Reuse::SharePpm(300_000), None, false),
                (Reuse::Always, Some(1), true),
            ] {
                let peer = peer(&authority, NAME, manner);
                let mut plan = secure_plan(&peer, &authority, http);
                plan.connections.reuse = reuse;
                plan.connections.requests_max = requests_max;
                // One call after the other: each finds the TLS sessions of the calls before.
                let mut cores = Cores::new(plan, 1, 1).start();
                let counted = cores.finish().await;
                assert_eq!(counted.outcomes(), all(Outcome::Ok));
                let seen = peer.seen();
                assert!(seen.connections.len() > 1);
                let resumed = seen.connections.iter().filter(|m| m.resumed).count();
                assert_eq!(
                    resumed > 0,
                    may_resume,
                    "{http:?} {is_old} {reuse:?}: {resumed}"
                );
            }
        }
    }
}

/// Broken if the client of a new session of a closed loop resumes the TLS session of the client
/// before it.
#[tokio::test]
async fn a_user_that_replaces_another_takes_up_no_tls_session() {
    let authority = Authority::new();
    let peer = peer(&authority, NAME, Manner::BOTH);
    let mut plan = secure_plan(&peer, &authority, Http::V1);
    plan.profile.shape = Shape::Closed;
    plan.profile.pieces[0].from = Rate::per_second(0);
    plan.profile.pieces[0].to = Rate::per_second(0);
    plan.profile.pieces[0].duration_us = 300_000;
    plan.users = Some(1);
    plan.session = Some(SessionLength::Between {
        from_us: 50_000,
        to_us: 50_000,
    });
    Cores::new(plan, 1, 1).start().finish().await;
    let seen = peer.seen();
    assert!(seen.connections.len() > 1);
    assert!(
        seen.connections
            .iter()
            .all(|connection| !connection.resumed)
    );
}

/// Broken if the client does not present the certificate that the target demands, or if a refusal
/// is reported as anything else. Without a certificate the handshake of TLS 1.2 fails. That of TLS
/// 1.3 is over for the client before the target has examined it (RFC 8446, section 4.4.2), so that
/// the refusal affects the first call.
#[tokio::test]
async fn a_client_certificate_is_shown_where_it_is_demanded() {
    let authority = Authority::new();
    let client = authority.issue("client.test");
    let secrets = BTreeMap::from([("key".to_owned(), client.key_pem.clone())]);
    for http in [Http::V1, Http::V2] {
        for is_old in [false, true] {
            let manner = Manner {
                asks_for_certificate: true,
                is_old,
                ..Manner::BOTH
            };
            let peer = peer(&authority, NAME, manner);
            let mut plan = secure_plan(&peer, &authority, http);
            let counted = run(plan.clone(), &BTreeMap::new()).await;
            let mut expected = BTreeSet::from([Cause::ClientCertificate]);
            if http == Http::V2 && !is_old {
                // An agent that is still writing may see the closed connection before the alert.
                expected.extend([Cause::BrokenPipe, Cause::Reset]);
            } else {
                assert_eq!(
                    counted.outcomes(),
                    all(Outcome::Tls),
                    "{http:?} old: {is_old}"
                );
            }
            let causes: BTreeSet<Cause> = counted.causes().into_keys().collect();
            assert!(causes.is_subset(&expected), "{causes:?}");
            assert_eq!(peer.seen().calls.len(), 0);

            plan.connections.tls.identity = Some(TlsIdentity {
                certificate_pem: client.certificate_pem.clone(),
                key_secret: "key".to_owned(),
            });
            let counted = run(plan, &secrets).await;
            assert_eq!(
                counted.outcomes(),
                all(Outcome::Ok),
                "{http:?} old: {is_old}"
            );
            let seen = peer.seen();
            assert!(!seen.connections.is_empty());
            for connection in &seen.connections {
                assert_eq!(connection.client_certificates, [client.der.to_vec()]);
            }
        }
    }
}

/// Broken if a program or a fault shows a key, or if a missing key is detected only when it is
/// needed.
#[test]
fn a_private_key_is_needed_and_never_printed() {
    let authority = Authority::new();
    let (client, other) = (
        authority.issue("client.test"),
        authority.issue("other.test"),
    );
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan("https://127.0.0.1:1".to_owned(), 10, 100, tasks);
    plan.connections.tls.roots_pem = Some(authority.pem());
    plan.connections.tls.identity = Some(TlsIdentity {
        certificate_pem: client.certificate_pem.clone(),
        key_secret: "my-key".to_owned(),
    });
    let run = RunId::parse(RUN).expect("a token");
    let compile = |key_pem: &str| {
        let secrets = BTreeMap::from([("my-key".to_owned(), key_pem.to_owned())]);
        Program::compile(&plan, &run, &secrets)
    };
    let is_shown = |text: &str, pem: &str| {
        let mut lines = pem.lines().filter(|line| !line.starts_with('-'));
        lines.any(|line| text.contains(line))
    };
    let program = compile(&client.key_pem).expect("a key and its certificate");
    for text in [format!("{program:?}"), format!("{program:#?}")] {
        assert!(!is_shown(&text, &client.key_pem));
    }
    for wrong in [other.key_pem.as_str(), "no key at all"] {
        let fault = compile(wrong).expect_err("not the key");
        assert!(fault.to_string().contains("connections.tls.identity"));
        assert!(!is_shown(&format!("{fault} {fault:?}"), wrong));
    }
    let missing = Program::compile(&plan, &run, &BTreeMap::new()).expect_err("no key");
    assert!(missing.to_string().contains("my-key"));
    plan.connections.tls.roots_pem = Some("no certificate".to_owned());
    let fault = Program::compile(&plan, &run, &BTreeMap::new()).expect_err("no roots");
    assert!(fault.to_string().contains("connections.tls.roots_pem"));
}

/// Broken if calls that cannot share a connection, by the rules of reuse or because it carries one
/// call at a time, wait for each other's handshake.
#[tokio::test]
async fn calls_that_share_nothing_open_their_connections_side_by_side() {
    for (reuse, streams_max) in [(Reuse::Never, None), (Reuse::Always, Some(1))] {
        side_by_side(reuse, streams_max).await;
    }
}

async fn side_by_side(reuse: Reuse, streams_max: Option<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("its address");
    let (came, coming) = mpsc::channel();
    thread::spawn(move || {
        // No TLS hello is answered: each connection stays in its handshake.
        let mut connections = Vec::new();
        for stream in listener.incoming() {
            connections.push(stream.expect("a connection"));
            came.send(()).expect("a test that counts");
        }
    });
    let tasks = vec![task("only", 1, vec![step("/only")])];
    let mut plan = plan(format!("https://{address}"), 100, 40, tasks);
    plan.timeout_us = 60_000_000;
    plan.connections.http = Http::V2;
    plan.connections.reuse = reuse;
    plan.connections.streams_max = streams_max;
    plan.connections.tls.roots_pem = Some(Authority::new().pem());
    let mut cores = Cores::new(plan, 1, 4).start();
    for _ in 0..4 {
        let came = coming.recv_timeout(Duration::from_secs(5));
        came.expect("a connection for each call");
    }
    cores.cores[0].cancel();
    let counted = cores.finish().await;
    assert_eq!(
        counted.outcomes(),
        BTreeMap::from([(Outcome::Cancelled, 4)])
    );
}
