{{/* The chart's name, cut to the length of a label. */}}
{{- define "spark-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of every object's name. It is the release's name alone if that contains the chart's name. 47 characters leave
     room for suffixes such as "-controller-lock" within a label's 63. */}}
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
app.kubernetes.io/name: {{ include "spark-operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
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

{{/* The Lease with which replicas elect their leader. */}}
{{- define "spark-operator.controller.leaseName" -}}
{{ include "spark-operator.controller.name" . }}-lock
{{- end -}}

{{/* The default strategy of the controller's Deployment, as YAML. Without a lease, a rolling update would run two controllers. The
     API server refuses Recreate beside its defaults of a rolling update, and a server-side apply cannot remove these. So an
     installed rolling update only replaces its pod before it creates another. */}}
{{- define "spark-operator.controller.strategy" -}}
{{- if not .Values.controller.leaderElection.enable -}}
{{- $live := lookup "apps/v1" "Deployment" .Release.Namespace (include "spark-operator.controller.name" .) -}}
{{- if (($live.spec).strategy).rollingUpdate -}}
{type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
{{- else -}}
{type: Recreate}
{{- end -}}
{{- end -}}
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

{{/* The registry and the repository of the operator's image. A repository that begins with a host needs no registry. */}}
{{- define "spark-operator.image.name" -}}
{{- $image := .Values.image -}}
{{- $host := first (splitList "/" $image.repository) -}}
{{- $hasHost := and (contains "/" $image.repository) (or (eq $host "localhost") (regexMatch "[.:]" $host)) -}}
{{- if and $image.registry (not (and $hasHost (eq $image.registry "docker.io"))) }}{{ $image.registry }}/{{ end }}{{ $image.repository }}
{{- end -}}

{{/* The operator's image. With a digest, the tag is for people only. */}}
{{- define "spark-operator.image" -}}
{{- include "spark-operator.image.name" . }}{{ include "spark-operator.image.version" . -}}
{{- end -}}

{{/* The tag and the digest of the operator's image. A digest without a tag needs none. */}}
{{- define "spark-operator.image.version" -}}
{{- with .Values.image -}}
{{- if or .tag (not .digest) }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- with .digest }}@{{ . }}{{ else }}{{ include "spark-operator.image.released" (dict "root" $ "program" "spark-operator") }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The digest of a program's image of the same release, as @sha256:..., which the package of a release has in its annotations. It
     belongs to the default image only: a copy in another registry may have another digest. */}}
{{- define "spark-operator.image.released" -}}
{{- if and (not .root.Values.image.tag) (eq (include "spark-operator.image.name" .root) "docker.io/sparkoperator/spark-operator") -}}
{{- with index (.root.Chart.Annotations | default dict) (print "digest.sparkoperator.dev/" .program) }}@{{ . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* "true" if the applications of every namespace are served, else empty. */}}
{{- define "spark-operator.allNamespaces" -}}
{{- if has "" (.Values.spark.jobNamespaces | default list) -}}true
{{- else if and (empty .Values.spark.jobNamespaces) (empty .Values.spark.jobNamespaceSelector) -}}true{{- end -}}
{{- end -}}

{{/* The labels that select namespaces; empty if there are none, or if all namespaces are served anyway. */}}
{{- define "spark-operator.namespaceSelector" -}}
{{- if not (include "spark-operator.allNamespaces" .) -}}{{ .Values.spark.jobNamespaceSelector }}{{- end -}}
{{- end -}}

{{/* The namespaces that spark.jobNamespaces names, without duplicates, as a JSON list. */}}
{{- define "spark-operator.namedNamespaces" -}}
{{- without (.Values.spark.jobNamespaces | default list | uniq) "" | toJson -}}
{{- end -}}

{{/* Those of the named namespaces in which objects can be created, as a JSON list. Only an upgrade leaves out a namespace: one
     that was deleted, perhaps by its own administrator. The look-up of the release's namespace shows whether Helm has a
     connection to the cluster; `helm template` has none. */}}
{{- define "spark-operator.presentNamespaces" -}}
{{- $present := list -}}
{{- $looksUp := and .Release.IsUpgrade (dig "skipMissingNamespaces" true .Values.spark) (lookup "v1" "Namespace" "" .Release.Namespace) -}}
{{- range $name := fromJsonArray (include "spark-operator.namedNamespaces" .) -}}
{{- if not $looksUp -}}
{{- $present = append $present $name -}}
{{- else -}}
{{- with lookup "v1" "Namespace" "" $name -}}
{{- if not .metadata.deletionTimestamp }}{{ $present = append $present .metadata.name }}{{ end -}}
{{- else -}}
{{- if $.Values.namespaces.create }}{{ $present = append $present $name }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $present | toJson -}}
{{- end -}}

{{/* "true" if the operator reads the labels of all namespaces: they decide what is served, or which defaults
     and rules of the platform apply, and which logs are kept. */}}
{{- define "spark-operator.readsNamespaces" -}}
{{- $reads := include "spark-operator.namespaceSelector" . -}}
{{- range concat (include "spark-operator.defaults" . | fromJsonArray) .Values.logs }}{{ if .namespaceSelector }}{{ $reads = "true" }}{{ end }}{{ end -}}
{{- range ((.Values.config.policy | default dict).rules | default list) }}{{ if .selector }}{{ $reads = "true" }}{{ end }}{{ end -}}
{{- if $reads }}true{{ end -}}
{{- end -}}

{{/* The ConfigMap of dynamic settings that the chart creates or mounts. */}}
{{- define "spark-operator.dynamicName" -}}
{{ include "spark-operator.fullname" . }}-dynamic
{{- end -}}

{{/* The labels that select the ConfigMaps of dynamic settings. */}}
{{- define "spark-operator.dynamicSelector" -}}
app.kubernetes.io/name={{ .Values.controller.apache.operatorName }},app.kubernetes.io/component=operator-dynamic-config-overrides
{{- end -}}

{{/* The namespaces that the chart's dynamic settings name, as a JSON list: ["*"] for all, [] if they name none. A list with an
     invalid name counts as none, because the operator ignores it. */}}
{{- define "spark-operator.dynamicNamespaces" -}}
{{- $names := list -}}
{{- if and .Values.controller.dynamicConfig.enable .Values.controller.dynamicConfig.create -}}
{{- $valid := true -}}
{{- range splitList "," (get .Values.controller.dynamicConfig.data "spark.kubernetes.operator.watchedNamespaces" | toString) -}}
{{- $name := trim . -}}
{{- if and $name (not (has "*" $names)) -}}
{{- $names = append $names $name -}}
{{- if not (or (eq $name "*") (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" $name)) }}{{ $valid = false }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not $valid }}{{ $names = list }}{{ end -}}
{{- if has "*" $names }}{{ $names = list "*" }}{{ end -}}
{{- end -}}
{{ $names | uniq | toJson }}
{{- end -}}

{{/* "true" if the controller's rights are those of a ClusterRole, else empty. */}}
{{- define "spark-operator.clusterWide" -}}
{{- if or (include "spark-operator.allNamespaces" .) (include "spark-operator.namespaceSelector" .) .Values.controller.dynamicConfig.enable -}}true{{- end -}}
{{- end -}}

{{/* "true" if pods may run spark-submit, else empty. */}}
{{- define "spark-operator.submission.runners" -}}
{{- $submission := .Values.controller.submission -}}
{{- if or (eq $submission.mode "SparkSubmit") (and (eq $submission.mode "Auto") $submission.runners) -}}true{{- end -}}
{{- end -}}

{{/* "true" if the chart creates the service account of the pods that run spark-submit, else empty. */}}
{{- define "spark-operator.submission.creates" -}}
{{- $account := .Values.spark.submission.serviceAccount -}}
{{- if and $account.create .Values.spark.rbac.create (not (has $account.name (fromJsonArray (include "spark-operator.spark.accounts" .)))) (include "spark-operator.submission.runners" .) (gt (len (fromJsonArray (include "spark-operator.namedNamespaces" .))) 0) -}}true{{- end -}}
{{- end -}}

{{/* The service account of the pods that run spark-submit; empty if they use their drivers' accounts. */}}
{{- define "spark-operator.submission.serviceAccountName" -}}
{{- if include "spark-operator.submission.creates" . -}}
{{- default (printf "%s-submit" (include "spark-operator.fullname" .)) .Values.spark.submission.serviceAccount.name -}}
{{- else if include "spark-operator.submission.runners" . -}}
{{- .Values.spark.submission.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The namespaces of the sentinels that the operator writes to and that the chart creates, as a JSON list. */}}
{{- define "spark-operator.sentinelNamespaces" -}}
{{- $sentinels := .Values.controller.apache.sentinels -}}
{{- $names := fromJsonArray (include "spark-operator.namedNamespaces" .) -}}
{{- if $sentinels.namespaces -}}
{{- $sentinels.namespaces | uniq | toJson -}}
{{- else if $sentinels.namespace -}}
{{- list $sentinels.namespace | toJson -}}
{{- else if and $names (not (has .Release.Namespace $names)) (not (include "spark-operator.allNamespaces" .)) -}}
{{- list (first $names) | toJson -}}
{{- else -}}
{{- list .Release.Namespace | toJson -}}
{{- end -}}
{{- end -}}

{{/* "true" if Go profiles are served only inside the pod, else empty. */}}
{{- define "spark-operator.pprofInside" -}}
{{- if or (hasPrefix "127." .Values.controller.pprof.bindAddress) (has .Values.controller.pprof.bindAddress (list "localhost" "::1")) -}}true{{- end -}}
{{- end -}}

{{/* The bind address of Go profiles. */}}
{{- define "spark-operator.pprofAddress" -}}
{{- $host := .Values.controller.pprof.bindAddress -}}
{{- if contains ":" $host }}{{ $host = printf "[%s]" $host }}{{ end -}}
{{ $host }}:{{ int .Values.controller.pprof.port }}
{{- end -}}

{{/* GOMEMLIMIT in bytes: 90 % of the container's memory limit, so that Go collects garbage before the kernel kills the process.
     Empty if there is no limit, or if the limit is not a number with a suffix such as Mi. */}}
{{- define "spark-operator.memoryLimit" -}}
{{- $given := ((.Values.controller.resources).limits).memory | default "" -}}
{{- $limit := ternary (printf "%d" (int64 $given)) (toString $given) (or (kindIs "float64" $given) (kindIs "int64" $given) (kindIs "int" $given)) -}}
{{- with include "spark-operator.bytes" $limit | float64 }}{{ mulf . 0.9 | int64 }}{{ end -}}
{{- end -}}

{{/* The environment of Go's runtime in the controller, as a JSON list. Empty values are omitted, and so are variables that
     controller.env sets. */}}
{{- define "spark-operator.goEnv" -}}
{{- $given := list -}}
{{- range .Values.controller.env }}{{ $given = append $given .name }}{{ end -}}
{{- $go := .Values.controller.go | default dict -}}
{{- $env := list -}}
{{- range $variable := list
      (list "GOMAXPROCS" (toString ($go.maxProcs | default "")))
      (list "GOGC" (toString ($go.gcPercent | default "")))
      (list "HEAP_RESERVE_MIB" (ternary "" (toString $go.heapReserveMiB) (kindIs "invalid" $go.heapReserveMiB)))
      (list "GOMEMLIMIT" (include "spark-operator.memoryLimit" .)) -}}
{{- if and (last $variable) (not (has (first $variable) $given)) -}}
{{- $env = append $env (dict "name" (first $variable) "value" (last $variable)) -}}
{{- end -}}
{{- end -}}
{{ toJson $env }}
{{- end -}}

{{/* The annotations of drivers' accounts and rights, as YAML: those given, and that of Helm to keep the object. */}}
{{- define "spark-operator.spark.annotations" -}}
{{- $annotations := dict -}}
{{- if .root.Values.spark.serviceAccount.keep }}{{ $_ := set $annotations "helm.sh/resource-policy" "keep" }}{{ end -}}
{{- with merge $annotations .annotations }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* All service accounts of drivers, as a JSON list. */}}
{{- define "spark-operator.spark.accounts" -}}
{{- concat (list (include "spark-operator.spark.serviceAccountName" .)) .Values.spark.serviceAccount.aliases | uniq | toJson -}}
{{- end -}}

{{/* A text as the value of a properties file, which removes blanks at its beginning. */}}
{{- define "spark-operator.property" -}}
{{- $escaped := . | replace "\\" "\\\\" | replace "\n" "\\n" | replace "\r" "\\r" -}}
{{- regexReplaceAll "^([ \t\f])" $escaped "\\${1}" -}}
{{- end -}}
