"""Works on a sandbox with the official Python client; the kubeconfig is the argument."""

import sys
import time

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

config.load_kube_config(sys.argv[1])
core = client.CoreV1Api()


def pod(name, node=None):
    container = client.V1Container(name="main", image="registry.example/app:1")
    spec = client.V1PodSpec(containers=[container], node_name=node, termination_grace_period_seconds=0)
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name, labels={"app": "web"}), spec=spec)


def gone(name):
    # On a busy machine, confirming reads may come too late several times.
    for _ in range(2400):
        try:
            left = core.read_namespaced_pod(name, "default")
        except ApiException as why:
            assert why.status == 404, why
            return
        time.sleep(0.05)
    raise AssertionError(f"{name} is still there: {left.status}")


# Create.
for number in range(5):
    made = core.create_namespaced_pod("default", pod(f"web-{number}", "n1" if number < 3 else None))
    assert made.metadata.uid and made.metadata.creation_timestamp, made
try:
    core.create_namespaced_pod("default", pod("web-0"))
    raise AssertionError("the same name twice")
except ApiException as why:
    assert (why.status, why.reason) == (409, "Conflict"), why
scaler = client.V1HorizontalPodAutoscaler(
    metadata=client.V1ObjectMeta(name="web"),
    spec=client.V1HorizontalPodAutoscalerSpec(
        max_replicas=9,
        target_cpu_utilization_percentage=70,
        scale_target_ref=client.V1CrossVersionObjectReference(kind="Deployment", name="web", api_version="apps/v1"),
    ),
)
client.AutoscalingV1Api().create_namespaced_horizontal_pod_autoscaler("default", scaler)
[read] = client.AutoscalingV2Api().list_namespaced_horizontal_pod_autoscaler("default").items
assert read.spec.metrics[0].resource.target.average_utilization == 70, read

# List in pages.
names, token, pages = [], None, 0
while pages == 0 or token:
    page = core.list_namespaced_pod("default", limit=2, _continue=token)
    assert len(page.items) <= 2, page
    names += [one.metadata.name for one in page.items]
    token, pages = page.metadata._continue, pages + 1
assert (sorted(names), pages) == ([f"web-{number}" for number in range(5)], 3), (names, pages)

# Watch, and patch.
version = core.list_namespaced_pod("default").metadata.resource_version
core.patch_namespaced_pod("web-4", "default", {"metadata": {"labels": {"tier": "front"}}})
for event in watch.Watch().stream(
    core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=30, label_selector="app=web"
):
    if event["object"].metadata.labels.get("tier") == "front":
        assert (event["type"], event["object"].metadata.name) == ("MODIFIED", "web-4"), event
        break
else:
    raise AssertionError("the watch ended")

# Events of the scheduler, in the newer group, whose objects must have an eventTime.
for _ in range(600):
    scheduled = client.EventsV1Api().list_namespaced_event("default").items
    scheduled = [one for one in scheduled if one.reason == "Scheduled"]
    if len(scheduled) >= 2:
        break
    time.sleep(0.05)
assert len(scheduled) == 2 and all(one.event_time for one in scheduled), scheduled

# Evict and delete.
body = client.V1Eviction(metadata=client.V1ObjectMeta(name="web-3", namespace="default"))
core.create_namespaced_pod_eviction("web-3", "default", body)
gone("web-3")
core.delete_namespaced_pod("web-4", "default", grace_period_seconds=0)
gone("web-4")

# A taint evicts the pods of its node.
node = core.patch_node("n1", {"spec": {"taints": [{"key": "maintenance", "value": "now", "effect": "NoExecute"}]}})
assert [one.key for one in node.spec.taints] == ["maintenance"], node
for number in range(3):
    gone(f"web-{number}")
print("all done")
