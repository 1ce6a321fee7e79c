{{/* A text with expressions. The metrics with a configurable prefix get it (docs/metrics.md), and LEASE_NAME is replaced by the
     name of the lease. */}}
{{- define "spark-operator.metricNames" -}}
{{- $prefix := regexReplaceAll "[^a-zA-Z0-9_]" .root.Values.prometheus.metrics.prefix "_" -}}
{{- $text := .text | replace "LEASE_NAME" (include "spark-operator.controller.leaseName" .root) -}}
{{- regexReplaceAll "\\b(spark_(application|executor)_)" $text (printf "%s${1}" $prefix) -}}
{{- end -}}
