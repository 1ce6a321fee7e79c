{{/* Prepares the values. Every template begins with this definition, because Helm does not promise an order of templates.

     Values of an earlier version of this chart, which --reuse-values keeps, lack new values; they get the defaults. Values of
     other operators' charts move to the values of this chart that have the same meaning, as files/peer-values.yaml lists them;
     the others are removed. .Values._found contains lines for the notes (moved, ignored) and for errors (refused, unknown). */}}
{{- define "spark-operator.values" -}}
{{- if not (hasKey .Values "_found") -}}
{{- $state := dict "moved" list "ignored" list "refused" list "unknown" list "peer" false "lists" dict -}}
{{- $known := fromJson (.Files.Get "files/known-values.json") -}}
{{- $table := fromYaml (.Files.Get "files/peer-values.yaml") -}}
{{- include "spark-operator.values.fill" (dict "values" .Values "known" $known "new" false) -}}
{{- include "spark-operator.peer.gates" .Values.controller -}}
{{- $defaults := include "spark-operator.values.defaults" $known | fromJson -}}
{{- range $table.flat }}{{ if hasKey $.Values . }}{{ $_ := set $state "flat" true }}{{ end }}{{ end -}}
{{- range list "sparkJobNamespace" "sparkJobNamespaces" }}{{ if hasKey $.Values . }}{{ $_ := unset $state "flat" }}{{ end }}{{ end -}}
{{- range $depth := list 6 5 4 3 2 1 -}}
{{- range $entry := $table.values -}}
{{- $path := $entry.path | default (splitList "." $entry.key) -}}
{{- if and (eq (len $path) $depth) (hasKey $.Values (first $path)) -}}
{{- include "spark-operator.peer.entry" (dict "values" $.Values "entry" $entry "path" $path "defaults" $defaults.default "state" $state) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "spark-operator.peer.image" (dict "root" . "images" $table.images "known" $known.image "state" $state) -}}
{{- /* Chart 1.x has the webhook at port 8080, and metrics at another port. */ -}}
{{- if and $state.peer .Values.webhook.enable (eq (int .Values.webhook.port) (int .Values.prometheus.metrics.port)) -}}
{{- $_ := set $state "ignored" (append $state.ignored (printf "webhook.port: %d is prometheus.metrics.port; the chart uses 9443" (int .Values.webhook.port))) -}}
{{- $_ := set .Values.webhook "port" 9443 -}}
{{- end -}}
{{- include "spark-operator.unknown" (dict "values" .Values "known" $known "all" $known "path" "" "state" $state) -}}
{{- if eq (toString .Values.crds.apache.enable) "auto" -}}
{{- $apis := .Capabilities.APIVersions -}}
{{- $alone := and ($apis.Has "sparkoperator.k8s.io/v1beta2") (not ($apis.Has "spark.apache.org/v1")) -}}
{{- $_ := set .Values.crds.apache "enable" (not $alone) -}}
{{- if and $alone .Values.crds.install .Values.controller.apache.enable -}}
{{- $_ := set .Values.controller.apache "enable" false -}}
{{- $_ := set $state "alone" true -}}
{{- end -}}
{{- end -}}
{{- with .Values.policy -}}
{{- $_ := set $.Values.config "policy" (mergeOverwrite (deepCopy .) ($.Values.config.policy | default dict)) -}}
{{- end -}}
{{- $_ := set .Values "_found" $state -}}
{{- end -}}
{{- end -}}

{{/* Fills in missing values. A list or a map of the user's own, such as a security context, stays missing if its neighbours are
     there, because users remove it by setting it to null. So do the settings of Go's runtime, whose null has a meaning. In
     files/known-values.json, a value is a list of one element, its default. */}}
{{- define "spark-operator.values.fill" -}}
{{- range $key, $known := omit .known "go" -}}
{{- if kindIs "map" $known -}}
{{- $new := not (kindIs "map" (get $.values $key)) -}}
{{- if $new }}{{ $_ := set $.values $key dict }}{{ end -}}
{{- include "spark-operator.values.fill" (dict "values" (get $.values $key) "known" $known "new" (or $new $.new)) -}}
{{- else if and $known (not (hasKey $.values $key)) -}}
{{- $default := first $known -}}
{{- if kindIs "invalid" $default }}{{ $_ := set $.values $key nil }}
{{- else if or $.new (empty $default) (not (or (kindIs "map" $default) (kindIs "slice" $default))) }}{{ $_ := set $.values $key (deepCopy $default) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- /* A value of earlier versions. checks.yaml rejects it if it is on. */ -}}
{{- if and (hasKey .values "sharding") (not (.values.sharding).enable) }}{{ $_ := unset .values "sharding" }}{{ end -}}
{{- end -}}

