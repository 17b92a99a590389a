{{- define "taintward.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- define "taintward.evicts" -}}
{{- if or (include "taintward.guards" .) (and (eq .Values.controller.mode "enforce") (not (has "-taint-eviction-controller" (splitList "," .Values.controller.controllers))) (or (has "taint-eviction-controller" (splitList "," .Values.controller.controllers)) (has "*" (splitList "," .Values.controller.controllers)))) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.runsNodeLifecycle" -}}
{{- if and (not (has "-node-lifecycle-controller" (splitList "," .Values.controller.controllers))) (has "node-lifecycle-controller" (splitList "," .Values.controller.controllers)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.runsDedicatedPools" -}}
{{- if and (not (has "-dedicated-pool-controller" (splitList "," .Values.controller.controllers))) (has "dedicated-pool-controller" (splitList "," .Values.controller.controllers)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.holds" -}}
{{- if and (eq .Values.controller.mode "enforce") (not (has "-toleration-hold-controller" (splitList "," .Values.controller.controllers))) (has "toleration-hold-controller" (splitList "," .Values.controller.controllers)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.guards" -}}
{{- if and (eq .Values.controller.mode "enforce") (not (has "-toleration-guard-controller" (splitList "," .Values.controller.controllers))) (has "toleration-guard-controller" (splitList "," .Values.controller.controllers)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.rules" -}}
{{- if include "taintward.guards" . -}}
{{ .Values.webhook.rules }},toleration-guard
{{- else -}}
{{ .Values.webhook.rules }}
{{- end -}}
{{- end -}}
{{- define "taintward.runsBackfill" -}}
{{- if and (not (has "-toleration-backfill-controller" (splitList "," .Values.controller.controllers))) (has "toleration-backfill-controller" (splitList "," .Values.controller.controllers)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.validates" -}}
{{- if or (has "*" (splitList "," .Values.webhook.rules)) (has "dedicated-pools" (splitList "," .Values.webhook.rules)) (has "toleration-restriction" (splitList "," .Values.webhook.rules)) (has "advice" (splitList "," .Values.webhook.rules)) (has "brake" (splitList "," .Values.webhook.rules)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.watchesNodes" -}}
{{- if or (has "brake" (splitList "," .Values.webhook.rules)) (has "advice" (splitList "," .Values.webhook.rules)) -}}true{{- end -}}
{{- end -}}
{{- define "taintward.judgesEveryPod" -}}
{{- if or (has "toleration-restriction" (splitList "," .Values.webhook.rules)) (has "advice" (splitList "," .Values.webhook.rules)) -}}true{{- end -}}
{{- end -}}
