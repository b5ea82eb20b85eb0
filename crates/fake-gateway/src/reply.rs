//! Answers: JSON, the list envelope, HTML as Jetty writes it, and the ugly ones.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use futures::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Response, StatusCode, header};
use serde_json::{Value, json};

pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;
pub(crate) type Reply = Response<Body>;

pub(crate) fn text(status: u16, content_type: &'static str, body: String) -> Reply {
    let full = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {});
    build(status, Some(content_type), full.boxed_unsync())
}

pub(crate) fn json(value: &Value) -> Reply {
    text(200, "application/json", value.to_string())
}

pub(crate) fn empty(status: u16) -> Reply {
    let none = Full::new(Bytes::new()).map_err(|never: Infallible| match never {});
    build(status, None, none.boxed_unsync())
}

pub(crate) fn html(status: u16) -> Reply {
    let reason = StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
    let reason = reason.unwrap_or("Error");
    text(
        status,
        "text/html;charset=iso-8859-1",
        format!(
            "<html>\n<head>\n<meta http-equiv=\"Content-Type\" content=\"text/html;charset=ISO-8859-1\"/>\n\
             <title>Error {status} {reason}</title>\n</head>\n<body><h2>HTTP ERROR {status} {reason}</h2>\n\
             <hr/><a href=\"https://jetty.org/\">Powered by Jetty:// 12.0.16</a><hr/>\n</body>\n</html>\n"
        ),
    )
}

pub(crate) fn redirect(location: &str) -> Reply {
    let mut reply = empty(302);
    if let Ok(location) = header::HeaderValue::from_str(location) {
        reply.headers_mut().insert(header::LOCATION, location);
    }
    reply
}

/// Wraps items as every list is wrapped. Stoker gives no parameter: one that is not known is a
/// filter that matches nothing.
pub(crate) fn list(items: Vec<Value>, query: &str) -> Reply {
    let total = items.len();
    let items = if query.is_empty() { items } else { Vec::new() };
    let matching = items.len();
    let metadata = json!({"total": total, "matching": matching, "limit": -1, "offset": 0});
    json(&json!({"items": items, "metadata": metadata}))
}

/// One byte per period and no end.
pub(crate) fn drip(period: Duration) -> Reply {
    let bytes = stream::unfold((), move |()| async move {
        tokio::time::sleep(period).await;
        Some((Ok(Frame::data(Bytes::from_static(b" "))), ()))
    });
    build(200, Some("application/json"), StreamBody::new(bytes).boxed_unsync())
}

/// Announces more than it sends, then the connection breaks.
pub(crate) fn cut() -> Reply {
    let sent = stream::iter([Ok(Frame::data(Bytes::from_static(b"{\"items\":[")))]);
    let broken = stream::once(async {
        // The first half must have left before the connection breaks.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(io::Error::other("cut as asked"))
    });
    let mut reply =
        build(200, Some("application/json"), StreamBody::new(sent.chain(broken)).boxed_unsync());
    reply.headers_mut().insert(header::CONTENT_LENGTH, header::HeaderValue::from_static("4096"));
    reply
}

/// A JSON string of `size` bytes, never held in memory at once.
pub(crate) fn huge(size: u64) -> Reply {
    const CHUNK: u64 = 64 * 1024;
    let open = stream::iter([Ok(Frame::data(Bytes::from_static(b"\"")))]);
    let chunk = Bytes::from(vec![b'a'; usize::try_from(CHUNK).unwrap_or(1)]);
    let filling = stream::unfold(size, move |left| {
        let chunk = chunk.clone();
        async move {
            let length = usize::try_from(left.min(CHUNK)).unwrap_or(0);
            (left > 0).then(|| (Ok(Frame::data(chunk.slice(..length))), left - left.min(CHUNK)))
        }
    });
    let close = stream::iter([Ok(Frame::data(Bytes::from_static(b"\"")))]);
    let body = StreamBody::new(open.chain(filling).chain(close));
    build(200, Some("application/json"), body.boxed_unsync())
}

fn build(status: u16, content_type: Option<&'static str>, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(content_type) = content_type {
        let value = header::HeaderValue::from_static(content_type);
        reply.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    reply
}
