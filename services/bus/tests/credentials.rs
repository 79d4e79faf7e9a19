//! Logging in with a credentials file, on a server whose accounts an operator signed.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loadpilot_bus::testserver::{NoServer, TestServer};
use loadpilot_bus::{Bus, Fault, Options};
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Claims of `signer` about `subject`, in the form that servers read.
fn jwt(signer: &KeyPair, subject: &KeyPair, nats: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(&json!({"typ": "JWT", "alg": "ed25519-nkey"}));
    let claims = part(&json!({
        "jti": subject.public_key(), "iat": 1_700_000_000, "name": "test",
        "iss": signer.public_key(), "sub": subject.public_key(), "nats": nats,
    }));
    let signed = format!("{head}.{claims}");
    let signature = signer.sign(signed.as_bytes()).expect("the key has a seed");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn account(operator: &KeyPair, account: &KeyPair, has_jetstream: bool) -> String {
    let store = i64::from(has_jetstream).wrapping_neg();
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": store, "disk_storage": store,
        "streams": store, "consumer": store,
    });
    let nats = json!({"type": "account", "version": 2, "limits": limits});
    jwt(operator, account, &nats)
}

/// A server, and the credentials file of one of its users.
fn server(dir: &TempDir) -> Result<(TestServer, PathBuf), NoServer> {
    let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
    let (team, user) = (KeyPair::new_account(), KeyPair::new_user());
    let of_operator = jwt(
        &operator,
        &operator,
        &json!({"type": "operator", "version": 2}),
    );
    let (team_key, system_key) = (team.public_key(), system.public_key());
    let access = format!(
        "operator: {of_operator}\nsystem_account: {system_key}\nresolver: MEMORY\n\
         resolver_preload: {{ {team_key}: {}, {system_key}: {} }}",
        account(&operator, &team, true),
        account(&operator, &system, false),
    );
    let limits = json!({"subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}});
    let mut nats = json!({"type": "user", "version": 2});
    if let (Value::Object(nats), Value::Object(limits)) = (&mut nats, limits) {
        nats.extend(limits);
    }
    let file = dir.path().join("user.creds");
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        jwt(&team, &user, &nats),
        user.seed().expect("the key has a seed"),
    );
    fs::write(&file, text).expect("a file");
    Ok((TestServer::start_open_to(&access)?, file))
}

/// Broken if a hosted server, whose accounts have no tokens, cannot be used.
#[tokio::test]
async fn a_credentials_file_opens_the_log() {
    let dir = TempDir::new().expect("a folder");
    let (server, file) = match server(&dir) {
        Ok(found) => found,
        Err(NoServer::NotFound) => return eprintln!("SKIPPED: {}", NoServer::NotFound),
        Err(failed) => panic!("{failed}"),
    };
    let options = |creds| Options {
        creds,
        ..Options::new(&server.url)
    };
    let bus = Bus::connect(&options(Some(file.clone()))).await;
    let bus = bus.expect("the server accepts");
    bus.open_log().await.expect("the account has JetStream");

    let refused = Bus::connect(&options(None)).await;
    assert!(
        matches!(refused, Err(Fault::Unauthorized { .. })),
        "{refused:?}"
    );
    fs::write(&file, "s3cret").expect("a file");
    let broken = Bus::connect(&options(Some(file.clone()))).await;
    let error = broken.expect_err("the file is invalid").to_string();
    assert!(error.contains("must hold a JWT and its key"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    fs::remove_file(&file).expect("it was there");
    let gone = Bus::connect(&options(Some(file))).await;
    assert!(matches!(gone, Err(Fault::Credentials { .. })), "{gone:?}");
}
