{{/* The name of the webhook's configuration and of its rights. It is not <fullname>-webhook: objects of that name belong to the
     kubeflow operator, whose webhook may have to run on while its drivers do (docs/migrate-kubeflow.md). */}}
{{- define "spark-operator.webhook.name" -}}
{{ include "spark-operator.fullname" . }}-admission
{{- end -}}

{{/* The Service through which the API server calls the webhook. */}}
{{- define "spark-operator.webhook.serviceName" -}}
{{ include "spark-operator.webhook.name" . }}-svc
{{- end -}}

{{/* The Secret with the webhook's certificate. */}}
{{- define "spark-operator.webhook.secretName" -}}
{{- .Values.webhook.certificate.secret | default (printf "%s-certs" (include "spark-operator.webhook.name" .)) -}}
{{- end -}}

{{/* "true" if the operator issues the certificate itself, else empty. */}}
{{- define "spark-operator.webhook.selfSigned" -}}
{{- if and .Values.webhook.enable (not .Values.certManager.enable) (not .Values.webhook.certificate.secret) -}}true{{- end -}}
{{- end -}}

{{/* "true" if the certificate is mounted, else empty. */}}
{{- define "spark-operator.webhook.mounted" -}}
{{- if and .Values.webhook.enable (not (include "spark-operator.webhook.selfSigned" .)) -}}true{{- end -}}
{{- end -}}

{{/* The directory of a mounted certificate. */}}
{{- define "spark-operator.webhook.certDir" -}}
/etc/spark-operator-webhook
{{- end -}}

{{/* "true" if executors' pods are changed by the webhook, else empty. Only SparkApplications of sparkoperator.k8s.io have
     settings that need it. */}}
{{- define "spark-operator.webhook.executors" -}}
{{- if and .Values.webhook.enable (.Values.webhook.executors).enable .Values.controller.sparkOperator.enable -}}true{{- end -}}
{{- end -}}

{{/* The version of the API of mutating policies if executors' pods are changed by a policy, else empty. */}}
{{- define "spark-operator.webhook.policyVersion" -}}
{{- if and (.Values.webhook.executors).enable .Values.controller.sparkOperator.enable -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}v1
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy" -}}v1beta1
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The webhook in the operator's configuration file, as YAML. */}}
{{- define "spark-operator.webhook.config" -}}
{{- if not .Values.webhook.enable -}}
bindAddress: "0"
executors:
  policy: {{ not (empty (include "spark-operator.webhook.policyVersion" .)) }}
pods:
  policy: {{ not (empty (include "spark-operator.pods.policies" .)) }}
{{- else -}}
bindAddress: ":{{ int .Values.webhook.port }}"
shutdownDelay: {{ .Values.webhook.shutdownDelay }}
executors:
  webhook: {{ not (empty (include "spark-operator.webhook.executors" .)) }}
  policy: {{ not (empty (include "spark-operator.webhook.policyVersion" .)) }}
pods:
  webhook: {{ not (empty (include "spark-operator.pods.webhook" .)) }}
  policy: {{ not (empty (include "spark-operator.pods.policies" .)) }}
{{- if include "spark-operator.webhook.mounted" . }}
certDir: {{ include "spark-operator.webhook.certDir" . }}
{{- else }}
selfSigned:
  secret: {{ include "spark-operator.webhook.secretName" . | quote }}
  configuration: {{ include "spark-operator.webhook.name" . }}
  service: {{ include "spark-operator.webhook.serviceName" . }}
  namespace: {{ .Release.Namespace | quote }}
  lifetime: {{ .Values.webhook.certificate.lifetime }}
{{- end }}
{{- if .Values.webhook.resourceQuotaEnforcement.enable }}
resourceQuotaEnforcement: {enabled: true}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The kinds that are served, as a JSON list of group, version, kind and resource. */}}
{{- define "spark-operator.webhook.kinds" -}}
{{- $controller := .Values.controller -}}
{{- $kinds := list -}}
{{- if $controller.sparkOperator.enable -}}
{{- $group := "sparkoperator.k8s.io" -}}
{{- $kinds = append $kinds (list $group "v1beta2" "sparkapplication") -}}
{{- if $controller.scheduledApplications.enable }}{{ $kinds = append $kinds (list $group "v1beta2" "scheduledsparkapplication") }}{{ end -}}
{{- if $controller.connect.enable }}{{ $kinds = append $kinds (list $group "v1alpha1" "sparkconnect") }}{{ end -}}
{{- end -}}
{{- if $controller.apache.enable -}}
{{- $group := "spark.apache.org" -}}
{{- $kinds = append $kinds (list $group "v1" "sparkapplication") -}}
{{- if $controller.apache.clusters.enable }}{{ $kinds = append $kinds (list $group "v1" "sparkcluster") }}{{ end -}}
{{- end -}}
{{- toJson $kinds -}}
{{- end -}}

