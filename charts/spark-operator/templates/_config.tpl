{{/* The operator's configuration file (docs/configuration.md): the settings of the other values, with the value "config"
     merged over them. */}}
{{- define "spark-operator.config" -}}
{{- $controller := .Values.controller -}}
{{- $namespaces := dict -}}
{{- if not (include "spark-operator.allNamespaces" .) -}}
{{- $namespaces = dict "names" (fromJsonArray (include "spark-operator.namedNamespaces" .)) -}}
{{- with include "spark-operator.namespaceSelector" . -}}
{{- $_ := set $namespaces "selector" . -}}
{{- end -}}
{{- end -}}
{{- $served := .Values.prometheus.metrics -}}
{{- $metrics := dict "bindAddress" (ternary (printf ":%d" (int $served.port)) "0" $served.enable) -}}
{{- if $served.authentication }}{{ $_ := set $metrics "authentication" true }}{{ end -}}
{{- with $served.prefix }}{{ $_ := set $metrics "prefix" . }}{{ end -}}
{{- with $served.labels }}{{ $_ := set $metrics "labels" (splitList "," (nospace .)) }}{{ end -}}
{{- range $key := list "jobSubmitLatencyBuckets" "jobStartLatencyBuckets" }}
{{- with get $served $key }}
{{- $bounds := list -}}
{{- range splitList "," (nospace .) }}{{ $bounds = append $bounds (float64 .) }}{{ end -}}
{{- $_ := set $metrics $key $bounds -}}
{{- end -}}
{{- end -}}
{{- $inside := dict "enabled" $controller.uiIngress.enable -}}
{{- range $key, $value := dict "urlFormat" "urlFormat" "className" "ingressClassName" "annotations" "annotations" "tls" "tls" }}
{{- with get $controller.uiIngress $value }}{{ $_ := set $inside $key . }}{{ end -}}
{{- end -}}
{{- $route := dict "enabled" $controller.uiRoute.enable -}}
{{- range $key := list "urlFormat" "parentRefs" }}
{{- with get $controller.uiRoute $key }}{{ $_ := set $route $key . }}{{ end -}}
{{- end -}}
{{- $batch := dict "enabled" $controller.batchScheduler.enable -}}
{{- range $key := list "default" "kubeSchedulerNames" }}
{{- with get $controller.batchScheduler $key }}{{ $_ := set $batch $key . }}{{ end -}}
{{- end -}}
{{- $apache := $controller.apache -}}
{{- $sentinels := fromJsonArray (include "spark-operator.sentinelNamespaces" .) -}}
{{- $apacheConfig := dict
  "enabled" $apache.enable
  "clusters" (dict "enabled" $apache.clusters.enable)
  "operatorName" $apache.operatorName
  "labelSelector" $apache.labelSelector
  "trimHistory" $apache.trimHistory
  "metrics" (dict "bindAddress" (ternary (printf ":%d" (int $apache.metrics.port)) "0" $apache.metrics.enable))
  "health" (dict "bindAddress" (ternary (printf ":%d" (int $apache.health.port)) "0" $apache.health.enable))
  "sentinels" (dict "enabled" $apache.sentinels.enable "delay" $apache.sentinels.delay "namespace" (first $sentinels))
-}}
{{- if gt (len $sentinels) 1 }}{{ $_ := set $apacheConfig.sentinels "namespaces" $sentinels }}{{ $_ := unset $apacheConfig.sentinels "namespace" }}{{ end -}}
{{- with $apache.events }}{{/* values of an earlier version have none */}}
{{- $events := dict "enabled" .enable "minInterval" .minInterval }}
{{- with .excludedReasons }}{{ $_ := set $events "excludedReasons" . }}{{ end }}
{{- $_ := set $apacheConfig "events" $events }}
{{- end -}}
{{- if $apache.properties }}{{ $_ := set $apacheConfig "propertiesFile" "/etc/spark-operator/spark-operator.properties" }}{{ end -}}
{{- $dynamic := dict "enabled" $controller.dynamicConfig.enable -}}
{{- if $controller.dynamicConfig.enable -}}
{{- $_ := set $dynamic "source" $controller.dynamicConfig.source -}}
{{- $_ := set $dynamic "namespace" .Release.Namespace -}}
{{- $_ := set $dynamic "selector" (include "spark-operator.dynamicSelector" .) -}}
{{- $_ := set $dynamic "file" "/etc/spark-operator-dynamic/spark-operator-dynamic.properties" -}}
{{- $_ := set $dynamic "reloadInterval" $controller.dynamicConfig.reloadInterval -}}
{{- end -}}
{{- $submission := dict "mode" $controller.submission.mode "runners" (eq (include "spark-operator.submission.runners" .) "true") -}}
{{- with include "spark-operator.submission.serviceAccountName" . }}{{ $_ := set $submission "serviceAccount" . }}{{ end -}}
{{- $derived := dict
  "namespaces" $namespaces
  "identity" (dict "namespace" .Release.Namespace "serviceAccount" (include "spark-operator.controller.serviceAccountName" .))
  "leaderElection" (dict
    "enabled" $controller.leaderElection.enable
    "leaseName" (include "spark-operator.controller.leaseName" .)
    "namespace" .Release.Namespace
    "leaseDuration" $controller.leaderElection.leaseDuration
    "renewDeadline" $controller.leaderElection.renewDeadline
    "retryPeriod" $controller.leaderElection.retryPeriod)
  "metrics" $metrics
  "health" (dict "bindAddress" ":8081")
  "pprof" (dict "bindAddress" (ternary (include "spark-operator.pprofAddress" .) "0" $controller.pprof.enable))
  "logging" (dict "level" $controller.logLevel "format" (get (dict "json" "json" "console" "text") $controller.logEncoder))
  "controller" (dict "workers" (int $controller.workers))
  "submission" $submission
  "exposure" (dict "enabled" $controller.exposure.enable)
  "ui" (dict "service" $controller.uiService.enable "ingress" $inside "route" $route)
  "scheduledApplications" (dict
    "enabled" $controller.scheduledApplications.enable
    "timestampPrecision" $controller.scheduledSparkApplicationTimestampPrecision)
  "connect" (dict "enabled" $controller.connect.enable)
  "sparkOperator" (dict "enabled" $controller.sparkOperator.enable)
  "apache" $apacheConfig
  "dynamicConfig" $dynamic
  "webhook" (fromYaml (include "spark-operator.webhook.config" .))
  "batchScheduler" $batch
  "kueue" (dict "enabled" $controller.kueue.enable)
  "application" (dict
    "maxTrackedExecutorPerApp" (int $controller.maxTrackedExecutorPerApp)
    "defaultTimeToLiveSeconds" (int64 $controller.defaultTimeToLiveSeconds)
    "driverPodCreationGracePeriod" $controller.driverPodCreationGracePeriod
    "statefulSets" (and .Values.spark.rbac.create .Values.spark.rbac.statefulSets)
    "timeouts" (dict
      "driverStartSeconds" (int64 $controller.timeouts.driverStartSeconds)
      "driverReadySeconds" (int64 $controller.timeouts.driverReadySeconds)
      "executorsStartSeconds" (int64 $controller.timeouts.executorsStartSeconds)
      "runSeconds" (int64 $controller.timeouts.runSeconds)))
-}}
{{- with include "spark-operator.defaults" . | fromJsonArray }}{{ $_ := set $derived "defaults" . }}{{ end }}
{{- with .Values.logs }}{{ $_ := set $derived "logs" . }}{{ end }}
apiVersion: config.sparkoperator.dev/v1alpha1
kind: Configuration
{{ toYaml (mergeOverwrite $derived (deepCopy .Values.config)) }}
{{- end -}}
