//! Answers git when it asks for a user name or a password.
//!
//! Git runs our own program with the prompt as its argument. The environment says where the
//! credential is, never what it is, and for which host it may be given: after a redirect to another
//! host git asks again, and gets nothing.

use std::ffi::OsString;
use std::path::Path;

use super::{Access, Granted, absolute, read_line};
use crate::access::authority;
use crate::memfile::MemFile;

/// The file with the password.
pub(crate) const FILE: &str = "STOKER_ASKPASS_FILE";
/// The user name, which is not secret.
pub(crate) const USERNAME: &str = "STOKER_ASKPASS_USERNAME";
/// The only host, with its port if it has one, that may get the credential.
pub(crate) const HOST: &str = "STOKER_ASKPASS_HOST";

/// Answers one prompt of git, as the environment allows; `None` if the prompt is for another
/// business.
///
/// `environment` looks up a variable; `prompt` is the program's only argument.
pub fn answer(environment: &dyn Fn(&str) -> Option<OsString>, prompt: &str) -> Option<Vec<u8>> {
    let host = environment(HOST)?.into_string().ok()?;
    match parse(prompt)? {
        Question { wanted: Wanted::Username, host: asked } if asked == host => {
            Some(environment(USERNAME)?.into_string().ok()?.into_bytes())
        }
        Question { wanted: Wanted::Password, host: asked } if asked == host => {
            let file = environment(FILE)?;
            Some(read_line("token file", Path::new(&file)).ok()?.reveal().to_vec())
        }
        Question { .. } => None,
    }
}

pub(super) fn grant(access: &Access, file: &Path, username: &str, held: Vec<MemFile>) -> Granted {
    let environment = vec![
        ("GIT_ASKPASS", absolute(&access.helper).into_os_string()),
        (FILE, file.into()),
        (USERNAME, username.into()),
        (HOST, authority(access.url.as_str()).into()),
    ];
    Granted { environment, _held: held }
}

#[derive(Debug, PartialEq, Eq)]
struct Question<'a> {
    wanted: Wanted,
    host: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Username,
    Password,
}

/// Reads `Username for 'https://host': ` and `Password for 'https://user@host': `.
fn parse(prompt: &str) -> Option<Question<'_>> {
    let (wanted, rest) = match prompt.split_once(" for '")? {
        ("Username", rest) => (Wanted::Username, rest),
        ("Password", rest) => (Wanted::Password, rest),
        _ => return None,
    };
    let (_, address) = rest.strip_suffix("': ")?.split_once("://")?;
    let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
    Some(Question { wanted, host: host.trim_end_matches('/') })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(prompt: &str) -> Option<String> {
        let file = MemFile::new("p@:/%#\" ß\n".as_bytes()).unwrap();
        let environment = |name: &str| match name {
            FILE => Some(file.path().into_os_string()),
            USERNAME => Some("me".into()),
            HOST => Some("git.example:8443".into()),
            _ => None,
        };
        answer(&environment, prompt).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_right_host_gets_name_and_password() {
        assert_eq!(ask("Username for 'https://git.example:8443': ").as_deref(), Some("me"));
        let password = ask("Password for 'https://me@git.example:8443': ");
        assert_eq!(password.as_deref(), Some("p@:/%#\" ß"));
    }

    // B5: after a redirect git asks for another host.
    #[test]
    fn nobody_else_gets_anything() {
        let prompts = [
            "Password for 'https://me@evil.example': ",
            "Password for 'https://me@git.example': ",
            "Password for 'https://git.example:8443@evil.example': ",
            "Username for 'http://proxy.example:3128': ",
            "Enter passphrase for key '/x': ",
            "Password: ",
            "",
        ];
        for prompt in prompts {
            assert_eq!(ask(prompt), None, "{prompt:?}");
        }
    }

    #[test]
    fn without_our_environment_there_is_no_answer() {
        assert_eq!(answer(&|_| None, "Username for 'https://git.example:8443': "), None);
    }
}
