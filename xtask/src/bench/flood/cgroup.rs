//! Runs a program in a cgroup (v1 or v2) with a memory limit.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where groups are created: the files of the limit, of the peak usage, and of the kernel's kills.
const PLACES: [[&str; 4]; 2] = [
    ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"],
    ["/sys/fs/cgroup", "memory.max", "memory.peak", "memory.events"],
];

/// Removed when dropped, if it is empty.
pub(crate) struct CgroupLimit(Option<Cgroup>);

struct Cgroup {
    folder: PathBuf,
    peak: &'static str,
    kills: &'static str,
}

impl CgroupLimit {
    /// A cgroup with this limit; none without the permission to create one.
    pub(crate) fn to(bytes: u64) -> Self {
        Self(PLACES.into_iter().find_map(|place| Cgroup::create(place, bytes).ok()))
    }

    /// Starts a program in it, with a shell that enters the cgroup first.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let Some(group) = &self.0 else { return Command::new(program) };
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"", "sh"]);
        command.arg(&group.folder).arg(program);
        command
    }

    /// Bytes, and kills.
    pub(crate) fn peak(&self) -> Option<(u64, u64)> {
        let group = self.0.as_ref()?;
        let peak = fs::read_to_string(group.folder.join(group.peak)).ok()?.trim().parse().ok()?;
        let events = fs::read_to_string(group.folder.join(group.kills)).ok()?;
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Some((peak, kills.and_then(|kills| kills.parse().ok()).unwrap_or_default()))
    }
}

impl Cgroup {
    fn create([place, limit, peak, kills]: [&'static str; 4], bytes: u64) -> Result<Self> {
        let folder = Path::new(place).join(format!("taintward-bench-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder, peak, kills };
        fs::write(group.folder.join(limit), bytes.to_string())?;
        Ok(group)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}