{{/* The defaults of values in files/known-values.json, as JSON in the key "default". A value without a default is missing. */}}
{{- define "spark-operator.values.defaults" -}}
{{- $out := dict -}}
{{- if kindIs "map" . -}}
{{- $below := dict -}}
{{- range $key, $known := . }}{{ $_ := set $below $key (get (include "spark-operator.values.defaults" $known | fromJson) "default") }}{{ end -}}
{{- $_ := set $out "default" $below -}}
{{- else if . -}}
{{- $_ := set $out "default" (first .) -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* Replaces the default image of another operator's chart, and refuses any other image of these operators: they do not
     understand the arguments. */}}
{{- define "spark-operator.peer.image" -}}
{{- $image := .root.Values.image -}}
{{- $name := include "spark-operator.image.name" .root -}}
{{- $theirs := false -}}
{{- range .images.names }}{{ if regexMatch . (lower $name) }}{{ $theirs = true }}{{ end }}{{ end -}}
{{- $digest := index (.root.Chart.Annotations | default dict) "digest.sparkoperator.dev/spark-operator" -}}
{{- if and (regexMatch .images.shared (lower $name)) (or (eq (toString $image.tag) .root.Chart.AppVersion) (and $digest (eq $image.digest $digest))) }}{{ $theirs = false }}{{ end -}}
{{- range .images.tags }}{{ if regexMatch . (toString $image.tag) }}{{ $theirs = true }}{{ end }}{{ end -}}
{{- if and (eq $image.repository (first .known.repository)) (not $image.digest) (regexMatch .images.numbers (toString $image.tag)) -}}
{{- $_ := set .state "refused" (append .state.refused (printf "image.tag: %s is a tag of another operator's image, because tags of this operator begin with v; remove image.tag and image.registry, or set image.registry, image.repository and image.tag to a copy of this operator's image" $image.tag)) -}}
{{- else if $theirs -}}
{{- $own := printf "%s/%s" (first .known.registry) (first .known.repository) -}}
{{- $_ := set .state "peer" true -}}
{{- if or $image.tag $image.digest (not (has (lower $name) .images.defaults)) -}}
{{- $_ := set .state "refused" (append .state.refused (printf "image: %s is the image of another operator; set image.registry, image.repository and image.tag to this operator's image, %s:%s or your copy of it, or remove the value image" (include "spark-operator.image" .root) $own .root.Chart.AppVersion)) -}}
{{- else -}}
{{- $_ := set .state "ignored" (append .state.ignored (printf "image: %s is the image of another operator; the chart uses %s" $name $own)) -}}
{{- $_ := set $image "registry" (first .known.registry) -}}
{{- $_ := set $image "repository" (first .known.repository) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Replaces a list of feature gates by a map of those that are on. */}}
{{- define "spark-operator.peer.gates" -}}
{{- if kindIs "slice" .featureGates -}}
{{- $on := dict -}}
{{- range .featureGates }}{{ if .enabled }}{{ $_ := set $on .name true }}{{ end }}{{ end -}}
{{- if $on }}{{ $_ := set . "featureGates" $on }}{{ else }}{{ $_ := unset . "featureGates" }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Applies one entry of the table to the values, and removes the setting from them. */}}
{{- define "spark-operator.peer.entry" -}}
{{- $at := .values -}}
{{- $parents := list -}}
{{- $found := true -}}
{{- range $part := .path -}}
{{- if and $found (kindIs "map" $at) (hasKey $at $part) -}}
{{- $parents = prepend $parents (dict "in" $at "key" $part) -}}
{{- $at = get $at $part -}}
{{- else -}}
{{- $found = false -}}
{{- end -}}
{{- end -}}
{{- if $found -}}
{{- $entry := .entry -}}
{{- $state := .state -}}
{{- $_ := set $state "peer" true -}}
{{- $unset := or (kindIs "invalid" $at) (and (kindIs "map" $at) (empty $at)) -}}
{{- if and (not $unset) (not (include "spark-operator.peer.harmless" (dict "entry" $entry "at" $at))) -}}
{{- if $entry.to -}}
{{- if eq ($entry.as | default "") "list" }}{{ $at = list $at }}{{ end -}}
{{- $moved := include "spark-operator.peer.set" (dict "values" .values "defaults" .defaults "path" (splitList "." $entry.to) "value" $at "from" $entry.key "state" $state) -}}
{{- if and $moved $at -}}
{{- range $path, $value := $entry.sets | default dict -}}
{{- $_ := include "spark-operator.peer.set" (dict "values" $.values "defaults" $.defaults "path" (splitList "." $path) "value" $value "from" $entry.key "state" $state) -}}
{{- end -}}
{{- end -}}
{{- if $moved }}{{ $_ := set $state "moved" (append $state.moved (printf "%s: write %s" $entry.key $entry.to)) }}{{ end -}}
{{- else -}}
{{- $_ := set $state $entry.effect (append (get $state $entry.effect) (printf "%s: %s" $entry.key $entry.why)) -}}
{{- end -}}
{{- end -}}
{{- $empty := true -}}
{{- range $parents -}}
{{- if $empty -}}
{{- $_ := unset .in .key -}}
{{- $empty = empty .in -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if the setting of an entry loses no effect here, else empty. Of a map, only the keys that are set count. */}}
{{- define "spark-operator.peer.harmless" -}}
{{- if hasKey .entry "harmless" -}}
{{- $harmless := .entry.harmless -}}
{{- if and (kindIs "map" .at) (kindIs "map" $harmless) -}}
{{- $same := true -}}
{{- range $key, $value := .at }}{{ if ne (toString $value) (toString (get $harmless $key)) }}{{ $same = false }}{{ end }}{{ end -}}
{{- if $same }}true{{ end -}}
{{- else if eq (toString .at) (toString $harmless) -}}true
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Moves a value to a path. The result is empty if all of it has no effect, because the user has set other values there. */}}
{{- define "spark-operator.peer.set" -}}
{{- $at := .values -}}
{{- $defaults := .defaults -}}
{{- range $part := initial .path -}}
{{- if not (kindIs "map" (get $at $part)) }}{{ $_ := set $at $part dict }}{{ end -}}
{{- $at = get $at $part -}}
{{- $defaults = get $defaults $part -}}
{{- end -}}
{{- include "spark-operator.peer.put" (dict "at" $at "defaults" $defaults "key" (last .path) "value" .value "from" .from "to" (join "." .path) "state" .state) -}}
{{- end -}}

