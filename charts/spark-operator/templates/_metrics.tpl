{{/* A text with expressions. The metrics with a configurable prefix get it (docs/metrics.md). LEASE_NAME is replaced by the name of
     the lease, HISTORY_NAMESPACE and HISTORY_NAME by those of the History Server. */}}
{{- define "spark-operator.metricNames" -}}
{{- $prefix := regexReplaceAll "[^a-zA-Z0-9_]" .root.Values.prometheus.metrics.prefix "_" -}}
{{- $text := .text | replace "LEASE_NAME" (include "spark-operator.controller.leaseName" .root) -}}
{{- $text = $text | replace "HISTORY_NAMESPACE" .root.Release.Namespace | replace "HISTORY_NAME" (include "spark-operator.history.name" .root) -}}
{{- regexReplaceAll "\\b(spark_(application|executor)_)" $text (printf "%s${1}" $prefix) -}}
{{- end -}}
