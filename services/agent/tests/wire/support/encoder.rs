//! Random valid responses, as values and as bytes. This is the only place that knows both, so that
//! a test can compare the engine's reading of the bytes with the value.

use loadpilot_events::plan::Method;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The length of the body, and how the response delimits it.
#[derive(Debug, Clone)]
pub(crate) enum Framing {
    Length(usize),
    Chunked {
        chunks: Vec<usize>,
        extension: &'static str,
        trailers: Vec<(String, String)>,
        is_upper: bool,
    },
    UntilTheEnd(usize),
}

/// A response, and the method of its request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) method: Method,
    pub(crate) status: u16,
    interim: Vec<u16>,
    reason: &'static str,
    fields: Vec<(String, String)>,
    framing: Framing,
    /// Its Connection header, if any.
    connection: Option<&'static str>,
}

impl Answer {
    /// Whether it ends with its head, whatever the head says of a body. RFC 9112 6.3, 1.
    fn is_bodiless(&self) -> bool {
        self.method == Method::Head || [204, 304].contains(&self.status)
    }

    pub(crate) fn body_bytes(&self) -> usize {
        if self.is_bodiless() {
            return 0;
        }
        match &self.framing {
            Framing::Length(bytes) | Framing::UntilTheEnd(bytes) => *bytes,
            Framing::Chunked { chunks, .. } => chunks.iter().sum(),
        }
    }

    /// Whether the connection may be used again.
    pub(crate) fn keeps(&self) -> bool {
        let ends = matches!(self.framing, Framing::UntilTheEnd(_)) && !self.is_bodiless();
        self.connection != Some("close") && !ends
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for status in &self.interim {
            bytes.extend(format!("HTTP/1.1 {status} Wait\r\nx-hint: {status}\r\n\r\n").bytes());
        }
        bytes.extend(format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).bytes());
        let said = self
            .connection
            .map(|said| ("Connection".to_owned(), said.to_owned()));
        let framing = match &self.framing {
            Framing::Length(length) => Some(("Content-Length".to_owned(), length.to_string())),
            Framing::Chunked { .. } => Some(("transfer-encoding".to_owned(), "chunked".to_owned())),
            Framing::UntilTheEnd(_) => None,
        };
        // In the middle of the others; their order must not matter.
        let half = self.fields.len() / 2;
        let (before, after) = self.fields.split_at(half);
        write_fields(
            &mut bytes,
            before.iter().chain(&said).chain(&framing).chain(after),
        );
        if !self.is_bodiless() {
            self.write_body(&mut bytes);
        }
        bytes
    }

    fn write_body(&self, bytes: &mut Vec<u8>) {
        match &self.framing {
            Framing::Length(length) | Framing::UntilTheEnd(length) => bytes.extend(data(*length)),
            Framing::Chunked {
                chunks,
                extension,
                trailers,
                is_upper,
            } => {
                for size in chunks {
                    let digits = match is_upper {
                        true => format!("{size:X}"),
                        false => format!("{size:x}"),
                    };
                    bytes.extend(format!("{digits}{extension}\r\n").bytes());
                    bytes.extend(data(*size));
                    bytes.extend(b"\r\n");
                }
                bytes.extend(format!("0{extension}\r\n").bytes());
                write_fields(bytes, trailers);
            }
        }
    }
}

fn write_fields<'a>(bytes: &mut Vec<u8>, fields: impl IntoIterator<Item = &'a (String, String)>) {
    for (name, value) in fields {
        bytes.extend(format!("{name}: {value}\r\n").bytes());
    }
    bytes.extend(b"\r\n");
}

/// A body full of bytes that could be taken for framing.
fn data(length: usize) -> impl Iterator<Item = u8> {
    b"\r\n0\r\n\r\nHTTP/1.1 500 No\r\n\r\n"
        .iter()
        .copied()
        .cycle()
        .take(length)
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = "x-[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,12}";
    let value = "([!-~]([ -~\t]{0,30}[!-~])?)?";
    vec((name, value), 0..8)
}

fn framing() -> impl Strategy<Value = Framing> {
    let length = || prop_oneof![0_usize..64, 0_usize..20_000];
    let chunked = (
        vec(prop_oneof![1_usize..20, 1_usize..5_000], 0..6),
        select(vec!["", ";a", ";a=b", ";name=\"quoted\""]),
        prop_oneof![3 => Just(Vec::new()), 1 => fields()],
        any::<bool>(),
    );
    let chunked = chunked.prop_map(|(chunks, extension, trailers, is_upper)| Framing::Chunked {
        chunks,
        extension,
        trailers,
        is_upper,
    });
    prop_oneof![
        4 => length().prop_map(Framing::Length),
        4 => chunked,
        1 => length().prop_map(Framing::UntilTheEnd),
    ]
}

pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    let methods = [
        Method::Get,
        Method::Get,
        Method::Head,
        Method::Post,
        Method::Put,
    ];
    let statuses = [200, 200, 201, 204, 206, 301, 304, 400, 404, 429, 500, 503];
    (
        select(methods.to_vec()),
        prop_oneof![3 => select(statuses.to_vec()), 1 => 200_u16..600],
        prop_oneof![4 => Just(Vec::new()), 1 => vec(select(vec![100, 102, 103, 150]), 1..4)],
        select(vec!["OK", "", "Not Found", "a reason of its own"]),
        fields(),
        framing(),
        select(vec![None, None, None, Some("keep-alive"), Some("close")]),
    )
        .prop_map(
            |(method, status, interim, reason, fields, framing, connection)| Answer {
                method,
                status,
                interim,
                reason,
                fields,
                framing,
                connection,
            },
        )
}
