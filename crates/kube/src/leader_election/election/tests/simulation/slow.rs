//! Tests slow and silent servers, and leases that are deleted or taken.

use super::*;

/// How long peers led in these 600 seconds: in total, and the maximum of one.
fn led_with(seed: u64, slow: (i64, i64)) -> (Simulation, i64) {
    let mut simulation = Simulation::new(seed, &[TRUE, TRUE], Faults { slow, ..CALM });
    simulation.run_until(600 * SECOND);
    let led = simulation
        .peers
        .iter()
        .flat_map(|peer| &peer.led)
        .map(|term| term.1.min(600 * SECOND) - term.0)
        .sum();
    (simulation, led)
}

#[test]
fn a_server_that_takes_seconds_for_every_write_has_a_leader() {
    for seed in 0..100 {
        for slow in [(3 * SECOND, 0), (SECOND / 2, 5 * SECOND / 2), (0, 4 * SECOND)] {
            let (simulation, led) = led_with(seed, slow);
            assert!(led > 590 * SECOND && simulation.leaders().len() == 1, "seed {seed} {slow:?}: {led}");
            assert_eq!(simulation.overlaps(), vec![], "seed {seed} {slow:?}");
        }
    }
}

#[test]
fn a_server_that_writes_without_a_response_has_a_leader() {
    for seed in 0..100 {
        let (simulation, led) = led_with(seed, (SECOND / 10, 60 * SECOND));
        assert!(led > 580 * SECOND, "seed {seed}: {led}");
        assert_eq!(simulation.overlaps(), vec![], "seed {seed}");
    }
}

#[test]
fn a_deleted_lease_is_created_again_and_no_other_process_used_the_gap() {
    for seed in 0..200 {
        let mut simulation = Simulation::new(seed, &[TRUE, TRUE, TRUE], CALM);
        simulation.run_until(60 * SECOND);
        let leader = simulation.leaders();
        simulation.store = None;
        simulation.run_until(120 * SECOND);
        assert_eq!(simulation.leaders(), leader, "seed {seed}");
        assert!(simulation.store.is_some());
        assert_eq!(simulation.overlaps(), vec![]);
    }
}

#[test]
fn a_holder_that_is_not_a_replica_is_respected_and_survived() {
    let mut simulation = Simulation::new(7, &[TRUE, TRUE], CALM);
    simulation.run_until(60 * SECOND);
    let stranger = LeaseRecord {
        holder: "stranger".to_owned(),
        duration: Span::from_secs(15),
        ..LeaseRecord::default()
    };
    simulation.keep(stranger);
    simulation.run_until(63 * SECOND);
    assert_eq!(simulation.leaders(), [0_usize; 0]);
    simulation.run_until(80 * SECOND);
    assert_eq!(simulation.leaders().len(), 1);
}
