#!/usr/bin/env bash
# Runs the linters of .golangci.yml over every module, or over the ones that are named:
#
#   tools/lint.sh [--fix] [DIR...]
#
# The linter is built from tools/lint (a module of its own: it needs more modules than the rest of the repository together) and kept by
# content under the user's cache directory. Nothing but Go modules is fetched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# As the programs are built, so that what the linter loads of Kubernetes is not compiled a second time.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal
binary=$cache/lint/golangci-lint-$(cat "$root"/tools/lint/go.{mod,sum} <(cd "$root/tools/lint" && go env GOVERSION) | sha256sum | cut -c1-16)

if [[ ! -x $binary ]]; then
	echo "building golangci-lint, once" >&2
	mkdir -p "${binary%/*}"
	CGO_ENABLED=0 go build -C "$root/tools/lint" -trimpath -ldflags='-s -w' -o "$binary.$$" tool
	mv "$binary.$$" "$binary"
fi

options=()
while [[ ${1:-} == -* ]]; do options+=("$1") && shift; done
modules=("$@")
if ((${#modules[@]} == 0)); then
	mapfile -t modules < <(cd "$root" && git ls-files --cached --others --exclude-standard 'go.mod' '*/go.mod' | xargs -n1 dirname | sort)
fi
failed=()
for module in "${modules[@]}"; do
	# The module of the linter has no code.
	[[ $module == tools/lint ]] && continue
	echo "== $module" >&2
	(cd "$root/$module" && "$binary" run --config "$root/.golangci.yml" ${options[@]+"${options[@]}"} ./...) || failed+=("$module")
done
if ((${#failed[@]})); then
	echo "findings in: ${failed[*]}" >&2
	exit 1
fi
