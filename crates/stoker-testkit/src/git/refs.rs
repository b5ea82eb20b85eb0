//! Branches, tags and other names of a test repository.

use super::{Error, Oid, Repo, import};

impl Repo {
    /// Returns the commit at the end of a branch.
    pub fn tip(&self, branch: &str) -> Result<Oid, Error> {
        let name = format!("refs/heads/{branch}");
        self.resolve(&name)?.ok_or(Error::NotAnId { text: name })
    }

    /// Points a branch at any commit, whatever it pointed at.
    pub fn set_branch(&self, branch: &str, commit: &Oid) -> Result<(), Error> {
        self.set_ref(&format!("refs/heads/{branch}"), commit)
    }

    /// Makes or moves a lightweight tag.
    pub fn tag(&self, name: &str, target: &Oid) -> Result<(), Error> {
        self.set_ref(&format!("refs/tags/{name}"), target)
    }

    /// Makes or moves an annotated tag and returns the tag object, which can be tagged in turn.
    pub fn annotated_tag(&self, name: &str, target: &Oid) -> Result<Oid, Error> {
        let kind = self.git(["cat-file", "-t", target.as_str()])?;
        let kind = String::from_utf8_lossy(&kind);
        let (person, date) = (import::PERSON, import::date(*self.ticks()));
        let text = format!(
            "object {target}\ntype {}\ntag {name}\ntagger {person} {date}\n\nTag {name}\n",
            kind.trim()
        );
        let tag = self.object("tag", text.as_bytes())?;
        self.tag(name, &tag)?;
        Ok(tag)
    }

    /// Points any ref, by its full name, at any object.
    pub fn set_ref(&self, name: &str, target: &Oid) -> Result<(), Error> {
        self.git(["update-ref", name, target.as_str()]).map(drop)
    }

    /// Deletes any ref by its full name.
    pub(super) fn delete_ref(&self, name: &str) -> Result<(), Error> {
        self.git(["update-ref", "-d", name]).map(drop)
    }

    /// Returns the object that a ref names, or `None` where there is no such ref.
    pub fn resolve(&self, name: &str) -> Result<Option<Oid>, Error> {
        let found = self.git(["for-each-ref", "--format=%(objectname) %(refname)", name])?;
        let found = String::from_utf8_lossy(&found);
        let exact = found.lines().find_map(|line| {
            line.split_once(' ').filter(|(_, full)| *full == name).map(|(id, _)| id)
        });
        exact.map(Oid::parse).transpose()
    }
}
