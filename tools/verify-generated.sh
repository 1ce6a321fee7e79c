#!/usr/bin/env bash
# Generates everything into a temporary directory and compares it with the repository. The committed files must match
# their sources, and no file of an older generation may remain. The script changes nothing in the work tree.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$root/tools/generate.sh" "$fresh" >/dev/null

stale=0
for dir in config/crd charts/spark-operator/files/crds client/applyconfiguration client/clientset client/informers client/listers; do
	diff -ru --exclude=crd.go --exclude=crd_test.go "$root/$dir" "$fresh/$dir" || stale=1
done
generated=(find api internal/console/view -name 'zz_generated*' -o -name '*_templ.go')
while read -r file; do
	diff -u "$root/$file" "$fresh/$file" || stale=1
done < <(printf 'docs/api-%s.md\n' spark sparkoperator
	{ cd "$root" && "${generated[@]}"; cd "$fresh" && "${generated[@]}"; } | sort -u)

if ((stale)); then
	echo "generated files do not match their sources: run 'make generate' and commit its output" >&2
	exit 1
fi
