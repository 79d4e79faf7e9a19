//! A request in the code, whose parts are computed each time that it is sent.

use std::sync::Arc;

use loadpilot_events::plan::Method;
use loadpilot_events::plan::code::{Extra, Send};

use super::cookies::Cookies;
use super::encode;
use crate::context::Scope;
use crate::expression::Term;
use crate::operation::Request;
use crate::values::exceptions::Exception;
use crate::values::value::Value;

/// A request in the code.
#[derive(Debug)]
pub(crate) struct RequestTemplate {
    /// Its index among the requests of the program.
    pub(crate) number: usize,
    pub(crate) method: Method,
    pub(crate) path: Term,
    pub(crate) extras: Vec<(Extra, Term)>,
    pub(crate) timeout_us: Option<u64>,
    pub(crate) follows: bool,
    pub(crate) steps: String,
    /// The variable for the response.
    pub(crate) response: Option<u16>,
    pub(crate) line: u32,
    /// The request itself, if every part of it is constant.
    pub(crate) constant: Option<Arc<Request>>,
}

impl RequestTemplate {
    /// Converts a checked request of the plan.
    pub(crate) fn new(send: &Send) -> Result<Self, Exception> {
        let extras = send.given.iter();
        let extras = extras.map(|extra| Ok((extra.what, Term::new(&extra.value)?)));
        let mut template = Self {
            number: 0,
            method: send.method,
            path: Term::new(&send.path)?,
            extras: extras.collect::<Result<_, Exception>>()?,
            timeout_us: send.timeout_us,
            follows: send.follows,
            steps: send.steps.clone(),
            response: send.answer,
            line: send.line,
            constant: None,
        };
        let is_constant = template.path.constant().is_some()
            && template
                .extras
                .iter()
                .all(|(_, term)| term.constant().is_some());
        if is_constant {
            let mut parts = Vec::new();
            // An invalid request raises its error when it is sent.
            let request = template.parts(&Scope::CONSTANT, &mut parts);
            let request = request.and_then(|()| template.request(&parts, None));
            template.constant = request.ok().map(|(request, _)| Arc::new(request));
        }
        Ok(template)
    }

    /// Computes the parts of the request: its path, then its arguments in order.
    pub(crate) fn parts(
        &self,
        scope: &Scope<'_>,
        values: &mut Vec<Value>,
    ) -> Result<(), Exception> {
        values.clear();
        values.push(self.path.compute(scope)?);
        for (_, term) in &self.extras {
            values.push(term.compute(scope)?);
        }
        Ok(())
    }

    /// Makes the request from its computed parts, and returns its cookie header too.
    pub(crate) fn request(
        &self,
        values: &[Value],
        cookies: Option<&Cookies<'_>>,
    ) -> Result<(Request, Option<String>), Exception> {
        let (path, values) = values.split_first().unwrap_or((&Value::None, &[]));
        let get = |what: Extra| {
            let index = self.extras.iter().position(|(known, _)| *known == what);
            index.and_then(|index| values.get(index))
        };
        let written = (self.method, path);
        request(written, &get, &self.steps, self.timeout_us, cookies)
            .map_err(|error| error.at(self.line))
    }
}

/// Makes a request from its method, its path and its arguments; with it the value of the user's
/// cookie header.
pub(crate) fn request<'a>(
    (method, path): (Method, &Value),
    get: &dyn Fn(Extra) -> Option<&'a Value>,
    steps: &str,
    timeout_us: Option<u64>,
    cookies: Option<&Cookies<'_>>,
) -> Result<(Request, Option<String>), Exception> {
    let (json, data, content) = (get(Extra::Json), get(Extra::Data), get(Extra::Content));
    let body = encode::body(json, data, content)?;
    let path = encode::path(path, get(Extra::Params))?;
    let mut headers = encode::headers(get(Extra::Headers))?;
    let has = |headers: &[(String, String)], wanted: &str| {
        headers
            .iter()
            .any(|(name, _)| name.to_lowercase() == wanted)
    };
    let (has_cookie, has_type) = (has(&headers, "cookie"), has(&headers, "content-type"));
    let cookie = cookies.map(|cookies| cookies(&path)).transpose()?.flatten();
    if let Some(cookie) = cookie.as_ref().filter(|_| !has_cookie) {
        headers.push(("Cookie".to_owned(), cookie.clone()));
    }
    if let Some((_, Some(kind))) = body
        && !has_type
    {
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    let name = encode::name(get(Extra::Name))?;
    let name = match steps.is_empty() {
        true => name,
        false => {
            let name = name.filter(|name| !name.is_empty());
            let bare = path.split('?').next().unwrap_or_default();
            let name = name.unwrap_or_else(|| format!("{} {bare}", method.name()));
            Some(format!("{steps}{name}"))
        }
    };
    let request = Request {
        headers,
        body: body.map(|(content, _)| content.into()),
        timeout_us,
        name,
        ..Request::new(method, path)
    };
    Ok((request, cookie))
}
