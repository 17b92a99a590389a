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
{{- define "taintward.delegates" -}}
{{- if and .Values.monitoring.enabled .Values.parts.controller (eq .Values.monitoring.authentication "delegated") -}}true{{- end -}}
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
{{- define "taintward.encoded" -}}
{{ . }}.map(t, (has(t.key) ? t.key : '') + (has(t.operator) && !(t.operator in ['', 'Equal']) ? '=*:' : has(t.value) ? '=v' + t.value + ':' : '=v:') + (has(t.effect) && t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] ? t.effect : ''))
{{- end -}}
{{- define "taintward.bearsTaintsOf" -}}
p.spec.taint.?effects.orValue(['NoSchedule']).exists(e, e != 'PreferNoSchedule') && p.spec.taint.?effects.orValue(['NoSchedule']).all(e, e == 'PreferNoSchedule' || ['', string(p.spec.taint.key)].exists(k, ['=*:', '=v' + string(p.spec.taint.?value.orValue('')) + ':'].exists(v, (k + v) in {{ . }} || (k + v + e) in {{ . }})))
{{- end -}}
{{- define "taintward.byUserOf" -}}
variables.asUser && (request.userInfo.username in p.spec.users.?users.orValue([]) || p.spec.users.?groups.orValue([]).exists(g, g in request.userInfo.?groups.orValue([])))
{{- end -}}
{{- define "taintward.isMirror" -}}
('system:nodes' in request.userInfo.?groups.orValue([]) && 'kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))
{{- end -}}
{{- define "taintward.makesDaemons" -}}
request.userInfo.username in ['system:kube-controller-manager', 'system:serviceaccount:kube-system:daemon-set-controller']
{{- end -}}
{{- define "taintward.podsForPools" }}
    matchPolicy: Equivalent
    namespaceSelector:
      matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values:
        - kube-system
        - {{ .Release.Namespace | quote }}
        {{- range .Values.exemptNamespaces }}
        - {{ . | quote }}
        {{- end }}
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      # Neither ephemeral containers nor a resize changes tolerations or nodes; if an API server ever permits that, the policy judges them.
      resources: [pods, pods/ephemeralcontainers, pods/resize]
      scope: Namespaced
{{- end -}}
{{- define "taintward.poolVariables" }}
  - name: labels
    expression: "namespaceObject.metadata.?labels.orValue({})"
  - name: account
    expression: "object.spec.?serviceAccountName.orValue('') == '' ? 'default' : object.spec.serviceAccountName"
  # Controllers that create pods for users do not name the user.
  - name: asUser
    expression: "!(request.userInfo.username in ['system:kube-controller-manager', 'system:serviceaccount:kube-system:daemon-set-controller', 'system:serviceaccount:kube-system:replicaset-controller', 'system:serviceaccount:kube-system:replication-controller', 'system:serviceaccount:kube-system:statefulset-controller', 'system:serviceaccount:kube-system:job-controller'])"
  - name: madeFor
    expression: "object.metadata.?annotations[?'taintward.io/made-for'].orValue('')"
  - name: wasMadeFor
    expression: "request.operation == 'UPDATE' ? oldObject.metadata.?annotations[?'taintward.io/made-for'].orValue('') : ''"
  - name: daemon
    expression: "{{ include "taintward.makesDaemons" $ }} && object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && o.kind == 'DaemonSet' && o.apiVersion.startsWith('apps/'))"
  - name: terms
    expression: "object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"
  # Only one node can meet each of the terms.
  - name: pinned
    expression: "variables.terms.size() > 0 && variables.terms.all(t, t.?matchFields.orValue([]).size() == 1 && t.matchFields[0].key == 'metadata.name' && t.matchFields[0].operator == 'In' && t.matchFields[0].?values.orValue([]).size() == 1 && t.matchFields[0].values[0] == variables.terms[0].matchFields[0].values[0])"
  # A pod that names its node needs no toleration to get there.
  - name: named
    expression: "request.operation == 'CREATE' && object.spec.?nodeName.orValue('') != ''"
  # The only node that a new pod can go to.
  - name: destination
    expression: "request.operation != 'CREATE' ? '' : variables.named ? object.spec.nodeName : variables.daemon && variables.pinned ? variables.terms[0].matchFields[0].values[0] : ''"
  - name: tolerations
    expression: "object.spec.?tolerations.orValue([])"
  - name: tolerated
    expression: "request.operation == 'UPDATE' ? oldObject.spec.?tolerations.orValue([]) : []"
  # Pools look up their taints in lists of text, which costs the API server little even for hundreds of tolerations.
  - name: keys
    expression: "variables.tolerations.map(t, has(t.key) ? t.key : '')"
  - name: keyless
    expression: "'' in variables.keys"
  - name: encoded
    expression: "{{ include "taintward.encoded" "variables.tolerations" }}"
  - name: oldEncoded
    expression: "{{ include "taintward.encoded" "variables.tolerated" }}"
  # Tolerations that the pod had before a change are not refused, unless the change lets the pod go where it could not go
  # before.
  - name: opened
    expression: "request.operation == 'UPDATE' && object.spec.?nodeName.orValue('') == '' && !has(object.metadata.deletionTimestamp) && (variables.tolerations != variables.tolerated || (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0))"
  - name: entered
    expression: "variables.pools.filter(p, p.spec.?enforcement.orValue('Deny') in ['Deny', 'Evict'] && !has(p.metadata.deletionTimestamp) && p.?status.?standing.orValue('Applied') != 'Refused' && (variables.named || (variables.keyless || p.spec.taint.key in variables.keys) && {{ include "taintward.bearsTaintsOf" "variables.encoded" }}) && (request.operation == 'CREATE' ? variables.destination == '' || variables.destination in p.?status.?nodeNames.orValue([]) : variables.opened || !({{ include "taintward.bearsTaintsOf" "variables.oldEncoded" }})))"
  - name: refused
    expression: "variables.entered.filter(p, !(has(p.spec.users.namespaceSelector) && p.spec.users.namespaceSelector.?matchLabels.orValue({}).all(k, k in variables.labels && variables.labels[k] == p.spec.users.namespaceSelector.matchLabels[k]) && p.spec.users.namespaceSelector.?matchExpressions.orValue([]).all(x, x.operator == 'In' ? x.key in variables.labels && variables.labels[x.key] in x.?values.orValue([]) : x.operator == 'NotIn' ? !(x.key in variables.labels && variables.labels[x.key] in x.?values.orValue([])) : x.operator == 'Exists' ? x.key in variables.labels : x.operator == 'DoesNotExist' && !(x.key in variables.labels)) || p.spec.users.?serviceAccounts.orValue([]).exists(a, a.namespace == request.namespace && a.name == variables.account) || variables.wasMadeFor.contains(p.metadata.uid) || variables.daemon && p.spec.?daemonSets.orValue('Deny') == 'Allow' || {{ include "taintward.byUserOf" $ }}))"
  # Only a user of the pool may set the annotation: later it admits the pod, whichever user changes the pod.
  - name: claimed
    expression: "variables.madeFor == '' ? [] : variables.pools.filter(p, variables.madeFor.contains(p.metadata.uid) && !variables.wasMadeFor.contains(p.metadata.uid) && !({{ include "taintward.byUserOf" $ }}))"
{{- end -}}
{{- define "taintward.poolValidations" }}
  - expression: "variables.claimed.size() == 0"
    messageExpression: "'the annotation taintward.io/made-for says that a user of pool ' + variables.claimed[0].metadata.name + ' created this pod, but no user of that pool did: remove the annotation'"
    reason: Forbidden
  - expression: "variables.refused.size() == 0"
    messageExpression: "'the nodes of pool ' + variables.refused[0].metadata.name + ' are not for this pod: ' + (variables.destination != '' ? 'it can go to node ' + variables.destination + ' only, which is one of them; let the scheduler choose' : 'its tolerations let it onto them; remove those for ' + variables.refused[0].spec.taint.key + ' and those without a key') + ', or add the pod to spec.users of the pool (kubectl get dedicatedpool ' + variables.refused[0].metadata.name + ' -o yaml shows the users)'"
    reason: Forbidden
{{- end -}}
