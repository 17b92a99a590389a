//! Creates the ClusterRoles and definitions that every cluster has.

use crate::custom;
use crate::world::World;
use serde_json::Value;

/// An object a line.
const ROLES: &str = include_str!("standard/roles.json");

/// Puts it in.
///
/// # Panics
/// If what is built in is no JSON.
pub fn furnish(world: &World) {
    for line in ROLES.lines() {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("a role: {why}"));
        let plural = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        world.create("rbac.authorization.k8s.io", plural, "", object);
    }
    for definition in custom::definitions() {
        world.create("apiextensions.k8s.io", "customresourcedefinitions", "", definition);
    }
}

#[cfg(test)]
mod tests {
    use super::{ROLES, furnish};
    use crate::resource::known;
    use crate::world::{World, WorldSettings};
    use serde_json::Value;

    fn furnished() -> World {
        let world = World::new(&WorldSettings { nodes: 0, ..WorldSettings::default() });
        furnish(&world);
        world
    }

    fn get(world: &World, group: &str, plural: &str, name: &str) -> Value {
        world
            .server()
            .get(known(group, plural), "", name)
            .unwrap_or_else(|| panic!("{plural} {name} is not there"))
    }

    #[tokio::test]
    async fn roles_that_people_bind_are_there_with_their_rules() {
        let world = furnished();
        let role = |name| get(&world, "rbac.authorization.k8s.io", "clusterroles", name);
        let count = |name| role(name)["rules"].as_array().map_or(0, Vec::len);
        assert_eq!(role("cluster-admin")["rules"][0]["verbs"][0], "*");
        assert!(count("view") > 5 && count("view") < count("edit") && count("edit") < count("admin"));
        let binding = get(&world, "rbac.authorization.k8s.io", "clusterrolebindings", "cluster-admin");
        assert_eq!(binding["subjects"][0]["name"], "system:masters");
        let all =
            ["clusterroles", "clusterrolebindings"].map(|plural| known("rbac.authorization.k8s.io", plural));
        assert_eq!(
            all.map(|number| world.server().store().count(number)).iter().sum::<usize>(),
            ROLES.lines().count()
        );
    }

    #[tokio::test]
    async fn the_kinds_of_taintward_are_defined_and_served() {
        let world = furnished();
        for name in ["dedicatedpools.taintward.io", "taintwardpolicies.taintward.io"] {
            let definition = get(&world, "apiextensions.k8s.io", "customresourcedefinitions", name);
            let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let established =
                conditions.iter().find(|one| one["type"] == "Established").cloned().unwrap_or_default();
            assert_eq!(established["status"], "True", "{definition}");
            assert_eq!(definition["status"]["acceptedNames"], definition["spec"]["names"]);
        }
    }
}
