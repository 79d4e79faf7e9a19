//! Cookie jar of one user, by the rules of CPython's `http.cookiejar` for Netscape cookies, as the
//! Python client uses it.
//!
//! Dates and attributes that only `http.cookiejar` understands are unsupported, never guessed.

use loadpilot_events::plan::target::{full_path, split};

use super::response::{ResponseView, stripped};
use crate::values::exceptions::{Exception, unsupported};
use crate::values::functions::digits;
use crate::values::value::Value;

/// Maximum number of cookies of a user, the limit of browsers for a site; above it all are dropped.
const COOKIES_MAX: usize = 180;
/// Characters that are not escaped in a path, beside letters and digits.
const PATH_SAFE: &str = "_.-~%/;:@&=+$,!*'()";

/// The cookies of one user.
#[derive(Debug)]
pub(crate) struct CookieJar {
    /// Origin and base path of the target.
    origin: String,
    base: String,
    /// Host of the target, in lower case.
    host: String,
    is_secure: bool,
    /// By domain, path and name, each in the order in which it was first set.
    stored: Vec<(String, Paths)>,
    clock: Clock,
}

/// The current time in seconds of the Unix epoch.
pub type Clock = fn() -> i64;

/// Value of the user's cookie header for a path.
pub(crate) type Cookies<'a> = dyn Fn(&str) -> Result<Option<String>, Exception> + 'a;

/// Cookies by path.
type Paths = Vec<(String, Vec<Cookie>)>;

#[derive(Debug, Clone)]
struct Cookie {
    name: String,
    value: Option<String>,
    is_secure: bool,
    expires_s: Option<i128>,
}

/// A cookie of a response, before defaults are filled in.
#[derive(Default)]
struct ReceivedCookie {
    name: String,
    value: Option<String>,
    secure: Option<bool>,
    /// When it expires, in seconds of the Unix epoch.
    expires_s: Option<i128>,
    domain: Option<String>,
    path: Option<String>,
}

impl CookieJar {
    pub(crate) fn new(target: &str, clock: Clock) -> Self {
        let (origin, base) = split(target);
        let (scheme, authority) = origin.split_once("://").unwrap_or(("http", origin));
        let is_port = |(_, port): &(&str, &str)| {
            !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
        };
        let host = authority.rsplit_once(':').filter(is_port);
        Self {
            origin: origin.to_owned(),
            base: base.to_owned(),
            host: host.map_or(authority, |(host, _)| host).to_lowercase(),
            is_secure: scheme == "https",
            stored: Vec::new(),
            clock,
        }
    }

