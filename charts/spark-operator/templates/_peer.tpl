{{/* The values of other operators' charts that are set and have this effect ("ignored" or "refused"), one per line with the reason. */}}
{{- define "spark-operator.unserved" -}}
{{- $values := .values -}}
{{- $effect := .effect -}}
{{- range fromYamlArray .table -}}
{{- if eq .effect $effect -}}
{{- $at := $values -}}
{{- $found := true -}}
{{- range $part := splitList "." .key -}}
{{- if and $found (kindIs "map" $at) (hasKey $at $part) -}}
{{- $at = get $at $part -}}
{{- else -}}
{{- $found = false -}}
{{- end -}}
{{- end -}}
{{- $harmless := and (hasKey . "harmless") (eq (toString $at) (toString .harmless)) -}}
{{- if and $found (not $harmless) (not (kindIs "invalid" $at)) }}
  {{ .key }}: {{ .why }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
