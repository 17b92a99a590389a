//! Tests the part of Helm's language that the chart uses.

use super::*;
use serde_json::json;

fn rendered(template: &str) -> Result<String, String> {
    let definitions = "{{- define \"x.yes\" -}}{{- if .Values.on -}}true{{- end -}}{{- end -}}\n";
    let root = json!({"Values": {"on": true, "off": "", "list": ["a", "b"], "three": 3, "text": "1",
        "map": {"a": "x", "b": "1"}}, "Files": {"a.json": "{{legend}}\n"}});
    let templates = HelmTemplates::new(definitions, &[]).unwrap();
    templates.render(template, &root).map_err(|why| why.to_string())
}

#[test]
fn templates_render_as_helm_renders_them() {
    let cases = [
        ("a: {{ $.Values.text | quote }}", "a: \"1\""),
        ("a:\n{{- if $.Values.on }}\nb: 1\n{{- end }}\nc", "a:\nb: 1\nc"),
        ("a{{ if .Values.off -}} b {{- else }} c {{- end }}", "a c"),
        ("{{- range $.Values.list }}\n- {{ . }} {{ $.Values.three }}\n{{- end }}", "\n- a 3\n- b 3"),
        ("{{ printf \"--x=%s,%s\" \"a\" (join \"|\" $.Values.list) | quote }}", "\"--x=a,a|b\""),
        ("{{ and 1 0 2 }} {{ and 1 2 }} {{ or 0 \"\" }} {{ or 0 2 3 }} {{ not \"\" }}", "0 2  2 true"),
        ("{{ eq \"a\" \"a\" }} {{ gt (int $.Values.three) 3 }} {{ gt $.Values.three 2 }}", "true false true"),
        ("{{ has \"b\" (splitList \",\" \"a,b\") }} {{ has \"ab\" $.Values.list }}", "true false"),
        ("{{ $.Values.off | default \"d\" }}{{ default \"d\" $.Values.on }}", "dtrue"),
        ("m:{{ toYaml $.Values.map | nindent 2 }}", "m:\n  a: x\n  b: \"1\""),
        ("{{ \"{{\" }} $value }}", "{{ $value }}"),
        ("|-\n  {{ $.Files.Get (printf \"%s.json\" \"a\") }}", "|-\n  {{legend}}\n"),
        ("{{ if include \"x.yes\" $ }}yes{{ end }}{{ if not (include \"x.yes\" $) }}no{{ end }}", "yes"),
    ];
    for (template, expected) in cases {
        assert_eq!(rendered(template).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn invalid_templates_are_errors() {
    let cases = [
        ("{{ .Values.missing }}", "there is no Values.missing"),
        ("{{ toYaml .Values.on }}", "toYaml with 1 arguments is not supported"),
        ("{{ include \"y\" $ }}", "y is not defined"),
        ("{{ $.Files.Get \"b.json\" }}", "there is no file b.json"),
        ("{{ if .Values.on }}", "an end is missing"),
        ("{{ .Values.on", "an action does not end"),
        ("{{ eq \"a }}", "a text does not end"),
        ("{{ (not 1 }}", "a bracket is not closed"),
        ("{{ not 1 ) }}", ") is not expected"),
        ("{{ range .Values.on }}{{ end }}", "true is not a list"),
        ("{{ not }}", "not with 0 arguments"),
        ("{{ and not 1 }}", "expected a value, not not"),
        ("{{ 1 | 2 }}", "is not a function"),
        ("{{ and 1 () }}", "expected a value, not )"),
        ("{{ }}", "an expression is missing"),
    ];
    for (template, expected) in cases {
        let why = rendered(template).unwrap_err();
        assert!(why.contains(expected), "{template}: {why}");
    }
    assert!(HelmTemplates::new("text", &[]).is_err() && HelmTemplates::new("{{ with . }}", &[]).is_err());
}

#[test]
fn text_stays_text() {
    for text in
        ["", "true", "No", "1", "1.5", "0x1f", "*", "-", "---", "a: b", "a:", "#a", "~", "a b", "%", "::/0"]
    {
        let written = quoted(text);
        assert!(written.starts_with('"'), "{written}");
        assert_eq!(serde_saphyr::from_str::<String>(&written).unwrap(), text);
    }
    for text in [
        "taintward",
        "--mode=enforce",
        "/livez",
        "kubernetes.io/hostname",
        "registry.invalid/taintward:0.1.0",
    ] {
        assert_eq!(quoted(text), text);
        assert_eq!(serde_saphyr::from_str::<String>(&quoted(text)).unwrap(), text);
    }
}
