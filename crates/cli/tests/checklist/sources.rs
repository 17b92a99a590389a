//! Checks items 30, 33, 37 and 38 in the sources: lints, profiles, dependencies, the image.

use super::elsewhere::{file, text};
use super::ground::{Found, Shown, demand};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The maximum number of packages in a build for this platform, including ours.
const DEPENDENCIES_MOST: usize = 180;

pub(crate) fn no_unsafe_code() -> Found {
    let manifest = text("Cargo.toml")?;
    demand(manifest.contains("\nunsafe_code = \"forbid\"\n"), "the workspace lets unsafe code in")?;
    let profile = manifest.split("\n[").find_map(|part| part.strip_prefix("profile.release]"));
    let checked = profile.is_some_and(|part| part.contains("\noverflow-checks = true\n"));
    demand(checked, "the release does not check for overflow")?;
    let mut crates = vec!["xtask".to_owned()];
    for entry in fs::read_dir(file("crates")).map_err(|why| why.to_string())? {
        crates.push(format!("crates/{}", entry.unwrap().file_name().display()));
    }
    for name in &crates {
        let manifest = text(&format!("{name}/Cargo.toml"))?;
        demand(manifest.contains("\n[lints]\nworkspace = true\n"), format!("{name} has lints of its own"))?;
    }
    let found = "the workspace forbids it, every crate keeps to the workspace's lints; the release checks for overflow";
    Ok(Shown::with(found, format!("{} crates", crates.len())))
}

pub(crate) fn dependencies() -> Found {
    let mut tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.args(["tree", "--locked", "--offline", "--edges=normal", "--prefix=none", "--package=taintward"]);
    let output = tree.current_dir(file("")).output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    demand(output.status.success(), String::from_utf8_lossy(&output.stderr))?;
    // A package that is listed again has a mark.
    let all: BTreeSet<&str> = said.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    demand(all.len() <= DEPENDENCIES_MOST, format!("{} of at most {DEPENDENCIES_MOST}", all.len()))?;
    Ok(Shown::with(
        format!("at most {DEPENDENCIES_MOST} packages make up the program, its own crates included"),
        format!("{}", all.len()),
    ))
}

pub(crate) fn actions() -> Found {
    let none = [".github", ".gitlab-ci.yml", ".forgejo", ".gitea"].iter().all(|name| !file(name).exists());
    demand(none, "there are recipes for CI now: say here that they are pinned and may only read")?;
    Ok(Shown::as_it_is(
        "not done: there are no actions to pin; `.ci/run` is a script that any machine can run".into(),
    ))
}

pub(crate) fn image() -> Found {
    let recipe = text("deploy/Containerfile")?;
    let lines = || recipe.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let base = lines().find_map(|line| line.strip_prefix("ARG BASE=")).unwrap_or_default();
    let small =
        ["gcr.io/distroless/static-", "gcr.io/distroless/cc-"].iter().any(|name| base.starts_with(name));
    demand(small && !base.contains("debug"), format!("it stands on {base}"))?;
    let last: Vec<&str> = lines().skip_while(|line| *line != "FROM ${BASE}").collect();
    demand(!last.is_empty(), "the last stage does not stand on BASE")?;
    let known = ["FROM ", "COPY --from=build ", "USER ", "ENTRYPOINT [\"/taintward\"]"];
    let strange =
        last.iter().find(|line| !line.is_empty() && !known.iter().any(|word| line.starts_with(word)));
    demand(strange.is_none(), format!("{strange:?} is in the last stage"))?;
    let user = last.iter().find_map(|line| line.strip_prefix("USER ")).unwrap_or_default();
    let plain = user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0));
    demand(plain, format!("it runs as {user:?}"))?;
    let ignored = text(".dockerignore")?;
    let first = ignored.lines().find(|line| !line.starts_with('#'));
    demand(first == Some("*"), "more than is named gets into the build")?;
    Ok("by its recipe: distroless, one file more, not root; no scanner of images is run".into())
}
