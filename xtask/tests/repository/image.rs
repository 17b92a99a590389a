//! Tests that .dockerignore admits exactly the files that the image is built from.

use std::fs;
use std::path::{Path, PathBuf};
use xtask::files::files_below;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            std::path::Component::ParentDir => _ = whole.pop(),
            part => whole.push(part),
        }
        whole
    })
}

#[test]
fn the_image_gets_what_it_is_built_from_and_nothing_else() {
    let root = root();
    let ignored = fs::read_to_string(root.join(".dockerignore")).unwrap();
    let rules: Vec<&str> =
        ignored.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(rules[0], "*", "files that no rule names are excluded");
    let let_in: Vec<PathBuf> =
        rules[1..].iter().map(|rule| root.join(rule.strip_prefix('!').unwrap())).collect();
    assert!(let_in.iter().all(|path| path.exists()), "{rules:?}");
    // Tests only: not part of the program.
    let ships = |path: &PathBuf| !path.starts_with(root.join("crates/envtest"));
    let mut files = Vec::new();
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        files.extend(files_below(&folder.unwrap().path().join("src"), &["rs"]).unwrap());
    }
    let mut outside = 0;
    for file in files.iter().filter(|path| ships(path)) {
        let text = fs::read_to_string(file).unwrap();
        for named in text.split("include_str!(\"").skip(1).chain(text.split("include_bytes!(\"").skip(1)) {
            let named = named.split('"').next().unwrap();
            let path = plain(&file.parent().unwrap().join(named));
            outside += usize::from(!path.starts_with(root.join("crates")));
            assert!(let_in.iter().any(|allowed| path.starts_with(allowed)), "{} is left out", path.display());
        }
    }
    assert!(outside > 2, "the sources were not found");
    for needed in
        ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "examples/Cargo.toml", "xtask/Cargo.toml"]
    {
        assert!(let_in.iter().any(|allowed| root.join(needed).starts_with(allowed)), "{needed} is left out");
    }
}
