//! Tests a zone whose kubelets are hostile: fall silent, come back, report not ready, in any order.
//!
//! - Their own zone's rate holds and no live node is tainted as silent (S6); other zones behave as without them, to the
//!   microsecond.

use crate::world::{Commit, World};

/// More than all others together, and a zone that is small; so that theirs counts for as much as it can.
const ZONES: [(&str, usize); 3] = [("hostile", 30), ("b", 6), ("c", 4)];
const HOSTILE: usize = ZONES[0].1;
/// Two honest nodes die, each in its own zone, in the midst of it.
const DEATHS: [(i64, &str); 2] = [(40, "b2"), (400, "c0")];
/// In seconds.
const LASTS: i64 = 1200;
const SEEDS: u64 = if cfg!(debug_assertions) { 30 } else { 300 };

/// What a hostile kubelet does next.
#[derive(Clone, Copy, Debug)]
enum Act {
    Silence,
    Speak,
    NotReady,
    Ready,
}

fn act(world: &mut World, number: usize, act: Act) {
    let name = format!("hostile{number}");
    match act {
        Act::Silence => world.kill(&[&name]),
        Act::Speak => world.revive(&[&name]),
        Act::NotReady => world.set_ready(&name, false),
        Act::Ready => world.set_ready(&name, true),
    }
}

/// Lets time pass while others act; what was written to the nodes of others.
fn history(mut acts: impl FnMut(i64, &mut World)) -> (World, Vec<Commit>) {
    let mut world = World::new(&ZONES);
    for second in 0..LASTS {
        for (at, name) in DEATHS {
            if at == second {
                world.kill(&[name]);
            }
        }
        acts(second, &mut world);
        world.pass(1);
    }
    let honest = world.commits.iter().filter(|it| !it.node.starts_with("hostile")).cloned().collect();
    (world, honest)
}

fn assert_nobody_else_pays(what: &str, acts: impl FnMut(i64, &mut World)) -> World {
    let (calm, expected) = history(|_, _| ());
    assert_eq!(calm.tainted(), ["b2", "c0"], "who dies is sent away, and nobody else");
    let (world, found) = history(acts);
    assert_eq!(found, expected, "{what}");
    let honest: Vec<_> = world.tainted().into_iter().filter(|name| !name.starts_with("hostile")).collect();
    assert_eq!(honest, ["b2", "c0"], "{what}");
    world
}

fn all(world: &mut World, what: Act) {
    (0..HOSTILE).for_each(|number| act(world, number, what));
}

/// The moments that serve them best: as the first of the others dies, before, when it is declared, when it is its turn.
#[test]
fn a_zone_that_falls_silent_at_once_hastens_and_stops_nothing_elsewhere() {
    for moment in [0, 39, 40, 41, 80, 89, 90, 91, 100, 399, 450] {
        for what in [Act::Silence, Act::NotReady] {
            let world = assert_nobody_else_pays(&format!("{what:?} at {moment}"), |second, world| {
                if second == moment {
                    all(world, what);
                }
            });
            // The judge counted: one in ten seconds. It is what they asked for.
            let gone = world.tainted().iter().filter(|name| name.starts_with("hostile")).count();
            assert!((1..=HOSTILE).contains(&gone), "{what:?} at {moment}: {gone}");
        }
    }
}

/// In and out of every state a zone can have, as often as each takes.
#[test]
fn a_zone_that_comes_and_goes_hastens_and_stops_nothing_elsewhere() {
    for period in [11, 41, 45, 51, 60, 97] {
        assert_nobody_else_pays(&format!("every {period} s"), |second, world| {
            if second % period == 0 {
                all(world, if second / period % 2 == 0 { Act::Silence } else { Act::Speak });
            }
        });
    }
}

#[test]
fn whatever_each_of_them_does_nothing_elsewhere_is_hastened_or_stopped() {
    for seed in 1..=SEEDS {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        // From one in each second to one in each minute.
        let pace = 1 + random(60);
        assert_nobody_else_pays(&format!("seed {seed}"), |_, world| {
            if random(pace) > 0 {
                return;
            }
            let what =
                [Act::Silence, Act::Silence, Act::Speak, Act::NotReady, Act::Ready][random(5) as usize];
            match random(4) {
                0 => all(world, what),
                _ => (0..=random(8)).for_each(|_| act(world, random(HOSTILE as u64) as usize, what)),
            }
        });
    }
}
