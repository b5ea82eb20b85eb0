//! What a request means to Kubernetes: its verb and the resource that it is about.
//!
//! The rules are those of the API server's own request parser, so that a count here means the same
//! as a line in an audit log or a rule in a Role.

use std::fmt;

use hyper::{Method, Uri};
use reqwest::Url;

/// A verb as RBAC and audit logs spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Reads one object, or a path that is no resource.
    Get,
    /// Reads a collection.
    List,
    /// Streams the changes of a collection.
    Watch,
    /// Makes an object, or posts to a subresource.
    Create,
    /// Replaces an object.
    Update,
    /// Changes an object; server-side apply, too.
    Patch,
    /// Removes one object.
    Delete,
    /// Removes a collection.
    DeleteCollection,
    /// Anything else that HTTP can say.
    Other,
}

/// One request, as Kubernetes reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// What is asked for.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// Resource and subresource (`pods`, `gatewaysyncs/status`); the path itself (`/version`) where
    /// the request is about no resource.
    pub resource: String,
    /// The namespace, where there is one.
    pub namespace: Option<String>,
    /// The object's name, also where a field selector singles it out.
    pub name: Option<String>,
}

impl Verb {
    /// Says whether a request with this verb may change the cluster.
    pub fn is_write(self) -> bool {
        match self {
            Self::Get | Self::List | Self::Watch => false,
            Self::Create
            | Self::Update
            | Self::Patch
            | Self::Delete
            | Self::DeleteCollection
            | Self::Other => true,
        }
    }

    fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }

    fn of_collection(self, watch: bool) -> Self {
        match self {
            Self::Get if watch => Self::Watch,
            Self::Get => Self::List,
            Self::Delete => Self::DeleteCollection,
            verb => verb,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        })
    }
}

impl ApiRequest {
    /// Parses method, path and query.
    pub fn parse(method: &Method, uri: &Uri) -> Self {
        let verb = Verb::of(method);
        let path = uri.path();
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match segments.as_slice() {
            ["api", _version, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _version, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => return Self::of_path(verb, path),
        };
        let query = Query::parse(uri);
        let (verb, rest) = match rest {
            // The path that watches had before `?watch=`; the server still serves it.
            ["watch", rest @ ..] if !rest.is_empty() => (Verb::Watch, rest),
            rest => (verb, rest),
        };
        let mut request = Self { group: group.to_owned(), ..Self::of_segments(verb, rest) };
        if request.name.is_none() {
            request.verb = verb.of_collection(query.watch);
            request.name = query.name;
        }
        request
    }

    fn of_path(verb: Verb, path: &str) -> Self {
        let resource = path.to_owned();
        Self { verb, group: String::new(), resource, namespace: None, name: None }
    }

    /// Reads the part of the path behind group and version.
    fn of_segments(verb: Verb, segments: &[&str]) -> Self {
        let (namespace, segments) = match segments {
            // `namespaces/x/status` is about the namespace, `namespaces/x/pods` about its pods.
            ["namespaces", name] | ["namespaces", name, "status" | "finalize"] => {
                (Some(*name), segments)
            }
            ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            _ => (None, segments),
        };
        let resource = match segments {
            [resource, _name, subresource, ..] => format!("{resource}/{subresource}"),
            [resource, ..] => (*resource).to_owned(),
            [] => String::new(),
        };
        let name = segments.get(1).map(|name| (*name).to_owned());
        let namespace = namespace.map(str::to_owned);
        Self { verb, group: String::new(), resource, namespace, name }
    }
}

impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (Some(only), None) => write!(f, " {only}/*"),
            (None, Some(only)) => write!(f, " {only}"),
            (None, None) => Ok(()),
        }
    }
}

/// The two things that a query can change about a request's meaning.
struct Query {
    watch: bool,
    name: Option<String>,
}

