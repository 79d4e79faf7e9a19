//! Creates the streams, the bucket and the object store if they are absent, otherwise compares them
//! with the settings that the log needs. It never changes and never deletes one. Also reads the
//! settings, the state and the time of a stream.
//!
//! A stream with other settings can lose or forge events (memory storage, asynchronous persistence,
//! an age limit, discard *old*), and deleting it to "repair" it would lose all of them. So a drift
//! is reported and left to an operator. Sizes are an operator's choice; they only have to be set.
//!
//! A client cannot see whether the server syncs each write to disk (`sync_interval`): the author of
//! the server's configuration has to set that.

use std::fmt::Debug;
use std::iter::zip;

use async_nats::datetime::parse_rfc3339;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::account::Account;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use serde::Deserialize;
use tokio::time::Instant;

use super::{Nats, api};
use crate::account::size;
use crate::{Fault, Stream};

/// Maximum number of consumers of a stream. There are few tails: more consumers are a leak.
const MAX_CONSUMERS: i32 = 256;

/// Time of a stream's state, which the client library's own type leaves out.
#[derive(Deserialize)]
struct StateTime {
    ts: String,
}

impl Nats {
    pub(crate) async fn open_log(&self) -> Result<(), Fault> {
        self.line.must_be_up()?;
        self.account().await?;
        if self.within.is_some() {
            // Coordinators open it; a confined user can only check that they have done so.
            return self.stored_creation(Stream::Ctl).await.map(|_| ());
        }
        for stream in Stream::ALL {
            self.ensure(self.wanted_stream(stream)).await?;
        }
        Ok(())
    }

    pub(super) async fn open_bucket(&self) -> Result<(), Fault> {
        self.ensure(self.wanted_bucket()).await
    }

    pub(super) async fn open_objects(&self) -> Result<(), Fault> {
        self.ensure(self.wanted_objects()).await
    }

    /// The stream behind the object store.
    pub(super) fn objects_asset(&self) -> String {
        format!("OBJ_{}", self.options.names.objects)
    }

    /// The stream behind the bucket.
    pub(super) fn bucket_asset(&self) -> String {
        format!("KV_{}", self.options.names.kv)
    }

    /// The account's JetStream state; also the cheapest request to any server.
    pub(super) async fn account(&self) -> Result<Account, Fault> {
        let sent_at = Instant::now();
        let requested = self.api("INFO");
        let found = tokio::select! {
            found = self.jetstream.query_account() => found,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        match found {
            Ok(account) => Ok(account),
            Err(err) => Err(match api::fault("read the account", &err) {
                Fault::Server { why, .. } => Fault::NoJetStream { why },
                other => other,
            }),
        }
    }

    /// Settings and state of the stream called `asset`.
    pub(super) async fn stream_info(&self, asset: &str) -> Result<Info, Fault> {
        let sent_at = Instant::now();
        let requested = self.api(&format!("STREAM.INFO.{asset}"));
        let found = tokio::select! {
            found = self.jetstream.get_stream(asset) => found,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        match found {
            Ok(stream) => Ok(stream.cached_info().clone()),
            Err(err) => Err(match err.kind() {
                GetStreamErrorKind::JetStream(reason)
                    if reason.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Fault::Missing {
                        stream: asset.to_owned(),
                    }
                }
                _ => api::fault(&format!("read stream {asset}"), &err),
            }),
        }
    }

    /// Current time on the leader of the stream called `asset`, in microseconds since 1970.
    pub(super) async fn asset_time(&self, asset: &str) -> Result<u64, Fault> {
        let what = format!("read the time of stream {asset}");
        let subject = format!("STREAM.INFO.{asset}");
        let response = self.jetstream.request(subject, &()).await;
        let response: Response<StateTime> = response.map_err(|err| api::fault(&what, &err))?;
        match response {
            Response::Ok(StateTime { ts }) => match parse_rfc3339(&ts) {
                Ok(time) => Ok(api::micros(time.unix_timestamp_nanos())),
                Err(err) => Err(Fault::Server {
                    what,
                    why: err.to_string(),
                }),
            },
            Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Err(Fault::Missing {
                    stream: asset.to_owned(),
                })
            }
            Response::Err { error } => Err(Fault::Server {
                what,
                why: error.to_string(),
            }),
        }
    }

    async fn ensure(&self, wanted: Config) -> Result<(), Fault> {
        let found = match self.stream_info(&wanted.name).await {
            Ok(info) => info.config,
            Err(Fault::Missing { .. }) => {
                self.check_room().await?;
                let wanted = Config {
                    max_consumers: self.consumers_max(wanted.max_consumers).await?,
                    ..wanted.clone()
                };
                match self.create(&wanted).await? {
                    Some(created) => created,
                    // Another client created it meanwhile.
                    None => self.stream_info(&wanted.name).await?.config,
                }
            }
            Err(fault) => return Err(fault),
        };
        compare(&found, &wanted)
    }

