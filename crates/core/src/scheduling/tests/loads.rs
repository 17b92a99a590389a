//! Tests the sums of container requests.

use super::*;

fn amounts(of: &[(&str, &str)]) -> Quantities {
    of.iter().map(|&(name, text)| (name.into(), Quantity::parse(text).expect("a quantity"))).collect()
}

fn container(of: &[(&str, &str)]) -> ContainerRequests {
    ContainerRequests { requests: amounts(of), sidecar: false }
}

fn sidecar(of: &[(&str, &str)]) -> ContainerRequests {
    ContainerRequests { requests: amounts(of), sidecar: true }
}

#[test]
fn containers_are_summed_and_rounded_once() {
    let pod = PodRequests {
        containers: vec![
            container(&[("cpu", "0.4m"), ("memory", "0.5")]),
            container(&[("cpu", "0.4m"), ("memory", "0.5"), ("example.com/gpu", "2")]),
            container(&[]),
        ],
        ..PodRequests::default()
    };
    let load = pod.load();
    assert_eq!(load.requested, resources(&[("cpu", 1), ("memory", 1), ("example.com/gpu", 2)]));
    // The third has no requests and is assumed to be small.
    assert_eq!(load.assumed, resources(&[("cpu", 101), ("memory", (200 << 20) + 1)]));
}

#[test]
fn a_request_of_zero_is_zero() {
    let pod = PodRequests { containers: vec![container(&[("cpu", "0")])], ..PodRequests::default() };
    assert_eq!(pod.load().assumed, resources(&[("cpu", 0), ("memory", 200 << 20)]));
}

#[test]
fn init_containers_run_one_by_one_alongside_their_sidecars() {
    let cpu = |text| [("cpu", text)];
    for (containers, init, expected) in [
        (vec![container(&cpu("1"))], vec![container(&cpu("3")), container(&cpu("2"))], 3_000),
        (vec![container(&cpu("4"))], vec![container(&cpu("3"))], 4_000),
        (vec![container(&cpu("1"))], vec![sidecar(&cpu("1")), container(&cpu("3"))], 4_000),
        (vec![container(&cpu("1"))], vec![container(&cpu("3")), sidecar(&cpu("1"))], 3_000),
        (vec![container(&cpu("1"))], vec![sidecar(&cpu("2")), sidecar(&cpu("2"))], 5_000),
        (
            vec![container(&cpu("1"))],
            vec![sidecar(&cpu("2")), sidecar(&cpu("2")), container(&cpu("3"))],
            7_000,
        ),
    ] {
        let pod = PodRequests { containers, init_containers: init, ..PodRequests::default() };
        assert_eq!(pod.load().requested, resources(&[("cpu", expected)]), "{pod:?}");
    }
}

#[test]
fn the_pod_as_a_whole_and_its_overhead() {
    let pod = PodRequests {
        containers: vec![container(&[("cpu", "1"), ("example.com/gpu", "1")])],
        pod: amounts(&[("cpu", "3"), ("hugepages-2Mi", "4Mi"), ("example.com/gpu", "7")]),
        overhead: amounts(&[("cpu", "250m"), ("memory", "1Mi")]),
        ..PodRequests::default()
    };
    let expected = [("cpu", 3_250), ("memory", 1 << 20), ("hugepages-2Mi", 4 << 20), ("example.com/gpu", 1)];
    assert_eq!(pod.load().requested, resources(&expected));
    assert_eq!(pod.load().assumed, resources(&[("cpu", 3_250), ("memory", 201 << 20)]));
}

#[test]
fn only_cpu_counts_in_thousandths() {
    let half = Quantity::parse("1500m").expect("a quantity");
    assert_eq!((units("cpu", half), units("memory", half), units("CPU", half)), (1_500, 2, 2));
}

#[test]
fn adding_and_removing_a_load_restores_the_state() {
    let mut used = load(1_000, GI);
    used.add(&load(500, 0));
    used.add(&ResourceRequests {
        requested: resources(&[("example.com/gpu", 1)]),
        assumed: Resources::new(),
    });
    assert_eq!(used.requested, resources(&[("cpu", 1_500), ("memory", GI), ("example.com/gpu", 1)]));
    used.take_off(&load(500, 0));
    assert_eq!(used.assumed, load(1_000, GI).assumed);
    used.add(&load(i64::MAX, i64::MAX));
    assert_eq!(used.requested["cpu"], i64::MAX);
}
