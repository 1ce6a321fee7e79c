{{/* These definitions reject settings of defaults, policy and logs with which the operator would not start, if the schema cannot
     express the rule. They render nothing. */}}
{{- define "spark-operator.checkDefaults" -}}
{{- $entries := fromJsonArray (include "spark-operator.defaults" .) -}}
{{- $first := ternary 1 0 (eq "true" (include "spark-operator.history.enabled" .)) -}}
{{- if gt (len (toJson $entries)) 65536 }}
{{- fail "defaults: the list has more than 65536 bytes, and the statuses of custom resources contain parts of it; shorten it" }}
{{- end }}
{{- $names := list -}}
{{- range $i, $entry := $entries }}
{{- $at := ternary "historyServer" (printf "defaults[%d]" (int (sub $i $first))) (lt $i $first) -}}
{{- if and $entry.name (has $entry.name $names) }}
{{- fail (printf "%s.name: %q names two entries; give each its own name" $at $entry.name) }}
{{- end }}
{{- $names = append $names $entry.name -}}
{{- $text := include "spark-operator.properties" ($entry.sparkDefaults | default "") | fromJson -}}
{{- if regexMatch `\\u` (regexReplaceAll `(?m)^[ \t\f]*[#!].*$|\\\\|\\u[0-9A-Fa-f]{4}` ($entry.sparkDefaults | default "") "") }}
{{- fail (printf `%s.sparkDefaults: \u is not followed by four hexadecimal digits; write \\u for a backslash` $at) }}
{{- end }}
{{- $conf := $entry.sparkConf | default dict -}}
{{- $all := merge dict $conf $text -}}
{{- range $key, $value := $all }}
{{- $source := ternary "sparkConf" "sparkDefaults" (hasKey $conf $key) -}}
{{- if regexMatch `(?i)^spark\.(master|submit\.deployMode|app\.(id|name)|kubernetes\.(namespace|authenticate\..*|driver\.(pod\.name|master)|executor\.podNamePrefix|(driver|executor)\.(container\.image|podTemplate(File|ContainerName))))$|\.label\.sparkoperator\.dev/` $key }}
{{- fail (printf "%s.%s: %s cannot have a default, because the operator or each application sets it; remove the key (docs/defaults.md)" $at $source $key) }}
{{- else if not (hasPrefix "spark." $key) }}
{{- fail (printf "%s.%s: Spark reads only keys that begin with \"spark.\"; remove %s" $at $source $key) }}
{{- else if and (hasKey $conf $key) (hasKey $text $key) (ne (get $text $key) (trim (get $conf $key))) }}
{{- fail (printf "%s.sparkConf: sparkDefaults sets %s to another value; remove one of the two" $at $key) }}
{{- end }}
{{- end }}
{{- range $field, $key := dict "eventLogDirectory" "spark.eventLog.dir" "images" "spark.kubernetes.container.image" "imagePullSecrets" "spark.kubernetes.container.image.pullSecrets" }}
{{- if and (get $entry $field) (hasKey $all $key) }}
{{- fail (printf "%s.%s: the entry also sets %s; remove one of the two" $at $field $key) }}
{{- end }}
{{- end }}
{{- if and $entry.eventLogDirectory (eq "false" (get $all "spark.eventLog.enabled" | toString | trim | lower)) }}
{{- fail (printf "%s.eventLogDirectory: the entry also sets spark.eventLog.enabled to false; remove one of the two" $at) }}
{{- end }}
{{- range $role := list "driver" "executor" }}
{{- $variables := list -}}
{{- range $j, $variable := dig $role "env" list $entry }}
{{- if has $variable.name $variables }}
{{- fail (printf "%s.%s.env[%d].name: %q is set twice; remove one of the two" $at $role $j $variable.name) }}
{{- end }}
{{- $variables = append $variables $variable.name -}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The keys and values of a spark-defaults.conf, as JSON, without those that contain escapes. */}}
{{- define "spark-operator.properties" -}}
{{- $found := dict -}}
{{- range $line := splitList "\n" (regexReplaceAll `\\\r?\n[ \t\f]*` . "") -}}
{{- $line = trim $line -}}
{{- if and $line (not (regexMatch `^[#!]|\\` $line)) -}}
{{- $key := regexFind `^[^ \t=:]+` $line -}}
{{- $_ := set $found $key (regexReplaceAll `^[ \t]*[=:]?[ \t]*` (trimPrefix $key $line) "") -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "spark-operator.checkPolicy" -}}
{{- $policy := .Values.config.policy | default dict -}}
{{- $all := $policy.rules | default list -}}
{{- $names := list -}}
{{- include "spark-operator.checkPatterns" (dict "at" "policy.rules" "value" $all) -}}
{{- range $i, $rules := $all }}
{{- $at := printf "policy.rules[%d]" $i -}}
{{- if has $rules.name $names }}
{{- fail (printf "%s.name: %q names two sets of rules; give each its own name" $at $rules.name) }}
{{- end }}
{{- $names = append $names $rules.name -}}
{{- range $rule := list "images" "serviceAccounts" }}
{{- with get $rules $rule }}{{ if not .allowed }}
{{- fail (printf "%s.%s.allowed is empty, so no pod could be created; list patterns, or remove %s to allow all" $at $rule $rule) }}
{{- end }}{{ end }}
{{- end }}
{{- range $name := list "cores" "memory" }}
{{- if regexMatch "^0+([.]0*)?([eE][-+]?[0-9]+|[A-Za-z]*)$" (get ($rules.limits | default dict) $name | toString) }}
{{- fail (printf "%s.limits.%s must be more than 0" $at $name) }}
{{- end }}
{{- end }}
{{- range $key, $_ := ($rules.sparkConf).required }}
{{- range $j, $other := $all }}
{{- range $denied := ($other.sparkConf).denied }}
{{- $expression := regexQuoteMeta $denied | replace `\*` ".*" | replace `\?` "." -}}
{{- if hasPrefix "regexp:" $denied }}{{ $expression = trimPrefix "regexp:" $denied }}{{ end -}}
{{- if and (or (not $other.selector) (not $rules.selector) (eq $other.selector $rules.selector)) (regexMatch (printf "(?s)^(?:%s)$" $expression) $key) }}
{{- fail (printf "%s.sparkConf.required: policy.rules[%d].sparkConf.denied denies the required key %s, so no application could run; change one of the two" $at $j $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $j, $text := (($rules.ingress).annotations).allowed }}
{{- if and (not $policy.allowSnippetAnnotations) (regexMatch `^([^*?]*(-snippets?|/(config-|mirror-)[^*?]*|/auth-(url|signin|external|proxy-set-headers|tls-match-cn)|/route-acl|/skipper-(filter|predicate|routes))|getambassador\.io/config)$` $text) }}
{{- fail (printf "%s.ingress.annotations.allowed[%d]: %s is a snippet annotation, which the policy denies; set policy.allowSnippetAnnotations to true, or remove the pattern" $at $j $text) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Rejects patterns that are invalid regular expressions, anywhere in a value. */}}
{{- define "spark-operator.checkPatterns" -}}
{{- $at := .at -}}
{{- if kindIs "map" .value -}}
{{- range $key, $value := .value }}{{ include "spark-operator.checkPatterns" (dict "at" (print $at "." $key) "value" $value) }}{{ end -}}
{{- else if kindIs "slice" .value -}}
{{- range $i, $value := .value }}{{ include "spark-operator.checkPatterns" (dict "at" (printf "%s[%d]" $at $i) "value" $value) }}{{ end -}}
{{- else if hasPrefix "regexp:" (toString .value) -}}
{{- if not (regexMatch (printf "(?s)(?:%s)|" (trimPrefix "regexp:" .value)) "") }}
{{- fail (printf "%s: %q is not a regular expression; correct it, or remove \"regexp:\" and write a pattern with * and ?" $at .value) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "spark-operator.checkLogs" -}}
{{- range $i, $entry := .Values.logs }}
{{- $at := printf "logs[%d]" $i -}}
{{- range $name := list "maxBytes" "executorMaxBytes" }}
{{- with get $entry $name }}{{ $bytes := float64 (include "spark-operator.bytes" .) }}{{ if or (lt $bytes 1024.0) (gt $bytes 67108864.0) }}
{{- fail (printf "%s.%s: %s is not a size from 1Ki to 64Mi" $at $name .) }}
{{- end }}{{ end }}
{{- end }}
{{- if not $entry.store }}
{{- range $name := list "retention" "streamInterval" }}
{{- if not (regexMatch "^(|0|0s)$" (get $entry $name | default "" | toString)) }}{{ fail (printf "%s.%s needs an object store; set store, or remove %s" $at $name $name) }}{{ end }}
{{- end }}
{{- if gt (int $entry.maxExecutors) 100 }}
{{- fail (printf "%s.maxExecutors: a ConfigMap has room for 100 executors; write a smaller number, or set store" $at) }}
{{- end }}
{{- end }}
{{- range $name, $range := dict "wait" (list 0 60 "0s to 1m") "streamInterval" (list 5 300 "5s to 5m") "retention" (list 3600 10000000000 "1h upwards") }}
{{- with get $entry $name }}
{{- $start := toDate "2006" "2000" -}}
{{- $seconds := sub (dateModify . $start | unixEpoch | int64) (unixEpoch $start | int64) -}}
{{- if and (eq $name "streamInterval") (eq $seconds 0) }}{{/* it is off */}}{{ else if or (lt $seconds (int64 (index $range 0))) (gt $seconds (int64 (index $range 1))) }}
{{- fail (printf "%s.%s: %s is not a time from %s" $at $name . (index $range 2)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A quantity as a number of bytes: a number with a suffix such as Mi. Any other text is 0. */}}
{{- define "spark-operator.bytes" -}}
{{- $factors := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $bytes := 0.0 -}}
{{- if regexMatch "^[0-9]+([.][0-9]*)?([kMGT]|[KMGT]i|[eE][+-]?[0-9]{1,2})?$" . -}}
{{- $number := regexFind "^[0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?" . -}}
{{- $bytes = mulf (float64 $number) (get $factors (trimPrefix $number .)) -}}
{{- end -}}
{{- printf "%f" $bytes -}}
{{- end -}}
