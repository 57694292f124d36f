//! Where things are: the clone, the build folder, the tool cache; and which versions the lock file asks for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{About, Failure, Result};

/// The clone this program was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    cache: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        // Cargo sets the variable for `cargo run`; it is the only way this program is started.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .ok_or_else(|| Failure::new("xtask has to be started by cargo").hint("cargo xtask --help"))?;
        let root = Path::new(&manifest)
            .parent()
            .ok_or_else(|| Failure::new("xtask has no parent folder"))?
            .to_path_buf();
        let cache = env::var_os("XDG_CACHE_HOME")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
            .ok_or_else(|| Failure::new("neither XDG_CACHE_HOME nor HOME is set"))?
            .join("chainwalk");
        Ok(Self { root, cache })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The tool cache, outside the clone.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// The tool cache, made when it was not there yet.
    pub(crate) fn cache_created(&self) -> Result<&Path> {
        fs::create_dir_all(&self.cache).about(self.cache.display())?;
        Ok(&self.cache)
    }

    /// Where `cargo xtask build` writes the site.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// Logs of captured commands, stamps: everything this program writes about itself.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("target/xtask")
    }

    /// The version of a package in `Cargo.lock`.
    pub(crate) fn locked_version(&self, package: &str) -> Result<String> {
        let path = self.root.join("Cargo.lock");
        let text = fs::read_to_string(&path).about(path.display())?;
        version_in_lock(&text, package)
            .ok_or_else(|| Failure::new(format!("Cargo.lock does not name `{package}`")))
    }
}

fn version_in_lock(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| **line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_names_versions() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"ab\"\nversion = \"4.5.6\"\n";
        assert_eq!(version_in_lock(lock, "a").as_deref(), Some("1.2.3"));
        assert_eq!(version_in_lock(lock, "ab").as_deref(), Some("4.5.6"));
        assert_eq!(version_in_lock(lock, "abc"), None);
    }
}