{{/* The requirements of a selector in the syntax of kubectl's --selector, as a JSON list of matchExpressions. */}}
{{- define "spark-operator.webhook.requirements" -}}
{{- $found := list -}}
{{- range regexFindAll "[^,(]+(\\([^)]*\\))?" . -1 -}}
{{- $text := trim . -}}
{{- if hasPrefix "!" $text -}}
{{- $found = append $found (dict "key" (trim (trimPrefix "!" $text)) "operator" "DoesNotExist") -}}
{{- else if regexMatch "^\\S+\\s+(in|notin)\\s*\\(.*\\)$" $text -}}
{{- $values := list -}}
{{- range splitList "," (regexReplaceAll "^[^(]*\\((.*)\\)$" $text "${1}") }}{{ $values = append $values (trim .) }}{{ end -}}
{{- $operator := ternary "NotIn" "In" (regexMatch "^\\S+\\s+notin" $text) -}}
{{- $found = append $found (dict "key" (regexFind "^\\S+" $text) "operator" $operator "values" $values) -}}
{{- else if contains "=" $text -}}
{{- $operator := ternary "NotIn" "In" (contains "!=" $text) -}}
{{- $key := regexReplaceAll "^([^=!]*)[!=]=?.*$" $text "${1}" -}}
{{- $value := regexReplaceAll "^[^=!]*(!=|==|=)(.*)$" $text "${2}" -}}
{{- $found = append $found (dict "key" (trim $key) "operator" $operator "values" (list (trim $value))) -}}
{{- else if regexMatch "[<>]" $text -}}
{{- fail (printf "spark.jobNamespaceSelector: %q: the webhook cannot select namespaces by comparing numbers; select them by other labels, or set webhook.enable to false" $text) -}}
{{- else -}}
{{- $found = append $found (dict "key" $text "operator" "Exists") -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The selectors of the namespaces that reach the webhook, as a JSON object by name: {"": null} for all. Namespaces by name and
     namespaces by label need a webhook each, because a selector cannot express "or". With dynamic settings the served namespaces
     can change, so all reach the webhook, which admits those that are not served. */}}
{{- define "spark-operator.webhook.selectors" -}}
{{- $names := fromJsonArray (include "spark-operator.namedNamespaces" .) -}}
{{- $labels := include "spark-operator.namespaceSelector" . -}}
{{- $metadataName := "kubernetes.io/metadata.name" -}}
{{- $selectors := dict -}}
{{- if or (include "spark-operator.allNamespaces" .) .Values.controller.dynamicConfig.enable -}}
{{- $_ := set $selectors "" (dict) -}}
{{- else -}}
{{- if $names }}{{ $_ := set $selectors "" (dict "matchExpressions" (list (dict "key" $metadataName "operator" "In" "values" $names))) }}{{ end -}}
{{- if $labels -}}
{{- $requirements := fromJsonArray (include "spark-operator.webhook.requirements" $labels) -}}
{{- if $names }}{{ $requirements = append $requirements (dict "key" $metadataName "operator" "NotIn" "values" $names) }}{{ end -}}
{{- $_ := set $selectors "labels." (dict "matchExpressions" $requirements) -}}
{{- end -}}
{{- end -}}
{{- toJson $selectors -}}
{{- end -}}

{{/* How the API server calls the webhook at a path, and for which namespaces: the common part of all entries. */}}
{{- define "spark-operator.webhook.call" -}}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: {{ .failurePolicy }}
timeoutSeconds: {{ .root.Values.webhook.timeoutSeconds }}
clientConfig:
  service:
    name: {{ include "spark-operator.webhook.serviceName" .root }}
    namespace: {{ .root.Release.Namespace | quote }}
    port: {{ .root.Values.webhook.port }}
    path: /{{ .path }}
  {{- with .root.Values.webhook.certificate.caBundle }}
  caBundle: {{ b64enc . }}
  {{- end }}
{{- with .selector }}
namespaceSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
