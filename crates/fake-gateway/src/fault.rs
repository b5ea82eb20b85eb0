//! Ways in which an answer goes wrong, and to which requests it happens.

use std::time::Duration;

use hyper::Method;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ugly {
    /// This status with an HTML body as Jetty writes it.
    Status(u16),
    /// This status and no body.
    Empty(u16),
    /// 200 and an HTML page where JSON belongs.
    Html,
    /// 200, this content type, this body.
    Body(&'static str, String),
    /// A redirect to this location.
    Redirect(String),
    /// The right answer, this much later.
    Slow(Duration),
    /// Takes the request and never answers.
    Hang,
    /// Sends the head, then one byte per period, without end.
    Drip(Duration),
    /// Promises a body and closes the connection in its middle.
    Cut,
    /// A JSON string of this many bytes.
    Huge(u64),
    /// Closes the connection without a word.
    Drop,
}

/// A fault and the requests it happens to.
#[derive(Debug, Clone)]
pub struct Fault {
    ugly: Ugly,
    prefix: String,
    method: Option<Method>,
    left: Option<u32>,
}

impl Fault {
    /// Returns a fault of every request.
    pub fn new(ugly: Ugly) -> Self {
        Self { ugly, prefix: String::new(), method: None, left: None }
    }

    /// Restricts it to paths that begin so.
    #[must_use]
    pub fn on(self, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..self }
    }

    /// Restricts it to POST.
    #[must_use]
    pub fn post(self) -> Self {
        Self { method: Some(Method::POST), ..self }
    }

    /// Restricts it to GET.
    #[must_use]
    pub fn get(self) -> Self {
        Self { method: Some(Method::GET), ..self }
    }

    /// Lets it happen this many times and no more.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { left: Some(count), ..self }
    }

    fn hits(&self, method: &Method, path: &str) -> bool {
        self.left != Some(0)
            && path.starts_with(&self.prefix)
            && self.method.as_ref().is_none_or(|wanted| wanted == method)
    }
}

/// Returns what goes wrong with this request, and counts it.
pub(crate) fn strike(faults: &mut [Fault], method: &Method, path: &str) -> Option<Ugly> {
    let fault = faults.iter_mut().find(|fault| fault.hits(method, path))?;
    fault.left = fault.left.map(|left| left - 1);
    Some(fault.ugly.clone())
}
