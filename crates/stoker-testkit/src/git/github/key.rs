//! The key of an App: RSA, in the format in which GitHub gives it to people.

use jsonwebtoken::DecodingKey;
use tempfile::TempDir;

use crate::git::{Error, run};
use crate::process::{self, Guarded};

const PROGRAM: &str = "ssh-keygen";

/// A key pair, as PEM.
pub(super) struct Pair {
    pub(super) private: String,
    public: String,
}

impl Pair {
    pub(super) fn generate() -> Result<Self, Error> {
        let directory =
            TempDir::with_prefix("stoker-app-").map_err(Error::file(std::env::temp_dir()))?;
        let file = directory.path().join("key");
        let path = file.display().to_string();
        keygen(&["-q", "-N", "", "-C", "", "-t", "rsa", "-b", "2048", "-m", "PEM", "-f", &path])?;
        let public = keygen(&["-e", "-m", "PKCS8", "-f", &path])?;
        let private = std::fs::read_to_string(&file).map_err(Error::file(&file))?;
        Ok(Self { private, public })
    }

    pub(super) fn verifier(&self) -> Result<DecodingKey, Error> {
        DecodingKey::from_rsa_pem(self.public.as_bytes())
            .map_err(|_| Error::NotAKey { program: PROGRAM })
    }
}

fn keygen(arguments: &[&str]) -> Result<String, Error> {
    let start = |source| Error::Start { program: PROGRAM, source };
    let mut command = process::command(PROGRAM).map_err(start)?;
    command.args(arguments);
    run::pipe(&mut command);
    let output = Guarded::spawn(command).map_err(start)?.output();
    let output = output.map_err(|source| Error::Talk { program: PROGRAM, source })?;
    let text = run::check(PROGRAM, output)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
