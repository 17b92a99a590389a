//! Reads and writes the files of the sandbox: `--load`, `--nodes`, `--save`, kubeconfigs.
//!
//! - Invariant: a file is written whole or not at all.

use crate::manifest::files::remedy;
use crate::stderr;
use fakekube::api::ApiServer;
use fakekube::object_file::{BYTES_MAX, FileReadError};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use taintward_sandbox::node_file::{self, NodeFileError};
use taintward_sandbox::snapshot::{self, SnapshotError};
use taintward_sandbox::world::World;

/// Why a file could not be read or written, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot read {path}: {why}; {}", remedy(why))]
    Read { path: String, why: io::Error },
    #[error("cannot load {path}: {why}")]
    Load { path: String, why: SnapshotError },
    #[error("cannot create the nodes of {path}: {why}")]
    Nodes { path: String, why: NodeFileError },
    #[error("cannot save to {path}: {why}; choose another place with --save")]
    Save { path: String, why: io::Error },
    #[error("cannot write the kubeconfig {path}: {why}; choose another place with --kubeconfig-out")]
    Kubeconfig { path: String, why: io::Error },
}

/// Loads the objects of a file. Reports how many were loaded and which were not.
pub(super) fn load(world: &World, path: &Path) -> Result<(), FileError> {
    let failed = |why| FileError::Load { path: named(path), why };
    let bytes = read(path)?.ok_or_else(|| failed(FileReadError::TooLong.into()))?;
    let loaded = snapshot::load(world.server(), &bytes).map_err(failed)?;
    let objects = crate::messages::counted(loaded.objects, "object");
    stderr::line("", format_args!("{objects} loaded from {}", named(path)));
    if loaded.left_out_count > 0 {
        stderr::line("warning: ", format_args!("skipped {} objects:", loaded.left_out_count));
        loaded.left_out.iter().for_each(|why| stderr::line("  ", why));
        if loaded.left_out_count > loaded.left_out.len() {
            stderr::line("", "  (the others are not listed)");
        }
    }
    Ok(())
}

/// Creates the nodes of a file.
pub(super) fn nodes(world: &World, path: &Path) -> Result<(), FileError> {
    let failed = |why| FileError::Nodes { path: named(path), why };
    let bytes = read(path)?.ok_or_else(|| failed(FileReadError::TooLong.into()))?;
    node_file::register(world, &bytes).map(drop).map_err(failed)
}

/// The contents of a file; `None` if it is too large.
fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX);
    let all = || -> io::Result<Option<Vec<u8>>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.len() > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        // The length of a pipe is unknown.
        file.take(most + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() <= BYTES_MAX).then_some(bytes))
    };
    all().map_err(|why| FileError::Read { path: named(path), why })
}

/// Checks at the start whether [`save`] can write its file, because a failure at the end would lose all objects.
pub(super) fn check_save(path: &Path) -> Result<(), FileError> {
    let target = target(path);
    let tried = match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => OpenOptions::new().write(true).open(&target).map(drop),
        _ => fresh(&beside(&target), PRIVATE).and_then(|_| fs::remove_file(beside(&target))),
    };
    tried.map_err(|why| FileError::Save { path: named(path), why })
}

/// Saves all objects atomically: an earlier file stays until the new one is complete.
pub(super) fn save(server: &ApiServer, path: &Path) -> Result<(), FileError> {
    replace(&target(path), &snapshot::save(server)).map_err(|why| FileError::Save { path: named(path), why })
}

fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
        // A pipe or a device cannot, and must not, be replaced.
        return OpenOptions::new().write(true).open(target)?.write_all(bytes);
    }
    let beside = beside(target);
    let written = fresh(&beside, PRIVATE)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&beside, target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Resolves a link, so that [`save`] replaces its target and keeps the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A name in the same folder that no other process uses.
fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    target.with_file_name(format!("{name}.partial-{}", std::process::id()))
}

/// Creates a new file; first removes the one of an earlier process with the same process ID.
fn fresh(path: &Path, mode: u32) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    match open() {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()
        }
        other => other,
    }
}

/// The mode of a file that only its owner can access: a cluster contains Secrets, and a kubeconfig a token.
const PRIVATE: u32 = 0o600;

/// Opens a file to overwrite it, after its permissions have been restricted to the owner.
fn ours_alone(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
    }
    Ok(file)
}

/// Writes a kubeconfig that only its owner can read.
pub(super) fn write_kubeconfig(path: &Path, chosen: bool, text: &str) -> Result<(), FileError> {
    let opened = match chosen {
        true => ours_alone(path),
        // In a folder that every user can write to, a link at this name is not followed.
        false => fresh(path, PRIVATE),
    };
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| FileError::Kubeconfig { path: named(path), why })
}

fn named(path: &Path) -> String {
    path.display().to_string()
}