    /// Returns the settings of the new stream, or `None` if the name exists already.
    async fn create(&self, wanted: &Config) -> Result<Option<Config>, Fault> {
        let sent_at = Instant::now();
        let requested = self.api(&format!("STREAM.CREATE.{}", wanted.name));
        let created = tokio::select! {
            created = self.jetstream.create_stream(wanted) => created,
            denied = self.line.denied(&requested, sent_at) => return Err(denied),
        };
        match created {
            Ok(stream) => Ok(Some(stream.cached_info().config.clone())),
            Err(err) => match err.kind() {
                CreateStreamErrorKind::JetStream(reason)
                    if reason.error_code() == ErrorCode::STREAM_NAME_EXIST =>
                {
                    Ok(None)
                }
                CreateStreamErrorKind::JetStream(reason)
                    if reason.error_code() == ErrorCode::STORAGE_RESOURCES_EXCEEDED =>
                {
                    Err(Fault::ServerFull {
                        stream: wanted.name.clone(),
                        needed: size(u64::try_from(wanted.max_bytes).unwrap_or_default()),
                    })
                }
                _ => Err(api::fault(&format!("create stream {}", wanted.name), &err)),
            },
        }
    }

    pub(super) fn wanted_stream(&self, stream: Stream) -> Config {
        Config {
            name: self.options.names.of(stream).to_owned(),
            subjects: self.options.bound_subjects(stream),
            max_bytes: i64::try_from(self.options.limits.of(stream)).unwrap_or(i64::MAX),
            max_consumers: MAX_CONSUMERS,
            duplicate_window: stream.dedup_window(),
            ..self.durable()
        }
    }

    /// A bucket that every key-value client can read. Unlike in a usual bucket, messages may be
    /// deleted: only a deletion overwrites the bytes of a value.
    pub(super) fn wanted_bucket(&self) -> Config {
        Config {
            name: self.bucket_asset(),
            subjects: vec![format!("$KV.{}.>", self.options.names.kv)],
            max_bytes: i64::try_from(self.options.limits.secret_bytes).unwrap_or(i64::MAX),
            max_messages_per_subject: 1,
            allow_rollup: true,
            allow_direct: true,
            allow_message_ttl: true,
            max_consumers: MAX_CONSUMERS,
            duplicate_window: Stream::Data.dedup_window(),
            ..self.durable()
        }
    }

    /// An object store that every client can read.
    pub(super) fn wanted_objects(&self) -> Config {
        let name = &self.options.names.objects;
        Config {
            name: self.objects_asset(),
            subjects: vec![format!("$O.{name}.C.>"), format!("$O.{name}.M.>")],
            max_bytes: i64::try_from(self.options.limits.object_bytes).unwrap_or(i64::MAX),
            allow_rollup: true,
            allow_direct: true,
            max_consumers: MAX_CONSUMERS,
            duplicate_window: Stream::Data.dedup_window(),
            ..self.durable()
        }
    }

    fn durable(&self) -> Config {
        Config {
            storage: StorageType::File,
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::New,
            max_messages: -1,
            max_messages_per_subject: -1,
            max_message_size: -1,
            num_replicas: self.options.limits.replicas,
            ..Config::default()
        }
    }
}

/// Refuses the first setting of `found` under which the log could lose or forge events.
fn compare(found: &Config, wanted: &Config) -> Result<(), Fault> {
    let drift = |field, found, needed| {
        Err(Fault::Drift {
            asset: wanted.name.clone(),
            field,
            found,
            wanted: needed,
        })
    };
    for ((field, value), (_, needed)) in zip(exact_settings(found), exact_settings(wanted)) {
        if value != needed {
            return drift(field, value, needed);
        }
    }
    let (bytes, replicas) = (found.max_bytes, found.num_replicas);
    if bytes <= 0 {
        return drift(
            "max_bytes",
            bytes.to_string(),
            "an explicit limit".to_owned(),
        );
    }
    if replicas < wanted.num_replicas {
        let at_least = format!("at least {}", wanted.num_replicas);
        return drift("num_replicas", replicas.to_string(), at_least);
    }
    // An account may allow fewer: then fewer readers can follow runs at the same time.
    if !(1..=wanted.max_consumers).contains(&found.max_consumers) {
        let at_most = format!("1 to {}", wanted.max_consumers);
        return drift("max_consumers", found.max_consumers.to_string(), at_most);
    }
    if bytes != wanted.max_bytes {
        tracing::info!(
            asset = wanted.name,
            found.max_bytes,
            wanted.max_bytes,
            "stream has another size limit"
        );
    }
    Ok(())
}

/// The settings that must be exactly as wanted: each with the server's name for it, and its value
/// as text.
fn exact_settings(config: &Config) -> [(&'static str, String); 18] {
    let mut subjects = config.subjects.clone();
    subjects.sort();
    let has_sources = config.sources.as_ref().is_some_and(|all| !all.is_empty());
    let table: [(&'static str, &dyn Debug); 18] = [
        ("subjects", &subjects),
        ("storage", &config.storage),
        ("persist_mode", &config.persist_mode.unwrap_or_default()),
        ("retention", &config.retention),
        ("discard", &config.discard),
        ("max_age", &config.max_age),
        ("max_msgs", &unlimited(config.max_messages)),
        (
            "max_msgs_per_subject",
            &unlimited(config.max_messages_per_subject),
        ),
        ("max_msg_size", &unlimited(config.max_message_size.into())),
        ("duplicate_window", &config.duplicate_window),
        ("allow_msg_ttl", &config.allow_message_ttl),
        ("no_ack", &config.no_ack),
        ("sealed", &config.sealed),
        ("deny_delete", &config.deny_delete),
        ("deny_purge", &config.deny_purge),
        ("mirror", &config.mirror.is_some()),
        ("sources", &has_sources),
        ("subject_transform", &config.subject_transform.is_some()),
    ];
    table.map(|(field, value)| (field, format!("{value:?}")))
}

/// Servers write "no limit" as 0 or as -1.
fn unlimited(limit: i64) -> i64 {
    if limit <= 0 { -1 } else { limit }
}
