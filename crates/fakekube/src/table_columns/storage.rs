//! Prints the columns of volumes, their classes and attachments, and CSI's objects.

use super::{
    AGE, Made, MadeNow, NAME, NAME_WITH_DEFAULT_CLASS, TableColumn, Text, TextOr, boolean, count, flag_or,
    given, list, or_none, string, string_or, text, texts, wide,
};
use crate::resource::ResourceType;
use serde_json::Value;

/// The columns of a resource, if it is one of those printed here.
pub(super) fn columns(resource: &ResourceType) -> Option<&'static [TableColumn]> {
    Some(match (resource.group, resource.plural) {
        ("", "persistentvolumes") => VOLUMES,
        ("", "persistentvolumeclaims") => CLAIMS,
        ("storage.k8s.io", "csidrivers") => CSI_DRIVERS,
        ("storage.k8s.io", "csinodes") => CSI_NODES,
        ("storage.k8s.io", "csistoragecapacities") => CSI_CAPACITIES,
        ("storage.k8s.io", "storageclasses") => STORAGE_CLASSES,
        ("storage.k8s.io", "volumeattachments") => ATTACHMENTS,
        ("storage.k8s.io", "volumeattributesclasses") => ATTRIBUTES_CLASSES,
        _ => return None,
    })
}

const VOLUMES: &[TableColumn] = &[
    NAME,
    text("Capacity", Made(|volume| string_or(volume, "spec.capacity.storage", "0").to_owned())),
    text("Access Modes", Made(|volume| access_modes(list(volume, "spec.accessModes")))),
    text("Reclaim Policy", Text("spec.persistentVolumeReclaimPolicy")),
    text("Status", Made(phase)),
    text("Claim", Made(claim)),
    text("StorageClass", Made(storage_class)),
    text("VolumeAttributesClass", TextOr("spec.volumeAttributesClassName", "<unset>")),
    text("Reason", Text("status.reason")),
    AGE,
    wide("VolumeMode", TextOr("spec.volumeMode", "<unset>")),
];

const CLAIMS: &[TableColumn] = &[
    NAME,
    text("Status", Made(phase)),
    text("Volume", Text("spec.volumeName")),
    text(
        "Capacity",
        Made(|claim| if_bound(claim, || string_or(claim, "status.capacity.storage", "0").to_owned())),
    ),
    text("Access Modes", Made(|claim| if_bound(claim, || access_modes(list(claim, "status.accessModes"))))),
    text("StorageClass", Made(storage_class)),
    text("VolumeAttributesClass", TextOr("spec.volumeAttributesClassName", "<unset>")),
    AGE,
    wide("VolumeMode", TextOr("spec.volumeMode", "<unset>")),
];

const CSI_DRIVERS: &[TableColumn] = &[
    NAME,
    boolean("AttachRequired", |driver| flag_or(driver, "spec.attachRequired", true)),
    boolean("PodInfoOnMount", |driver| flag_or(driver, "spec.podInfoOnMount", false)),
    boolean("StorageCapacity", |driver| flag_or(driver, "spec.storageCapacity", false)),
    text("TokenRequests", Made(audiences)),
    boolean("RequiresRepublish", |driver| flag_or(driver, "spec.requiresRepublish", false)),
    text("Modes", Made(|driver| or_none(texts(list(driver, "spec.volumeLifecycleModes")).join(",")))),
    AGE,
];

const CSI_NODES: &[TableColumn] = &[NAME, count("Drivers", |node| list(node, "spec.drivers").len()), AGE];

const CSI_CAPACITIES: &[TableColumn] = &[
    NAME,
    text("StorageClassName", Text("storageClassName")),
    text("Capacity", TextOr("capacity", "<unset>")),
];

const STORAGE_CLASSES: &[TableColumn] = &[
    NAME_WITH_DEFAULT_CLASS,
    text("Provisioner", Text("provisioner")),
    text("ReclaimPolicy", TextOr("reclaimPolicy", "Delete")),
    text("VolumeBindingMode", TextOr("volumeBindingMode", "Immediate")),
    // Its type is a string, and its cells are booleans.
    text("AllowVolumeExpansion", MadeNow(|class, _| flag_or(class, "allowVolumeExpansion", false).into())),
    AGE,
];

const ATTACHMENTS: &[TableColumn] = &[
    NAME,
    TableColumn { format: "name", ..text("Attacher", Text("spec.attacher")) },
    text("PV", Text("spec.source.persistentVolumeName")),
    text("Node", Text("spec.nodeName")),
    boolean("Attached", |attachment| flag_or(attachment, "status.attached", false)),
    AGE,
];

const ATTRIBUTES_CLASSES: &[TableColumn] = &[NAME, text("DriverName", Text("driverName")), AGE];

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

fn storage_class(object: &Value) -> String {
    let older = object["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    older.unwrap_or_else(|| string(object, "spec.storageClassName")).to_owned()
}

fn phase(object: &Value) -> String {
    match given(object, "metadata.deletionTimestamp") {
        Some(_) => "Terminating".to_owned(),
        None => string(object, "status.phase").to_owned(),
    }
}

fn claim(volume: &Value) -> String {
    let claim = given(volume, "spec.claimRef");
    claim
        .map_or_else(String::new, |claim| format!("{}/{}", string(claim, "namespace"), string(claim, "name")))
}

fn if_bound(claim: &Value, text: impl Fn() -> String) -> String {
    if string(claim, "spec.volumeName").is_empty() { String::new() } else { text() }
}

/// The modes in short, in a fixed order.
fn access_modes(modes: &[Value]) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short =
        known.into_iter().filter(|(mode, _)| modes.iter().any(|one| one == mode)).map(|(_, short)| short);
    short.collect::<Vec<_>>().join(",")
}

fn audiences(driver: &Value) -> String {
    match given(driver, "spec.tokenRequests") {
        None => "<unset>".to_owned(),
        Some(_) => {
            let requests = list(driver, "spec.tokenRequests").iter();
            requests.map(|request| string(request, "audience")).collect::<Vec<_>>().join(",")
        }
    }
}
