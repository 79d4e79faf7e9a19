//! The streams, the bucket and the object store: created if absent, else compared, never changed,
//! never deleted.
//!
//! A stream with other settings can lose or forge events (memory storage, asynchronous persistence,
//! an age limit, discard *old*), and deleting it to "repair" it would lose them all: a drift is
//! reported and left to an operator. Sizes are an operator's choice; they only have to exist.
//!
//! Not visible from a client: whether the server syncs each write to disk (`sync_interval`). Who
//! writes the server's configuration has to see to that.

use std::fmt::Debug;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, PersistenceMode, RetentionPolicy, StorageType,
};

use super::{Nats, api};
use crate::{Fault, Stream};

/// Most consumers a stream may have; tails are few, so more is a leak.
const MAX_CONSUMERS: i32 = 256;
/// Most bytes of the bucket, which holds secret values only.
const KV_MAX_BYTES: i64 = 16 << 20;

impl Nats {
    pub(crate) async fn open_log(&self) -> Result<(), Fault> {
        self.line.must_be_up()?;
        self.account().await?;
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

    async fn ensure(&self, wanted: Config) -> Result<(), Fault> {
        let found = match self.stream_info(&wanted.name).await {
            Ok(info) => info.config,
            Err(Fault::Missing { .. }) => match self.create(&wanted).await? {
                Some(created) => created,
                // Somebody else was faster.
                None => self.stream_info(&wanted.name).await?.config,
            },
            Err(fault) => return Err(fault),
        };
        compare(&found, &wanted)
    }

    async fn create(&self, wanted: &Config) -> Result<Option<Config>, Fault> {
        match self.jetstream.create_stream(wanted).await {
            Ok(stream) => Ok(Some(stream.cached_info().config.clone())),
            Err(err) => match err.kind() {
                CreateStreamErrorKind::JetStream(reason)
                    if reason.error_code() == ErrorCode::STREAM_NAME_EXIST =>
                {
                    Ok(None)
                }
                _ => Err(api::fault(&format!("create stream {}", wanted.name), &err)),
            },
        }
    }

    fn wanted_stream(&self, stream: Stream) -> Config {
        Config {
            name: self.options.names.of(stream).to_owned(),
            subjects: self.options.bound_subjects(stream),
            max_bytes: i64::try_from(self.options.limits.of(stream)).unwrap_or(i64::MAX),
            max_consumers: MAX_CONSUMERS,
            duplicate_window: stream.dedup_window(),
            ..self.durable()
        }
    }

    /// A bucket as every key-value client reads it, except that messages may be deleted: that is
    /// the only way to overwrite the bytes of a value.
    fn wanted_bucket(&self) -> Config {
        Config {
            name: self.bucket_asset(),
            subjects: vec![format!("$KV.{}.>", self.options.names.kv)],
            max_bytes: KV_MAX_BYTES,
            max_messages_per_subject: 1,
            allow_rollup: true,
            allow_direct: true,
            allow_message_ttl: true,
            max_consumers: MAX_CONSUMERS,
            duplicate_window: Stream::Data.dedup_window(),
            ..self.durable()
        }
    }

    /// An object store as every client reads it.
    fn wanted_objects(&self) -> Config {
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

/// The first setting of `found` under which the log would not hold what it promises.
fn compare(found: &Config, wanted: &Config) -> Result<(), Fault> {
    let asset = wanted.name.as_str();
    let (mut found_subjects, mut wanted_subjects) =
        (found.subjects.clone(), wanted.subjects.clone());
    found_subjects.sort();
    wanted_subjects.sort();
    same(asset, "subjects", &found_subjects, &wanted_subjects)?;
    same(asset, "storage", &found.storage, &wanted.storage)?;
    same(
        asset,
        "persist_mode",
        &persistence(found),
        &PersistenceMode::Default,
    )?;
    same(asset, "retention", &found.retention, &wanted.retention)?;
    same(asset, "discard", &found.discard, &wanted.discard)?;
    same(asset, "max_age", &found.max_age, &Duration::ZERO)?;
    same(asset, "max_msgs", &unlimited(found.max_messages), &-1)?;
    let (kept, wanted_kept) = (
        found.max_messages_per_subject,
        wanted.max_messages_per_subject,
    );
    same(
        asset,
        "max_msgs_per_subject",
        &unlimited(kept),
        &wanted_kept,
    )?;
    same(
        asset,
        "max_msg_size",
        &unlimited(found.max_message_size.into()),
        &-1,
    )?;
    same(
        asset,
        "max_consumers",
        &found.max_consumers,
        &wanted.max_consumers,
    )?;
    same(
        asset,
        "duplicate_window",
        &found.duplicate_window,
        &wanted.duplicate_window,
    )?;
    same(
        asset,
        "allow_msg_ttl",
        &found.allow_message_ttl,
        &wanted.allow_message_ttl,
    )?;
    for (field, set) in [
        ("no_ack", found.no_ack),
        ("sealed", found.sealed),
        ("deny_delete", found.deny_delete),
        ("deny_purge", found.deny_purge),
        ("mirror", found.mirror.is_some()),
        (
            "sources",
            found
                .sources
                .as_ref()
                .is_some_and(|sources| !sources.is_empty()),
        ),
        ("subject_transform", found.subject_transform.is_some()),
    ] {
        same(asset, field, &set, &false)?;
    }
    if found.max_bytes <= 0 {
        return Err(drift(
            asset,
            "max_bytes",
            &found.max_bytes,
            "an explicit limit".to_owned(),
        ));
    }
    if found.num_replicas < wanted.num_replicas {
        let at_least = format!("at least {}", wanted.num_replicas);
        return Err(drift(asset, "num_replicas", &found.num_replicas, at_least));
    }
    if found.max_bytes != wanted.max_bytes {
        tracing::info!(
            asset,
            found.max_bytes,
            wanted.max_bytes,
            "stream has another size limit"
        );
    }
    Ok(())
}

/// Servers write "no limit" as 0 or as -1.
fn unlimited(limit: i64) -> i64 {
    if limit <= 0 { -1 } else { limit }
}

fn persistence(config: &Config) -> PersistenceMode {
    config.persist_mode.unwrap_or_default()
}

fn same<T: PartialEq + Debug>(
    asset: &str,
    field: &'static str,
    found: &T,
    wanted: &T,
) -> Result<(), Fault> {
    if found == wanted {
        Ok(())
    } else {
        Err(drift(asset, field, found, format!("{wanted:?}")))
    }
}

fn drift(asset: &str, field: &'static str, found: &dyn Debug, wanted: String) -> Fault {
    Fault::Drift {
        asset: asset.to_owned(),
        field,
        found: format!("{found:?}"),
        wanted,
    }
}
