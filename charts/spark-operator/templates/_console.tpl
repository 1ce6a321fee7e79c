{{/* The web console (docs/console.md). Values of an earlier version, which --reuse-values keeps, have none. */}}
{{- define "spark-operator.console.enabled" -}}
{{- if (.Values.console | default dict).enable -}}true{{- end -}}
{{- end -}}

{{- define "spark-operator.console.name" -}}
{{ include "spark-operator.fullname" . }}-console
{{- end -}}

{{- define "spark-operator.console.selectorLabels" -}}
{{ include "spark-operator.selectorLabels" . }}
app.kubernetes.io/component: console
{{- end -}}

{{- define "spark-operator.console.labels" -}}
{{ include "spark-operator.labels" . }}
app.kubernetes.io/component: console
{{- end -}}

{{/* The image of sparkctl beside the operator's image, with the same tag. */}}
{{- define "spark-operator.sparkctl" -}}
{{- append (initial (splitList "/" (include "spark-operator.image.name" .))) "sparkctl" | join "/" }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ include "spark-operator.image.released" (dict "root" . "program" "sparkctl") }}
{{- end -}}

{{- define "spark-operator.console.image" -}}
{{- .Values.console.image | default (include "spark-operator.sparkctl" .) -}}
{{- end -}}

{{/* The console's configuration file. Without a proxy it has no credentials, so it is given the address of the API server. */}}
{{- define "spark-operator.console.config" -}}
{{- $console := .Values.console -}}
{{- $hosts := $console.hosts -}}
{{- if $console.ingress.enable }}{{ $hosts = append $hosts $console.ingress.host }}{{ end -}}
{{- if $console.route.enable }}{{ $hosts = concat $hosts $console.route.hostnames }}{{ end -}}
{{- $config := dict "cluster" $console.cluster "operator" "/etc/spark-operator/config.yaml" "hosts" (uniq $hosts) "namespaces" ($console.namespaces | default (fromJsonArray (include "spark-operator.namedNamespaces" .))) "sessions" $console.sessions -}}
{{- if $console.tls.secret }}{{ $_ := set $config "tls" (dict "certFile" "/etc/spark-console-tls/tls.crt" "keyFile" "/etc/spark-console-tls/tls.key") }}{{ end -}}
{{- if $console.proxy.enable -}}
{{- $proxy := pick $console.proxy "userHeader" "groupsHeader" "secretHeader" "from" "groups" -}}
{{- if $console.proxy.secret }}{{ $_ := set $proxy "secretFile" "/etc/spark-console-proxy/secret" }}{{ end -}}
{{- $_ := set $config "proxy" $proxy -}}
{{- else -}}
{{- $_ := merge $config (dict "server" "https://kubernetes.default.svc" "caFile" "/etc/spark-console-ca/ca.crt") -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
