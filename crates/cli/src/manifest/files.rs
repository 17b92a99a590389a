//! Reads the texts that `-f` names: files, folders and standard input, one at a time.
//!
//! - Invariant: no text is longer than [`BYTES_MAX`]; folders are read in the order of names, without links to
//!   folders.

use super::TextPosition;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer texts are rejected.
pub(crate) const BYTES_MAX: usize = 256 << 20;

/// The largest depth of nested folders.
const DEPTH_MAX: usize = 64;

/// The name of `-f -`.
pub(crate) const STDIN: &str = "(standard input)";

/// Extensions of files that are read in a folder.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A text, or why it could not be read.
pub(crate) struct ManifestFile {
    /// As typed; for files of a folder, with the folder's name as typed.
    pub(crate) name: String,
    pub(crate) text: Result<String, ManifestFileError>,
}

/// Why a text could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestFileError {
    #[error("cannot be read: {why}; {}", remedy(why))]
    System { why: io::Error },
    #[error("is larger than {} MB, which is the limit; split it", BYTES_MAX >> 20)]
    TooLong,
    #[error("is compressed; unpack it first, as with gunzip")]
    Compressed,
    #[error("is not UTF-8 text; save it as UTF-8")]
    NoText(TextPosition),
    #[error("has no file that ends with .yaml, .yml or .json; name the files themselves")]
    NothingInIt,
    #[error("is {DEPTH_MAX} folders deep, which is the limit; name the folders to read")]
    TooDeep,
}

/// What the user can do about a file that cannot be read.
pub(crate) fn remedy(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied => "fix its mode",
        io::ErrorKind::IsADirectory => "name a file",
        _ => "check the name",
    }
}

impl ManifestFileError {
    pub(crate) fn at(&self) -> TextPosition {
        if let Self::NoText(at) = self { *at } else { TextPosition::default() }
    }
}

/// Passes each named text to `visit`.
pub(crate) fn each(named: &[PathBuf], visit: &mut dyn FnMut(ManifestFile)) {
    for path in named {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            visit(ManifestFile { name: STDIN.to_owned(), text: read(io::stdin().lock(), None) });
        } else if path.is_dir() {
            let mut any = false;
            folder(path, 0, &mut |found| {
                any = true;
                visit(found);
            });
            if !any {
                visit(ManifestFile { name, text: Err(ManifestFileError::NothingInIt) });
            }
        } else {
            visit(ManifestFile { name, text: file(path) });
        }
    }
}

/// Hidden files and folders are skipped: they belong to other tools.
fn folder(path: &Path, depth: usize, visit: &mut dyn FnMut(ManifestFile)) {
    let failed = |why| ManifestFile { name: path.display().to_string(), text: Err(why) };
    if depth > DEPTH_MAX {
        return visit(failed(ManifestFileError::TooDeep));
    }
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(why) => return visit(failed(ManifestFileError::System { why })),
    };
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match () {
            () if hidden => {}
            () if is_folder => folder(&path, depth + 1, visit),
            () if ENDINGS.contains(&ending) && !path.is_dir() => {
                visit(ManifestFile { name: path.display().to_string(), text: file(&path) });
            }
            () => {}
        }
    }
}

fn file(path: &Path) -> Result<String, ManifestFileError> {
    let file = File::open(path).map_err(|why| ManifestFileError::System { why })?;
    let length = file.metadata().map_err(|why| ManifestFileError::System { why })?.len();
    read(file, Some(length))
}

fn read(from: impl Read, length: Option<u64>) -> Result<String, ManifestFileError> {
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX);
    if length.is_some_and(|length| length > most) {
        return Err(ManifestFileError::TooLong);
    }
    let mut bytes = Vec::new();
    // The length of a pipe is unknown.
    from.take(most + 1).read_to_end(&mut bytes).map_err(|why| ManifestFileError::System { why })?;
    if bytes.len() > BYTES_MAX {
        return Err(ManifestFileError::TooLong);
    }
    if bytes.starts_with(&[0x1f, 0x8b])
        || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        || bytes.starts_with(b"PK\x03")
    {
        return Err(ManifestFileError::Compressed);
    }
    String::from_utf8(bytes).map_err(|why| {
        let before = &why.as_bytes()[..why.utf8_error().valid_up_to()];
        let text = String::from_utf8_lossy(before);
        ManifestFileError::NoText(TextPosition::FIRST.after(&text))
    })
}
