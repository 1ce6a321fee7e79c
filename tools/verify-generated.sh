#!/usr/bin/env bash
# Generates everything anew beside the repository and compares: what is committed must be what the types say, with nothing of an older
# generation left over. Changes nothing in the work tree.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$root/tools/generate.sh" "$fresh" >/dev/null

stale=0
for dir in config/crd charts/spark-operator/files/crds client/applyconfiguration client/clientset client/informers client/listers; do
	diff -ru "$root/$dir" "$fresh/$dir" || stale=1
done
while read -r file; do
	diff -u "$root/$file" "$fresh/$file" || stale=1
done < <({ cd "$root" && find api -name 'zz_generated*'; cd "$fresh" && find api -name 'zz_generated*'; } | sort -u)

if ((stale)); then
	echo "generated files are not what the types say: run 'make generate' and commit what it writes" >&2
	exit 1
fi