impl Query {
    fn parse(uri: &Uri) -> Self {
        let mut query = Self { watch: false, name: None };
        let text = format!("http://api/?{}", uri.query().unwrap_or_default());
        let Ok(url) = Url::parse(&text) else { return query };
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "watch" => query.watch = matches!(value.as_ref(), "true" | "1"),
                "fieldSelector" => query.name = selected_name(&value),
                _ => {}
            }
        }
        query
    }
}

fn selected_name(selector: &str) -> Option<String> {
    selector.split(',').find_map(|term| {
        let (field, value) = term.split_once('=')?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (field == "metadata.name").then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(method: &str, uri: &str) -> String {
        let method = method.parse::<Method>().unwrap();
        let request = ApiRequest::parse(&method, &uri.parse().unwrap());
        match request.group.as_str() {
            "" => request.to_string(),
            group => format!("{request} ({group})"),
        }
    }

    #[test]
    fn verb_and_resource_are_those_of_an_audit_log() {
        let cases = [
            ("GET", "/api/v1/namespaces/a/pods", "list pods a/*"),
            ("GET", "/api/v1/pods", "list pods"),
            ("GET", "/api/v1/pods?watch=true&resourceVersion=7", "watch pods"),
            ("GET", "/api/v1/pods?watch=1", "watch pods"),
            ("GET", "/api/v1/pods?watch=false", "list pods"),
            ("GET", "/api/v1/watch/namespaces/a/pods", "watch pods a/*"),
            ("GET", "/api/v1/namespaces/a/pods/p", "get pods a/p"),
            ("HEAD", "/api/v1/namespaces/a/pods/p", "get pods a/p"),
            ("GET", "/api/v1/namespaces/a/pods/p/log", "get pods/log a/p"),
            ("POST", "/api/v1/namespaces/a/pods/p/eviction", "create pods/eviction a/p"),
            ("POST", "/api/v1/namespaces/a/configmaps", "create configmaps a/*"),
            ("PUT", "/api/v1/namespaces/a/configmaps/c", "update configmaps a/c"),
            ("DELETE", "/api/v1/namespaces/a/configmaps", "deletecollection configmaps a/*"),
            ("DELETE", "/api/v1/namespaces/a/configmaps/c", "delete configmaps a/c"),
            ("GET", "/api/v1/namespaces", "list namespaces"),
            ("GET", "/api/v1/namespaces/a", "get namespaces a/a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update namespaces/finalize a/a"),
            ("GET", "/api/v1/nodes/n", "get nodes n"),
            (
                "PATCH",
                "/apis/stoker.io/v1alpha1/namespaces/a/gatewaysyncs/g/status?fieldManager=x",
                "patch gatewaysyncs/status a/g (stoker.io)",
            ),
            (
                "GET",
                "/api/v1/namespaces/a/configmaps?watch=true&fieldSelector=metadata.name%3Dc",
                "watch configmaps a/c",
            ),
            ("GET", "/version", "get /version"),
            ("GET", "/readyz?verbose", "get /readyz"),
            ("GET", "/api", "get /api"),
            ("GET", "/apis/stoker.io/v1alpha1", "get /apis/stoker.io/v1alpha1"),
            ("OPTIONS", "/api/v1/pods", "other pods"),
        ];
        for (method, uri, meaning) in cases {
            assert_eq!(parsed(method, uri), meaning, "{method} {uri}");
        }
    }

    #[test]
    fn field_selectors_single_out_an_object_only_by_equality() {
        assert_eq!(selected_name("metadata.name=a"), Some("a".to_owned()));
        assert_eq!(selected_name("status.phase=Running,metadata.name==a"), Some("a".to_owned()));
        assert_eq!(selected_name("metadata.name!=a"), None);
        assert_eq!(selected_name(""), None);
    }

    proptest! {
        #[test]
        fn any_request_line_has_a_meaning(path in "(/[a-z.%0-9]{0,6}){0,7}", query in "[a-z=&%+,.]{0,30}") {
            if let Ok(uri) = format!("/{path}?{query}").parse::<Uri>() {
                let request = ApiRequest::parse(&Method::GET, &uri);
                prop_assert!(!request.resource.is_empty());
            }
        }
    }
}
