#!/usr/bin/env bash
# Says what is missing, and what to do, where Go is absent or too old. A Go of 1.21 or newer fetches the release that go.mod asks for, unless it
# is told not to.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$(awk '$1 == "go" {print $2}' go.mod)
other="On a cluster of your own the operator needs no Go: see \"On a cluster of your own\" in README.md."
if ! command -v go >/dev/null; then
	echo "Go is not installed: install Go $wanted, or any from 1.21 on, which fetches that release by itself. $other" >&2
	exit 1
fi
if ! said=$(go env GOVERSION 2>&1); then
	echo "Go cannot be used here: $said" >&2
	echo "Install Go $wanted, or unset GOTOOLCHAIN so that yours fetches it. $other" >&2
	exit 1
fi
found=${said#go}
if [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) != "$wanted" ]]; then
	echo "Go $found is too old: install Go $wanted, or any from 1.21 on, which fetches that release by itself. $other" >&2
	exit 1
fi
