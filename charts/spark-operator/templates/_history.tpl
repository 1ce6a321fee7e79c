{{/* The History Server (docs/history-server.md). */}}
{{- define "spark-operator.history.enabled" -}}
{{- if .Values.historyServer.enable -}}true{{- end -}}
{{- end -}}

{{- define "spark-operator.history.name" -}}
{{ include "spark-operator.fullname" . }}-history
{{- end -}}

{{- define "spark-operator.history.selectorLabels" -}}
{{ include "spark-operator.selectorLabels" . }}
app.kubernetes.io/component: history-server
{{- end -}}

{{- define "spark-operator.history.labels" -}}
{{ include "spark-operator.labels" . }}
app.kubernetes.io/component: history-server
{{- end -}}

{{- define "spark-operator.history.serviceAccountName" -}}
{{- $account := .Values.historyServer.serviceAccount -}}
{{- $account.name | default (ternary (include "spark-operator.history.name" .) "default" $account.create) -}}
{{- end -}}

{{/* The image: the given one, or that of the Spark line in defaults[].images, or Spark's own. */}}
{{- define "spark-operator.history.image" -}}
{{- $history := .Values.historyServer -}}
{{- $version := toString $history.sparkVersion -}}
{{- $image := print "docker.io/apache/spark:" $version -}}
{{- range .Values.defaults }}
{{- if not .namespaceSelector }}{{ $image = get (.images | default dict) (splitList "." $version | initial | join ".") | default $image }}{{ end -}}
{{- end -}}
{{- $history.image | default (replace "{{SPARK_VERSION}}" $version $image) -}}
{{- end -}}

{{/* The address for links: the given one, or that of the Ingress or the route. Empty if there is none. */}}
{{- define "spark-operator.history.url" -}}
{{- $history := .Values.historyServer -}}
{{- if $history.url -}}{{ $history.url }}
{{- else if $history.ingress.enable -}}{{ ternary "https" "http" (not (empty $history.ingress.tls)) }}://{{ $history.ingress.host }}
{{- else if and $history.route.enable $history.route.hostnames -}}https://{{ first $history.route.hostnames }}
{{- end -}}
{{- end -}}

{{/* The path of a log directory that is a volume; empty for an object store. */}}
{{- define "spark-operator.history.path" -}}
{{- $directory := .Values.historyServer.logDirectory -}}
{{- if regexMatch "^(file:)?/" $directory }}{{ print "/" (regexReplaceAll "^(file:)?/+" $directory "") }}{{ end -}}
{{- end -}}

{{/* The volume of the store. Helm merges the user's volume with the default emptyDir, and a volume has one type. */}}
{{- define "spark-operator.history.store" -}}
{{- $volume := .Values.historyServer.store.volume | default dict -}}
{{- if gt (len $volume) 1 }}{{ $volume = omit $volume "emptyDir" }}{{ end -}}
{{- toYaml ($volume | default (dict "emptyDir" dict)) -}}
{{- end -}}

{{/* A value as text. Helm reads numbers of values files as float64, so toString would write 1000000 as 1e+06. */}}
{{- define "spark-operator.history.text" -}}
{{ if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end -}}

{{/* The entry of `defaults` that switches event logs on, as JSON. Rolling logs are what the server can show while an application
     runs; Spark 4 has them by default. An id can be used again, by an application of spark.apache.org with the name of an earlier one.
     Without overwriting, its driver would fail. */}}
{{- define "spark-operator.history.default" -}}
{{- $history := .Values.historyServer -}}
{{- $conf := dict "spark.eventLog.rolling.enabled" "true" "spark.eventLog.overwrite" "true" -}}
{{- range $type, $options := $history.volume }}
{{- $prefix := print "spark.kubernetes.driver.volumes." $type ".spark-events." -}}
{{- $_ := set $conf (print $prefix "mount.path") (include "spark-operator.history.path" $) -}}
{{- range $option, $value := $options }}{{ $_ := set $conf (print $prefix "options." $option) (include "spark-operator.history.text" $value) }}{{ end -}}
{{- end -}}
{{- $entry := dict "name" "history-server" "eventLogDirectory" $history.logDirectory "sparkConf" (merge dict $history.sparkConf $conf) -}}
{{- with $history.namespaceSelector }}{{ $_ := set $entry "namespaceSelector" . }}{{ end -}}
{{- with include "spark-operator.history.url" . }}{{ $_ := set $entry "historyServer" . }}{{ end -}}
{{- toJson $entry -}}
{{- end -}}

{{/* The list of defaults, with the entry of the History Server in front, as JSON. */}}
{{- define "spark-operator.defaults" -}}
{{- $defaults := .Values.defaults | default list -}}
{{- if include "spark-operator.history.enabled" . }}{{ $defaults = prepend $defaults (include "spark-operator.history.default" . | fromJson) }}{{ end -}}
{{- toJson $defaults -}}
{{- end -}}

{{/* The server's properties file. The disk store and the small cache keep the heap independent of the size of the logs. */}}
{{- define "spark-operator.history.properties" -}}
{{- $history := .Values.historyServer -}}
{{- $properties := dict
  "spark.history.ui.port" "18080"
  "spark.history.fs.logDirectory" $history.logDirectory
  "spark.history.store.path" "/var/lib/spark-history"
  "spark.history.store.maxDiskUsage" $history.store.maxDiskUsage
  "spark.history.store.serializer" "PROTOBUF"
  "spark.history.store.hybridStore.diskBackend" "ROCKSDB"
  "spark.history.retainedApplications" "20"
  "spark.history.fs.cleaner.enabled" (toString $history.cleaner.enable)
  "spark.history.fs.cleaner.maxAge" $history.cleaner.maxAge
-}}
{{- range $key, $value := merge dict $history.properties $history.sparkConf $properties }}
{{ $key }}={{ include "spark-operator.property" (include "spark-operator.history.text" $value) }}
{{- end }}
{{- end -}}
