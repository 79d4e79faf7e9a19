//! Checks the URL of one target.

use loadpilot_events::limits;
use loadpilot_events::plan::target::split;

use super::checker::Checker;

/// A target: an origin, and a base path that may be empty.
pub(super) fn url(checker: &mut Checker<'_>, field: &str, target: &str) {
    const RULE: &str = "must be http://host[:port][/path] or https://host[:port][/path], without \
                        user, query or a slash at its end";
    let (origin, base) = split(target);
    let is_base =
        base.len() <= limits::BASE_PATH_BYTES_MAX && base.split('/').skip(1).all(is_segment);
    let rest = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
        .filter(|_| is_base);
    let sound = rest.is_some_and(|authority| {
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                if port.parse::<u16>().is_ok_and(|port| port > 0) {
                    host
                } else {
                    ""
                }
            }
            _ => authority,
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        match bare {
            Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                !host.is_empty()
                    && host
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
            }
        }
    });
    checker.require(sound, field, RULE, without_user(target));
}

/// An address without the user and password before its last `@`: no refusal quotes them.
pub(super) fn without_user(address: &str) -> String {
    let Some((before, host)) = address.rsplit_once('@') else {
        return address.to_owned();
    };
    let scheme = before
        .split_once("://")
        .map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
    format!("{scheme}…@{host}")
}

/// A segment of a base path: a subset of `pchar` in RFC 3986, without `.` and `..`.
fn is_segment(segment: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%".contains(&b);
    !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain)
}
