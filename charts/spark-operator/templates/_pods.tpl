{{/* The sets of rules in config.policy that judge pods, as a JSON list. Each set has its index, selector, podSecurity and lists of
     patterns; the presets of its level are filled in, as internal/settings/policy does. */}}
{{- define "spark-operator.pods.sets" -}}
{{- $policy := .Values.config.policy | default dict -}}
{{- $sets := list -}}
{{- range $index, $rules := $policy.rules -}}
{{- $level := $rules.level | default "open" -}}
{{- $set := dict "index" $index "selector" ($rules.selector | default "") -}}
{{- $_ := set $set "source" (printf "%s%s" $rules.name (ternary (printf " (owner: %s)" ($rules.owner | default $policy.owner)) "" (not (empty ($rules.owner | default $policy.owner))))) -}}
{{- $lists := dict -}}
{{- range $rule := list "images" "serviceAccounts" "nodeSelectors" "tolerations" "priorityClasses" "runtimeClasses" "schedulers" -}}
{{- $allowed := get $rules $rule -}}
{{- if kindIs "map" $allowed }}{{ $_ := set $lists $rule ($allowed.allowed | default list) }}
{{- else if and (eq $level "restricted") (has $rule (list "tolerations" "priorityClasses")) }}{{ $_ := set $lists $rule list }}{{ end -}}
{{- end -}}
{{- if ne ($rules.podSecurity | default (ternary "off" $level (eq $level "open"))) "off" }}{{ $_ := set $lists "podSecurity" list }}{{ end -}}
{{- $_ := set $set "lists" $lists -}}
{{- if or $lists ($rules.limits).cores ($rules.limits).memory ($rules.limits).hard }}{{ $sets = append $sets $set }}{{ end -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{/* "true" if pods are sent to the webhook, else empty. */}}
{{- define "spark-operator.pods.webhook" -}}
{{- if and .Values.webhook.enable (.Values.webhook.pods).enable (fromJsonArray (include "spark-operator.pods.sets" .)) -}}true{{- end -}}
{{- end -}}

{{/* "true" if policies judge pods, else empty. Dynamic settings may replace the rules, so that only the webhook knows them. */}}
{{- define "spark-operator.pods.policies" -}}
{{- if and (.Values.webhook.pods).enable (not .Values.controller.dynamicConfig.enable) (fromJsonArray (include "spark-operator.pods.sets" .)) (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy") -}}true{{- end -}}
{{- end -}}

{{/* The selectors of the served namespaces that the selector of a set of rules matches too, as spark-operator.webhook.selectors. */}}
{{- define "spark-operator.pods.selectors" -}}
{{- $root := .root -}}
{{- $out := dict -}}
{{- range $prefix, $selector := fromJson (include "spark-operator.webhook.selectors" .root) -}}
{{- $excluded := without (list "kube-system" $root.Release.Namespace) (ternary $root.Release.Namespace "" (has $root.Release.Namespace (fromJsonArray (include "spark-operator.namedNamespaces" $root)))) -}}
{{- $requirements := append ($selector.matchExpressions | default list) (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" $excluded) -}}
{{- with $.selector }}{{ $requirements = concat $requirements (fromJsonArray (include "spark-operator.webhook.requirements" .)) }}{{ end -}}
{{- $_ := set $out $prefix (dict "matchExpressions" $requirements) -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* The selectors of sets of rules whose namespaces send their pods to the webhook, as a JSON list. The empty text stands for all
     served namespaces, also if labels are compared as numbers, or if dynamic settings may replace the rules. */}}
{{- define "spark-operator.pods.setSelectors" -}}
{{- $selectors := list -}}
{{- range fromJsonArray (include "spark-operator.pods.sets" .) }}{{ $selectors = append $selectors .selector }}{{ end -}}
{{- if or (has "" $selectors) (regexMatch "[<>]" (join "" $selectors)) .Values.controller.dynamicConfig.enable }}{{ $selectors = list "" }}{{ end -}}
{{- uniq $selectors | toJson -}}
{{- end -}}

{{/* Which pods are judged: those that a service account of their namespace creates or changes, since a driver may have any of
     them, and those with a role in Spark, whoever creates them. Changes of metadata alone are never judged. */}}
{{- define "spark-operator.pods.conditions" -}}
{{- $exempt := list -}}
{{- range .Values.webhook.pods.exemptAccounts }}{{ $exempt = append $exempt (printf "system:serviceaccount:%s" (replace "/" ":" .)) }}{{ end -}}
- name: changes-the-spec
  expression: request.operation != "UPDATE" || object.spec != oldObject.spec
{{- if not .Values.webhook.pods.all }}
- name: of-spark
  expression: >-
    request.userInfo.username.startsWith("system:serviceaccount:" + request.namespace + ":") && !(request.userInfo.username in {{ toRawJson $exempt }})
    || [object, oldObject].exists(o, o != null && o.metadata.?labels.orValue({}).exists(k, k == "spark-role" || k.startsWith("sparkoperator.dev/")))
{{- end }}
{{- end -}}

{{/* A CEL literal of a regular expression that matches what one of the patterns of the list allows. */}}
{{- define "spark-operator.pods.expression" -}}
{{- $character := ternary "[^/]" "." (eq .rule "images") -}}
{{- $all := list -}}
{{- range .patterns -}}
{{- if hasPrefix "regexp:" . }}{{ $all = append $all (trimPrefix "regexp:" .) }}
{{- else }}{{ $all = append $all (regexQuoteMeta . | replace `\*\*` ".*" | replace `\*` (print $character "*") | replace `\?` $character) }}{{ end -}}
{{- end -}}
{{- if not $all }}{{ $all = list `[^\s\S]` }}{{ end -}}
{{- printf `(?s)\A(?:(?:%s))\z` (join ")|(?:" $all) | toRawJson -}}
{{- end -}}