    /// Origin and base path of the target.
    pub(crate) fn target(&self) -> (&str, &str) {
        (&self.origin, &self.base)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    fn all(&self) -> impl Iterator<Item = &Cookie> {
        let paths = self.stored.iter().flat_map(|(_, paths)| paths);
        paths.flat_map(|(_, cookies)| cookies)
    }

    /// `http.cookiejar.eff_request_host`.
    fn effective_host(&self) -> String {
        match self.host.contains('.') {
            true => self.host.clone(),
            false => format!("{}.local", self.host),
        }
    }

    /// Stores the cookies of a response to a request of `path`.
    pub(crate) fn take(&mut self, response: &ResponseView, path: &str) -> Result<(), Exception> {
        let path = full_path(&self.base, path);
        let path = escaped(path.split('?').next().unwrap_or_default());
        let (mut read, now_s) = (Vec::new(), (self.clock)());
        for line in response.header_lines("set-cookie") {
            match Read::of(line, now_s)? {
                Read::Nothing => {}
                // `http.cookiejar` raises an error here, and drops the other cookies of the
                // response.
                Read::Failure => return Ok(()),
                Read::Cookie(received) => read.push(received),
            }
        }
        let completed: Vec<_> = read
            .into_iter()
            .filter_map(|received| self.completed(received, &path, now_s))
            .collect();
        for (domain, path, cookie, is_own) in completed {
            if is_own || self.may_set(&domain) {
                self.keep(domain, path, cookie);
            }
        }
        if self.all().count() > COOKIES_MAX {
            self.stored.clear();
        }
        Ok(())
    }

    fn keep(&mut self, domain: String, path: String, cookie: Cookie) {
        let paths = entry(&mut self.stored, domain);
        let cookies = entry(paths, path);
        match cookies.iter_mut().find(|known| known.name == cookie.name) {
            Some(known) => *known = cookie,
            None => cookies.push(cookie),
        }
    }

    /// `DefaultCookiePolicy.set_ok_domain`, of a domain attribute.
    fn may_set(&self, domain: &str) -> bool {
        let host = self.effective_host();
        let bare = domain.strip_prefix('.').unwrap_or(domain);
        if !bare.contains('.') && !host.ends_with(".local") {
            return false;
        }
        let is_of = host.ends_with(domain) || host.ends_with(&format!("{bare}.local"));
        is_of || host.starts_with('.') || format!(".{host}").ends_with(domain)
    }

    /// Completes a cookie: domain, path, cookie, and whether the domain is the target's own. `None`
    /// for an expired cookie, which removes the stored one.
    fn completed(
        &mut self,
        received: ReceivedCookie,
        request_path: &str,
        now_s: i64,
    ) -> Option<(String, String, Cookie, bool)> {
        let name = received.name;
        let path = match received.path.as_deref() {
            None | Some("") => {
                let folder = request_path
                    .rfind('/')
                    .map_or(request_path, |end| &request_path[..end]);
                if folder.is_empty() { "/" } else { folder }.to_owned()
            }
            Some(path) => escaped(path),
        };
        let is_own = received.domain.is_none();
        let domain = match received.domain {
            None => self.effective_host(),
            Some(domain) if domain.starts_with('.') => domain,
            Some(domain) => format!(".{domain}"),
        };
        if received
            .expires_s
            .is_some_and(|end_s| end_s <= i128::from(now_s))
        {
            for (_, paths) in self.stored.iter_mut().filter(|(known, _)| *known == domain) {
                for (_, cookies) in paths.iter_mut().filter(|(known, _)| *known == path) {
                    cookies.retain(|cookie| cookie.name != name);
                }
            }
            return None;
        }
        let cookie = Cookie {
            name,
            value: received.value,
            is_secure: received.secure.unwrap_or(false),
            expires_s: received.expires_s,
        };
        Some((domain, path, cookie, is_own))
    }

    /// Cookie header of a request of `path`; `None` if no cookie matches.
    pub(crate) fn header(&self, path: &str) -> Result<Option<String>, Exception> {
        let now_s = (self.clock)();
        let path = full_path(&self.base, path);
        let request_path = escaped(path.split('?').next().unwrap_or_default());
        let host = format!(".{}", self.effective_host());
        let mut matching: Vec<(usize, &Cookie)> = Vec::new();
        for (domain, paths) in &self.stored {
            let dotted = match domain.starts_with('.') {
                true => domain.clone(),
                false => format!(".{domain}"),
            };
            if !host.ends_with(&dotted) {
                continue;
            }
            for (path, cookies) in paths {
                let is_below = request_path
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| {
                        rest.is_empty() || path.ends_with('/') || rest.starts_with('/')
                    });
                if !is_below {
                    continue;
                }
                let lives = |cookie: &&Cookie| {
                    let is_over = cookie
                        .expires_s
                        .is_some_and(|end_s| end_s <= i128::from(now_s));
                    !is_over && (!cookie.is_secure || self.is_secure)
                };
                let length = path.chars().count();
                matching.extend(cookies.iter().filter(lives).map(|cookie| (length, cookie)));
            }
        }
        // The longest path first; cookies of equally long paths in the order in which they were
        // set.
        matching.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let pairs = matching.iter().map(|(_, cookie)| match &cookie.value {
            Some(value) => format!("{}={value}", cookie.name),
            None => cookie.name.clone(),
        });
        let pairs: Vec<String> = pairs.collect();
        Ok((!pairs.is_empty()).then(|| pairs.join("; ")))
    }
}

/// Result of reading a `Set-Cookie` line.
enum Read {
    Cookie(ReceivedCookie),
    Nothing,
    Failure,
}

impl Read {
    /// Reads one line.
    fn of(line: &str, now_s: i64) -> Result<Self, Exception> {
        let mut parts = line.split(';').map(|part| {
            let part = stripped(part);
            match part.split_once('=') {
                Some((key, value)) => (stripped(key), Some(stripped(value))),
                None => (part, None),
            }
        });
        let Some((name, value)) = parts.next().filter(|(name, _)| !name.is_empty()) else {
            return Ok(Self::Nothing);
        };
        let mut received = ReceivedCookie {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            ..ReceivedCookie::default()
        };
        for (key, value) in parts {
            match key.to_lowercase().as_str() {
                "version" | "port" => return Err(unsupported("a cookie with a version or a port")),
                "secure" if received.secure.is_none() => {
                    received.secure = Some(value != Some(""));
                }
                "domain" if received.domain.is_none() => match value {
                    Some(value) => received.domain = Some(value.to_lowercase()),
                    None => return Ok(Self::Nothing),
                },
                "path" if received.path.is_none() => match value {
                    Some(value) => received.path = Some(value.to_owned()),
                    None => return Ok(Self::Nothing),
                },
                "expires" if received.expires_s.is_none() => {
                    if let Some(value) = value {
                        let value = value.strip_prefix('"').unwrap_or(value);
                        received.expires_s = date(value.strip_suffix('"').unwrap_or(value))?;
                    }
                }
                "max-age" => match value.map(digits) {
                    None => return Ok(Self::Failure),
                    Some(Ok(Value::Int(age))) => {
                        received.expires_s = Some(i128::from(now_s).saturating_add(age));
                    }
                    Some(Err(error)) if !error.kind.is_value_error() => return Err(error),
                    Some(_) => return Ok(Self::Nothing),
                },
                _ => {}
            }
        }
        Ok(Self::Cookie(received))
    }
}

