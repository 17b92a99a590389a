//! Checks items 30, 33, 37 and 38 in the sources: lints, profiles, dependencies, the image.

use super::elsewhere::{file, text};
use super::harness::{ItemResult, Shown, demand};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The maximum number of packages in a build for this platform, including the workspace's own.
const DEPENDENCIES_MAX: usize = 180;

pub(crate) fn no_unsafe_code() -> ItemResult {
    let manifest = text("Cargo.toml")?;
    demand(manifest.contains("\nunsafe_code = \"forbid\"\n"), "the workspace does not forbid unsafe code")?;
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
    let found = "the workspace forbids unsafe code, every crate uses the workspace's lints, and the release build checks for \
            overflow";
    Ok(Shown::with(found, format!("{} crates", crates.len())))
}

pub(crate) fn dependencies() -> ItemResult {
    let mut tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.args(["tree", "--locked", "--offline", "--edges=normal", "--prefix=none", "--package=taintward"]);
    let output = tree.current_dir(file("")).output().map_err(|why| why.to_string())?;
    let message = String::from_utf8_lossy(&output.stdout);
    demand(output.status.success(), String::from_utf8_lossy(&output.stderr))?;
    // A package that is listed again has a mark.
    let all: BTreeSet<&str> = message.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    demand(all.len() <= DEPENDENCIES_MAX, format!("{} of at most {DEPENDENCIES_MAX}", all.len()))?;
    Ok(Shown::with(
        format!("at most {DEPENDENCIES_MAX} packages are in the program, its own crates included"),
        format!("{}", all.len()),
    ))
}

pub(crate) fn actions() -> ItemResult {
    let folder = fs::read_dir(file(".github/workflows")).map_err(|error| error.to_string())?;
    let mut count = 0;
    for workflow in folder {
        let path = workflow.map_err(|error| error.to_string())?.path();
        let workflow = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let of = |what: &str| format!("{}: {what}", path.display());
        demand(workflow.contains("\npermissions:\n  contents: read\n"), of("it may do more than read"))?;
        let used = workflow.lines().filter_map(|line| line.trim().strip_prefix("- uses: "));
        for action in used.clone() {
            let commit = action.strip_prefix("actions/checkout@").and_then(|rest| rest.split(" # v").next());
            let is_pinned = commit.is_some_and(|commit| {
                commit.len() == 40 && !commit.contains(|c: char| !c.is_ascii_hexdigit())
            });
            demand(is_pinned, of(action))?;
        }
        let kept = workflow.matches("persist-credentials: false").count();
        demand(kept == used.count(), of("a checkout keeps the token"))?;
        count += 1;
    }
    demand(count > 0, "no workflow was found")?;
    Ok("workflows may only read, except for the jobs that draft a release and set labels; they use only the action \
        `actions/checkout`, which is pinned by its commit"
        .into())
}

pub(crate) fn image() -> ItemResult {
    let recipe = text("deploy/Containerfile")?;
    let lines = || recipe.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let base = lines().find_map(|line| line.strip_prefix("ARG BASE=")).unwrap_or_default();
    let small =
        ["gcr.io/distroless/static-", "gcr.io/distroless/cc-"].iter().any(|name| base.starts_with(name));
    demand(small && !base.contains("debug"), format!("the base image is {base}"))?;
    let last: Vec<&str> = lines().skip_while(|line| *line != "FROM ${BASE}").collect();
    demand(!last.is_empty(), "the last stage does not start FROM BASE")?;
    let known = ["FROM ", "COPY --from=build ", "USER ", "ENTRYPOINT [\"/taintward\"]"];
    let strange =
        last.iter().find(|line| !line.is_empty() && !known.iter().any(|word| line.starts_with(word)));
    demand(strange.is_none(), format!("{strange:?} is in the last stage"))?;
    let user = last.iter().find_map(|line| line.strip_prefix("USER ")).unwrap_or_default();
    let plain = user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0));
    demand(plain, format!("it runs as {user:?}"))?;
    let ignored = text(".dockerignore")?;
    let first = ignored.lines().find(|line| !line.starts_with('#'));
    demand(first == Some("*"), "it does not ignore all files first")?;
    Ok("by its recipe: a distroless base with one more file, and a user that is not root; no image scanner runs".into())
}
