{{/* The chart's name, cut to what a label holds. */}}
{{- define "spark-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of every object's name: the release's name alone when it already says what it is. 47 characters leave room for suffixes
     such as "-controller-lock" within a label's 63. */}}
{{- define "spark-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 47 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "spark-operator.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 47 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 47 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "spark-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "spark-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "spark-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "spark-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spark-operator.controller.name" -}}
{{ include "spark-operator.fullname" . }}-controller
{{- end -}}

{{- define "spark-operator.controller.labels" -}}
{{ include "spark-operator.labels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "spark-operator.controller.selectorLabels" -}}
{{ include "spark-operator.selectorLabels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "spark-operator.controller.serviceAccountName" -}}
{{- if .Values.controller.serviceAccount.create -}}
{{- default (include "spark-operator.controller.name" .) .Values.controller.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.controller.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The Leases by which replicas share the work: one of each shard, and one of each replica, of which there are no more than shards. */}}
{{- define "spark-operator.controller.shardLeaseNames" -}}
{{- $names := list -}}
{{- range $n := until (int .Values.controller.sharding.shards) -}}
{{- range $part := list "shard" "member" -}}
{{- $names = append $names (printf "%s-%s-%d" (include "spark-operator.controller.leaseName" $) $part $n) -}}
{{- end -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The Lease that replicas elect their leader by. */}}
{{- define "spark-operator.controller.leaseName" -}}
{{ include "spark-operator.controller.name" . }}-lock
{{- end -}}

{{- define "spark-operator.spark.name" -}}
{{ include "spark-operator.fullname" . }}-spark
{{- end -}}

{{- define "spark-operator.spark.serviceAccountName" -}}
{{- if .Values.spark.serviceAccount.create -}}
{{- default (include "spark-operator.spark.name" .) .Values.spark.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.spark.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* "true" where the values name the image of the kubeflow operator, as a copy of its chart's whole values does. */}}
{{- define "spark-operator.peerImage" -}}
{{- if eq (printf "%s/%s" .Values.image.registry .Values.image.repository) "ghcr.io/kubeflow/spark-operator/controller" -}}true{{- end -}}
{{- end -}}

{{- define "spark-operator.image" -}}
{{- if include "spark-operator.peerImage" . -}}
docker.io/sparkoperator/spark-operator:{{ .Chart.AppVersion }}
{{- else -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* "true" when the applications of every namespace are run, else empty. */}}
{{- define "spark-operator.allNamespaces" -}}
{{- if has "" (.Values.spark.jobNamespaces | default list) -}}true
{{- else if and (empty .Values.spark.jobNamespaces) (empty .Values.spark.jobNamespaceSelector) -}}true{{- end -}}
{{- end -}}

{{/* The labels by which namespaces are chosen; empty where they do not matter. */}}
{{- define "spark-operator.namespaceSelector" -}}
{{- if not (include "spark-operator.allNamespaces" .) -}}{{ .Values.spark.jobNamespaceSelector }}{{- end -}}
{{- end -}}

{{/* The namespaces that are named, once each, as a JSON list. */}}
{{- define "spark-operator.namedNamespaces" -}}
{{- without (.Values.spark.jobNamespaces | default list | uniq) "" | toJson -}}
{{- end -}}

{{/* The ConfigMap of dynamic settings that the chart makes or mounts. */}}
{{- define "spark-operator.dynamicName" -}}
{{ include "spark-operator.fullname" . }}-dynamic
{{- end -}}

{{/* The labels by which ConfigMaps of dynamic settings are found. */}}
{{- define "spark-operator.dynamicSelector" -}}
app.kubernetes.io/name={{ .Values.controller.apache.operatorName }},app.kubernetes.io/component=operator-dynamic-config-overrides
{{- end -}}

{{/* "true" when the controller's rights are those of a ClusterRole, else empty. */}}
{{- define "spark-operator.clusterWide" -}}
{{- if or (include "spark-operator.allNamespaces" .) (include "spark-operator.namespaceSelector" .) .Values.controller.dynamicConfig.enable -}}true{{- end -}}
{{- end -}}

{{/* All service accounts of drivers, as a JSON list. */}}
{{- define "spark-operator.spark.accounts" -}}
{{- concat (list (include "spark-operator.spark.serviceAccountName" .)) .Values.spark.serviceAccount.aliases | uniq | toJson -}}
{{- end -}}