fn entry<V: Default>(entries: &mut Vec<(String, V)>, key: String) -> &mut V {
    let index = entries.iter().position(|(known, _)| *known == key);
    let index = index.unwrap_or_else(|| {
        entries.push((key, V::default()));
        entries.len() - 1
    });
    &mut entries[index].1
}

/// `http.cookiejar.escape_path`.
fn escaped(path: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c.is_ascii_alphanumeric() || PATH_SAFE.contains(c) {
            true => out.push(c),
            false => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    write!(out, "%{byte:02X}").expect("a String takes what is written");
                }
            }
        }
    }
    let mut bytes = out.into_bytes();
    let mut at = 0;
    while at + 2 < bytes.len() {
        let is_escape = bytes[at] == b'%'
            && bytes[at + 1].is_ascii_hexdigit()
            && bytes[at + 2].is_ascii_hexdigit();
        if is_escape {
            bytes[at + 1..at + 3].make_ascii_uppercase();
            at += 2;
        }
        at += 1;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Seconds of the Unix epoch of `Thu, 01 Jan 1970 00:00:00 GMT`, or with dashes in the date, as
/// `http.cookiejar.http2time` reads it; `None` of an impossible time.
fn date(text: &str) -> Result<Option<i128>, Exception> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let unusual = || unsupported("a cookie whose date is written in an unusual way");
    let sound = text.is_ascii() && text.len() == 29 && text.ends_with(" GMT");
    let day_names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    // With a weekday of three letters the rest has 24 characters.
    let (_, rest) = text
        .split_once(", ")
        .filter(|(weekday, _)| sound && day_names.contains(weekday))
        .ok_or_else(unusual)?;
    let separators = (
        &rest[2..3],
        &rest[6..7],
        &rest[11..12],
        &rest[14..15],
        &rest[17..18],
    );
    let is_usual = matches!(
        separators,
        (" ", " ", " ", ":", ":") | ("-", "-", " ", ":", ":")
    );
    let number = |from: usize, to: usize| {
        let digits = Some(&rest[from..to]).filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<i128>().ok())
    };
    let month = rest[3..6].to_ascii_lowercase();
    let month = MONTHS.iter().position(|known| *known == month);
    let parts = (
        number(0, 2),
        number(7, 11),
        number(12, 14),
        number(15, 17),
        number(18, 20),
    );
    let (Some(day), Some(year), Some(hour), Some(minute), Some(second)) = parts else {
        return Err(unusual());
    };
    let month = month
        .filter(|_| is_usual && year >= 1000)
        .ok_or_else(unusual)?;
    let is_time = year >= 1970
        && (1..=31).contains(&day)
        && (0..=24).contains(&hour)
        && (0..=59).contains(&minute)
        && (0..=61).contains(&second);
    if !is_time {
        return Ok(None);
    }
    let days = days_before(year, i128::try_from(month).unwrap_or(0) + 1) + day - 1;
    Ok(Some(((days * 24 + hour) * 60 + minute) * 60 + second))
}

/// Days from the epoch to the first of a month (Howard Hinnant, `days_from_civil`).
fn days_before(year: i128, month: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a date in a target's header, of the usual length but in another form, ended the
    /// thread that reads it.
    #[test]
    fn a_date_in_another_form_is_unsupported() {
        let usual = "Thu, 01 Jan 1970 00:00:00 GMT";
        assert_eq!(date(usual).expect("the usual form"), Some(0));
        for text in [
            "Thursday 01 January 1970, GMT",
            "Thursday, 01-Jan-70 00:00 GMT",
            "Thu,  01 Jan 1970 00:00:0 GMT",
            ", 01 Jan 1970 00:00:00.00 GMT",
            "Thu, 01 \u{e4}Jan 1970 00:00:0 GMT",
        ] {
            assert!(date(text).is_err(), "{text}");
        }
        // Wherever the comma is, with and without the length of the usual form.
        for comma in 0..30 {
            for length in 0..40 {
                let mut text = "1".repeat(length);
                text.replace_range(comma.min(length)..(comma + 2).min(length), ", ");
                text.push_str(" GMT");
                assert!(date(&text).is_err(), "{text}");
            }
        }
    }
}