{{/* Sets the value of a key of a map. What differs from the default is the user's own, and stays. A map is merged under the map that
     is there, and lists of two moved values are joined. */}}
{{- define "spark-operator.peer.put" -}}
{{- $old := get .at .key -}}
{{- $default := get .defaults .key -}}
{{- if and (kindIs "map" .value) (kindIs "map" $old) -}}
{{- $below := ternary $default dict (kindIs "map" $default) -}}
{{- range $key, $value := .value -}}
{{- include "spark-operator.peer.put" (dict "at" $old "defaults" $below "key" $key "value" $value "from" (print $.from "." $key) "to" (print $.to "." $key) "state" $.state) -}}
{{- end -}}
{{- else if and (hasKey .state.lists .to) (kindIs "slice" $old) (kindIs "slice" .value) -}}
{{- $_ := set .at .key (concat $old .value | uniq) -}}
true
{{- else if or (kindIs "invalid" $old) (not (hasKey .at .key)) (has (toJson $old) (list (toJson $default) (toJson .value))) -}}
{{- $_ := set .at .key .value -}}
{{- if kindIs "slice" .value }}{{ $_ := set .state.lists .to true }}{{ end -}}
true
{{- else -}}
{{- $_ := set .state "ignored" (append .state.ignored (printf "%s: no effect, because %s is set" .from .to)) -}}
{{- end -}}
{{- end -}}

{{/* Records the values that the chart does not have. A misspelt name is an error, and so is a name that no chart has. A name that
     stands at the wrong place, or that only a file of another operator's chart contains, is recorded for the notes. */}}
{{- define "spark-operator.unknown" -}}
{{- range $key, $value := .values -}}
{{- $path := trimPrefix "." (print $.path "." $key) -}}
{{- if hasKey $.known $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $.known $key)) -}}
{{- include "spark-operator.unknown" (dict "values" $value "known" (get $.known $key) "all" $.all "path" $path "state" $.state) -}}
{{- end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $near := list -}}
{{- range $name, $_ := $.known }}{{ if include "spark-operator.near" (list $key $name) }}{{ $near = append $near (trimPrefix "." (print $.path "." $name)) }}{{ end }}{{ end -}}
{{- $places := list -}}
{{- if and $.path (hasKey $.all $key) }}{{ $places = append $places $key }}{{ end -}}
{{- range $parent := list "controller" "webhook" "spark" "prometheus" -}}
{{- if and (ne $parent $.path) (hasKey (get $.all $parent) $key) }}{{ $places = append $places (print $parent "." $key) }}{{ end -}}
{{- end -}}
{{- if $near -}}
{{- $_ := set $.state "unknown" (append $.state.unknown (printf "%s: did you mean %s?" $path (join " or " $near))) -}}
{{- else if $places -}}
{{- $_ := set $.state "ignored" (append $.state.ignored (printf "%s: write %s" $path (join " or " $places))) -}}
{{- else if $.state.peer -}}
{{- $_ := set $.state "ignored" (append $.state.ignored (printf "%s: the chart has no value of this name" $path)) -}}
{{- else -}}
{{- $_ := set $.state "unknown" (append $.state.unknown (printf "%s: the names here are %s" $path (join ", " (keys $.known | sortAlpha)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" if two names are equal but for upper case and one character, or two neighbouring ones, else empty. */}}
{{- define "spark-operator.near" -}}
{{- $shorter := list -}}
{{- range . -}}
{{- $name := lower . -}}
{{- $of := list $name -}}
{{- if gt (len $name) 3 -}}
{{- range $i := until (len $name) }}{{ $of = append $of (print (substr 0 $i $name) (substr (int (add $i 1)) (len $name) $name)) }}{{ end -}}
{{- end -}}
{{- $shorter = append $shorter $of -}}
{{- end -}}
{{- $both := false -}}
{{- range first $shorter }}{{ if has . (last $shorter) }}{{ $both = true }}{{ end }}{{ end -}}
{{- if $both }}true{{ end -}}
{{- end -}}
