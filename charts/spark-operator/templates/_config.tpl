{{/* The operator's configuration file: what the other values say, with the value "config" merged over it. */}}
{{- define "spark-operator.config" -}}
{{- $namespaces := fromJsonArray (include "spark-operator.namedNamespaces" .) -}}
{{- if include "spark-operator.allNamespaces" . -}}
{{- $namespaces = list -}}
{{- end -}}
{{- $election := .Values.controller.leaderElection -}}
{{- $derived := dict
  "apiVersion" "config.sparkoperator.dev/v1alpha1"
  "kind" "OperatorConfiguration"
  "namespaces" $namespaces
  "workers" (int .Values.controller.workers)
  "logging" (dict "level" .Values.controller.logLevel "encoder" .Values.controller.logEncoder)
  "health" (dict "bindAddress" ":8081")
  "metrics" (dict "bindAddress" (ternary (printf ":%d" (int .Values.prometheus.metrics.port)) "0" .Values.prometheus.metrics.enable))
  "leaderElection" (dict
    "enabled" $election.enable
    "namespace" .Release.Namespace
    "name" (include "spark-operator.controller.leaseName" .)
    "leaseDuration" $election.leaseDuration
    "renewDeadline" $election.renewDeadline
    "retryPeriod" $election.retryPeriod)
-}}
{{- toYaml (mergeOverwrite $derived (deepCopy .Values.config)) -}}
{{- end -}}
