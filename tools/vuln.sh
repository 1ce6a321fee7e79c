#!/usr/bin/env bash
# Looks up the published vulnerabilities of programs with govulncheck. It fails if a program contains vulnerable code:
#
#   tools/vuln.sh [BINARY...]
#
# Without arguments, the programs are the operator and sparkctl. GOVULNDB chooses the database, by default Go's own. If
# it cannot be reached, the script says so and succeeds, so that the linters work without a network; with
# VULN_REQUIRED=1 it fails. GOVULNDB=file:///DIR reads a recorded copy: unpack the database's vulndb.zip into DIR
# (https://go.dev/doc/security/vuln/database).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
database=(${GOVULNDB:+-db "$GOVULNDB"})

go build -C "$root/tools" -o "$work/govulncheck" golang.org/x/vuln/cmd/govulncheck
if ! "$work/govulncheck" "${database[@]}" -version 2>&1 | grep '^DB updated: '; then
	echo "vulnerabilities: not checked, because the database cannot be reached; set GOVULNDB=file:///DIR to a recorded copy" >&2
	exit "${VULN_REQUIRED:-0}"
fi

programs=("$@")
if ((${#programs[@]} == 0)); then
	go build -C "$root" -o "$work/" ./cmd/spark-operator ./cmd/sparkctl
	programs=("$work/spark-operator" "$work/sparkctl")
fi
vulnerable=()
for program in "${programs[@]}"; do
	"$work/govulncheck" "${database[@]}" -mode=binary "$program" || vulnerable+=("${program##*/}")
done
if ((${#vulnerable[@]})); then
	echo "vulnerable, or not checked: ${vulnerable[*]}; update the modules that are named above" >&2
	exit 1
fi
