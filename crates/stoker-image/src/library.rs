//! The libraries that a dynamic program links to, found as the loader finds them.
//!
//! Reads the ELF files instead of running the loader, so programs of another architecture work
//! too. Libraries that a program opens by name at run time (`dlopen`) are not found: a recipe adds
//! them itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use goblin::elf::Elf;

use crate::{Distribution, Error};

/// A library, and the interpreter, which is one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    /// Where it is in the image.
    pub(crate) path: String,
    /// Where it is on the machine that builds the image.
    pub(crate) source: PathBuf,
}

/// What one ELF file asks for.
#[derive(Debug)]
struct Needs {
    interpreter: Option<String>,
    libraries: Vec<String>,
    run_paths: Vec<String>,
    machine: u16,
}

/// Returns the interpreter of a program and all libraries below it; empty for a static one.
pub(crate) fn closure(program: &Path, distribution: &Distribution) -> Result<Vec<Library>, Error> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut waiting = vec![program.to_owned()];
    while let Some(file) = waiting.pop() {
        let needs = Needs::read(&file)?;
        if let Some(interpreter) = &needs.interpreter {
            let source = distribution.locate(interpreter);
            found.entry(interpreter.clone()).or_insert(source);
        }
        for name in &needs.libraries {
            let missing = || Error::MissingLibrary { name: name.clone(), needed_by: file.clone() };
            let path = needs.search(name, &file, distribution).ok_or_else(missing)?;
            let source = distribution.locate(&path);
            if found.insert(path.display().to_string(), source.clone()).is_none() {
                waiting.push(source);
            }
        }
    }
    Ok(found.into_iter().map(|(path, source)| Library { path, source }).collect())
}

impl Needs {
    fn read(file: &Path) -> Result<Self, Error> {
        let bytes = fs::read(file).map_err(Error::read(file))?;
        let elf =
            Elf::parse(&bytes).map_err(|source| Error::NotElf { path: file.to_owned(), source })?;
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let joined = [elf.runpaths.as_slice(), elf.rpaths.as_slice()].concat();
        Ok(Self {
            interpreter: elf.interpreter.map(str::to_owned),
            libraries: owned(&elf.libraries),
            run_paths: joined.iter().flat_map(|path| path.split(':')).map(str::to_owned).collect(),
            machine: elf.header.e_machine,
        })
    }

    /// Looks in the file's own run path, then in the directories that every loader of the
    /// distribution searches.
    fn search(&self, name: &str, needed_by: &Path, distribution: &Distribution) -> Option<PathBuf> {
        let inside = needed_by.strip_prefix(&distribution.root).unwrap_or(needed_by);
        let inside = Path::new("/").join(inside);
        let origin = inside.parent().unwrap_or(Path::new("/")).display().to_string();
        let own = self.run_paths.iter().map(|path| path.replace("$ORIGIN", &origin));
        own.chain(directories(distribution))
            .map(|directory| Path::new(&directory).join(name))
            .find(|candidate| self.fits(&distribution.locate(candidate)))
    }

    /// A directory may hold libraries of another architecture under the same name.
    fn fits(&self, candidate: &Path) -> bool {
        candidate.is_file()
            && Self::read(candidate).is_ok_and(|library| library.machine == self.machine)
    }
}

fn directories(distribution: &Distribution) -> Vec<String> {
    let machine = distribution.architecture.machine();
    let below = |directory: &str| format!("{directory}/{machine}-linux-gnu");
    let plain = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned);
    [below("/lib"), below("/usr/lib")].into_iter().chain(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(program: &str) -> Vec<String> {
        let libraries = closure(Path::new(program), &Distribution::of_this_machine())
            .expect("the program is on this machine");
        let name = |library: &Library| library.path.rsplit('/').next().map(str::to_owned);
        libraries.iter().filter_map(name).collect()
    }

    #[test]
    fn a_dynamic_program_brings_its_interpreter_and_the_libraries_of_its_libraries() {
        let own = std::env::current_exe().expect("a running test has a path");
        let names = names(&own.display().to_string());
        assert!(names.iter().any(|name| name.starts_with("ld-linux")), "{names:?}");
        assert!(names.iter().any(|name| name == "libc.so.6"), "{names:?}");
    }

    #[test]
    fn a_file_that_is_not_a_program_is_named() {
        let here = Distribution::of_this_machine();
        let error = closure(Path::new("/etc/passwd"), &here).expect_err("not an ELF file");
        assert_eq!(error.to_string(), "\"/etc/passwd\" is not an ELF program or library");
    }
}
