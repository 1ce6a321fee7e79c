#!/usr/bin/env bash
# Runs the linters of .golangci.yml over every module, tools/prose.sh over the prose, and tools/vuln.sh over the
# programs. Arguments name the modules to lint instead:
#
#   tools/lint.sh [--fix] [DIR...]
#
# golangci-lint is built from tools/lint and kept by content under the user's cache directory. tools/lint is a module of
# its own because it needs more modules than the rest of the repository together. Nothing but Go modules is fetched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The flags of the other builds, so that Kubernetes is not compiled a second time for the linter.
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
failed=()
if ((${#modules[@]} == 0)); then
	"$root/tools/prose.sh" || failed+=(prose)
	"$root/tools/vuln.sh" || failed+=(vulnerabilities)
	mapfile -t modules < <(cd "$root" && git ls-files --cached --others --exclude-standard 'go.mod' '*/go.mod' | xargs -n1 dirname | sort)
fi
for module in "${modules[@]}"; do
	# These modules only pin programs; they have no code.
	case $module in tools/ci | tools/lint | tools/prose | tools/s3 | tools/gcs | tools/krew | tools/metrics) continue ;; esac
	echo "== $module" >&2
	(cd "$root/$module" && "$binary" run --config "$root/.golangci.yml" ${options[@]+"${options[@]}"} ./...) || failed+=("$module")
done
if ((${#failed[@]})); then
	echo "findings in: ${failed[*]}" >&2
	exit 1
fi
