//! Writes dashboards in Grafana's JSON.

use super::RUNBOOKS;
use super::dashboard::{Dashboard, Panel, PanelForm, PanelRow};
use serde_json::{Value, json};
use taintward_controller::metrics::names;

/// The number of columns of Grafana's grid.
const COLUMNS: u32 = 24;

/// The tag by which the dashboards link to each other.
const TAG: &str = "taintward";

/// The file that Grafana imports.
pub(crate) fn file(dashboard: &Dashboard) -> String {
    format!("{:#}\n", json(dashboard))
}

/// The same in one line, as the Helm chart puts it into a ConfigMap.
pub(crate) fn line(dashboard: &Dashboard) -> String {
    format!("{}\n", json(dashboard))
}

fn json(dashboard: &Dashboard) -> Value {
    let Dashboard { uid, title, description, mode, rows } = dashboard;
    let description =
        format!("{description} Each alert has a page in {RUNBOOKS}/README.md of Taintward's repository.");
    let processes = format!("{}{{mode{mode}}}", names::BUILD_INFO);
    let of_namespace = format!("{}{{mode{mode},namespace=~\"$namespace\"}}", names::BUILD_INFO);
    json!({
        "uid": uid,
        "title": format!("Taintward / {title}"),
        "description": description,
        "tags": [TAG],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [{
            "type": "dashboards", "title": "Taintward", "tags": [TAG], "asDropdown": true, "includeVars": true,
            "keepTime": true,
        }],
        "annotations": {"list": []},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            variable("namespace", "Namespace", &processes),
            variable("job", "Job", &of_namespace),
        ]},
        "panels": panels(rows),
    })
}

/// A variable with the values that a label has. All of them include none: not every Prometheus adds a namespace.
fn variable(label: &str, title: &str, series: &str) -> Value {
    let query = format!("label_values({series}, {label})");
    json!({
        "name": label, "label": title, "type": "query", "datasource": datasource(), "definition": query,
        "query": {"query": query, "refId": label}, "refresh": 2, "sort": 1, "multi": true, "includeAll": true,
        "allValue": ".*", "current": {"selected": true, "text": ["All"], "value": ["$__all"]},
    })
}

fn datasource() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// Rows and panels from left to right and from top to bottom.
fn panels(rows: &[PanelRow]) -> Vec<Value> {
    let mut all = Vec::new();
    let mut y = 0;
    for row in rows {
        let place = json!({"x": 0, "y": y, "w": COLUMNS, "h": 1});
        all.push(json!({
            "id": all.len() + 1, "type": "row", "title": row.title, "collapsed": false, "gridPos": place, "panels": [],
        }));
        y += 1;
        let (mut x, mut tallest) = (0, 0);
        for panel in &row.panels {
            let (width, height) = size(panel.form);
            if x + width > COLUMNS {
                (x, y, tallest) = (0, y + tallest, 0);
            }
            let place = json!({"x": x, "y": y, "w": width, "h": height});
            all.push(panel_at(all.len() + 1, &place, panel));
            (x, tallest) = (x + width, height.max(tallest));
        }
        y += tallest;
    }
    all
}

/// Width and height.
const fn size(form: PanelForm) -> (u32, u32) {
    match form {
        PanelForm::Stat { .. } => (4, 4),
        PanelForm::TimeSeries => (12, 8),
    }
}

fn panel_at(id: usize, place: &Value, panel: &Panel) -> Value {
    let (kind, options, red_from) = match panel.form {
        PanelForm::Stat { red_from } => {
            let last = json!({"calcs": ["lastNotNull"], "fields": "", "values": false});
            ("stat", json!({"reduceOptions": last, "colorMode": "value", "graphMode": "area"}), red_from)
        }
        PanelForm::TimeSeries => {
            let legend = json!({"displayMode": "list", "placement": "bottom", "showLegend": true});
            ("timeseries", json!({"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}), None)
        }
    };
    let red = red_from.map(|limit| json!({"color": "red", "value": limit}));
    let steps: Vec<Value> = [json!({"color": "green", "value": null})].into_iter().chain(red).collect();
    let targets: Vec<Value> = ('A'..='Z')
        .zip(&panel.queries)
        .map(|(letter, query)| {
            json!({
                "refId": letter, "datasource": datasource(), "expr": query.expr, "legendFormat": query.legend,
                "range": true,
            })
        })
        .collect();
    json!({
        "id": id, "type": kind, "title": panel.title, "description": panel.description, "gridPos": place,
        "datasource": datasource(), "options": options, "targets": targets,
        "fieldConfig": {
            "defaults": {"unit": panel.unit.as_str(), "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
    })
}
