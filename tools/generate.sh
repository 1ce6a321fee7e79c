#!/usr/bin/env bash
# Generates files from the types in api/: deep copies, custom resource definitions (config/crd and their copy in the
# chart), the reference of the APIs (docs/api-*.md) and client/. It also generates the Go code of the console's
# components (templ) from internal/console/view.
# tools/verify-generated.sh checks that the committed files are up to date.
#
#   tools/generate.sh [OUT]    OUT: the root to write below, instead of this repository's
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(mkdir -p "${1:-$root}" && cd "${1:-$root}" && pwd)
bin=$("$root/tools/generators.sh")
module=$(cd "$root" && go list -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

# The packages with types to copy, those of them with kinds, and those of these that have published clients.
mapfile -t types < <(grep -rl '^// +kubebuilder:object:generate=true' --include=doc.go api internal/engine/kueue | xargs -n 1 dirname | sort)
mapfile -t apis < <(find api -name register.go -printf '%h\n' | sort)
clients=()
for api in "${apis[@]}"; do
	if grep -qr '^// +genclient' "$api"; then clients+=("$api"); fi
done
if ((${#apis[@]} == 0)); then
	echo "generate: no register.go below api/" >&2
	exit 1
fi
touch "$work/header.txt"

echo "deep copies"
for api in "${types[@]}"; do
	mkdir -p "$out/$api"
	"$bin/controller-gen" object "paths=./$api" "output:object:dir=$out/$api"
done

echo "custom resource definitions"
mkdir -p "$work/crd" "$out/config/crd" "$out/charts/spark-operator/files/crds"
"$bin/controller-gen" crd:generateEmbeddedObjectMeta=true "${apis[@]/#/paths=./}" "output:crd:dir=$work/crd"
rm -f "$out"/config/crd/*.yaml "$out"/charts/spark-operator/files/crds/*.yaml
"$bin/crdfinish" "$out/config/crd" "$work"/crd/*.yaml
cp "$out"/config/crd/*.yaml "$out/charts/spark-operator/files/crds/"

echo "reference of the APIs"
mkdir -p "$out/docs"
for api in spark sparkoperator; do
	"$bin/crd-ref-docs" --source-path="api/$api" --config=tools/apidocs/config.yaml --renderer=markdown --max-depth=30 \
		--log-level=ERROR --output-path="$work/api.md" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
	# A title, shorter markers, and one text of the lines of a description.
	sed -E -e "1s/.*/# Types and defaults of $(sed -nE 's/^## ([a-z.0-9]+)\/.*/\1/p' "$work/api.md" | head -n 1)/" \
		-e '2s/.*/\n`tools\/generate.sh` writes this page from the types in `api\/`.\n[fields.md](fields.md) and [fields-apache.md](fields-apache.md) describe what fields set.\n/' \
		-e 's/(Optional|Required): \\\{\\\} <br \/>/\1/' -e 's/([^ ])<br \/>([^ ])/\1 \2/g' -e 's/ +$//' "$work/api.md" |
		cat -s | awk 'length <= 120 || /^\|/ { print; next } { fflush(); print | "fold -s -w 118"; close("fold -s -w 118") }' |
		sed -e 's/ *$//' -e '$ { /^$/d }' >"$out/docs/api-$api.md"
done

echo "clients"
inputs=("${clients[@]/#/$module/}")
applied=("${types[@]/#/$module/}")
common=(--go-header-file "$work/header.txt")
"$bin/applyconfiguration-gen" "${common[@]}" --output-dir "$work/client/applyconfiguration" --output-pkg "$module/client/applyconfiguration" "${applied[@]}"
"$bin/client-gen" "${common[@]}" --output-dir "$work/client/clientset" --output-pkg "$module/client/clientset" --clientset-name versioned \
	--input-base "$module/api" $(printf -- '--input %s ' "${clients[@]#api/}") --apply-configuration-package "$module/client/applyconfiguration"
"$bin/lister-gen" "${common[@]}" --output-dir "$work/client/listers" --output-pkg "$module/client/listers" "${inputs[@]}"
"$bin/informer-gen" "${common[@]}" --output-dir "$work/client/informers" --output-pkg "$module/client/informers" \
	--versioned-clientset-package "$module/client/clientset/versioned" --listers-package "$module/client/listers" "${inputs[@]}"
mkdir -p "$out/client"
for part in applyconfiguration clientset informers listers; do
	rm -rf "$out/client/$part"
	cp -r "$work/client/$part" "$out/client/$part"
done

echo "components"
view=internal/console/view
mkdir -p "$out/$view"
[[ $out == "$root" ]] || cp "$root/$view"/*.templ "$out/$view/"
(cd "$out" && "$bin/templ" generate -log-level error -path "$view")
