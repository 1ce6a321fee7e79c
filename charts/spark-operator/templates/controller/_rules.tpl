{{/* The controller's rights in a namespace that it serves. It has only verbs that it uses.

     - finalizers: to set blockOwnerDeletion on clusters with the admission plugin OwnerReferencesPermissionEnforcement.
     - events: read to find why a pod does not start.
     - ResourceQuotas: cached for the webhook, only with webhook.resourceQuotaEnforcement.
     - access reviews: to find whether a driver lacks a right.
     - metrics of pods: only with usage.samples.
     - logs of pods, and updates of ConfigMaps: only if logs are kept, and if some of them are kept in ConfigMaps.
     - pods: also created in dry runs, to find why a driver gets no executors.
     - service accounts: read one at a time, to find whether the token of such a driver is void.
     - Services, and Ingresses and routes if they are switched on: patched when their options change.
     - Services, NetworkPolicies and budgets: patched when somebody else has edited them.
     - custom resources of spark.apache.org: patched to remove the finalizers of its other operator.
     - objects of a standalone cluster: patched when its spec changes.
     - Kueue's Workloads: the requests for quota, only with kueue.enable.
     - Secrets: created for the pods that run spark-submit, and for standalone clusters whose configuration has secrets;
       deleted by their labels, and never read (docs/decisions/0005). */}}
{{- define "spark-operator.controller.rules" -}}
{{- if .Values.controller.sparkOperator.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications]
  verbs: [get, list, watch, {{ if .Values.controller.scheduledApplications.enable }}create, {{ end }}delete]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications/finalizers]
  verbs: [update]
{{- if .Values.controller.scheduledApplications.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications]
  verbs: [get, list, watch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [scheduledsparkapplications/finalizers]
  verbs: [update]
{{- end }}
{{- if .Values.controller.connect.enable }}
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects]
  verbs: [get, list, watch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects/status]
  verbs: [patch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkconnects/finalizers]
  verbs: [update]
{{- end }}
{{- end }}
{{- if .Values.controller.apache.enable }}
- apiGroups: [spark.apache.org]
  resources: [sparkapplications]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/status]
  verbs: [patch]
- apiGroups: [spark.apache.org]
  resources: [sparkapplications/finalizers]
  verbs: [update]
{{- if .Values.controller.apache.clusters.enable }}
- apiGroups: [spark.apache.org]
  resources: [sparkclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [spark.apache.org]
  resources: [sparkclusters/status]
  verbs: [patch]
- apiGroups: [spark.apache.org]
  resources: [sparkclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [patch]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [get, list, watch, create, delete]
{{- if ((.Values.config).usage).samples }}
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [list]
{{- end }}
{{- if .Values.logs }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- range .Values.logs }}{{ if not .store }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [update]
{{- break }}{{ end }}{{ end }}
{{- end }}
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
{{- $listed := and .Values.controller.exposure.enable .Values.controller.apache.enable }}
{{- if or .Values.controller.uiIngress.enable $listed }}
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if or .Values.controller.uiRoute.enable $listed }}
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes{{ if $listed }}, grpcroutes{{ end }}]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if ne .Values.controller.submission.mode "Native" }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, deletecollection]
{{- end }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
{{- if .Values.controller.batchScheduler.enable }}
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [get, list, watch, create, delete]
{{- if .Values.controller.batchScheduler.kubeSchedulerNames }}
- apiGroups: [scheduling.x-k8s.io]
  resources: [podgroups]
  verbs: [get, list, watch, create, delete]
{{- end }}
{{- end }}
{{- if .Values.controller.kueue.enable }}
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
{{- if and .Values.webhook.enable .Values.webhook.resourceQuotaEnforcement.enable }}
- apiGroups: [""]
  resources: [resourcequotas]
  verbs: [list, watch]
{{- end }}
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get]
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews]
  verbs: [create]
{{- end -}}

{{/* A Role in a namespace and its RoleBinding for an account, by default the controller's; without a namespace, a ClusterRole and
     its ClusterRoleBinding. */}}
{{- define "spark-operator.controller.grant" -}}
{{- $kind := ternary "Role" "ClusterRole" (not (empty .namespace)) }}
{{- $account := .account | default (dict "name" (include "spark-operator.controller.serviceAccountName" .root) "namespace" .root.Release.Namespace) }}
{{- range $suffix := list "" "Binding" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}{{ $suffix }}
metadata:
  name: {{ $.name }}
  {{- with $.namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "spark-operator.controller.labels" $.root | nindent 4 }}
    {{- with $.root.Values.controller.rbac.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $.root.Values.controller.rbac.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if $suffix }}
subjects:
  - kind: ServiceAccount
    name: {{ $account.name | quote }}
    namespace: {{ $account.namespace | quote }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $.name }}
{{- else }}
rules:
  {{- $.rules | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
