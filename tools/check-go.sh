#!/usr/bin/env bash
# Fails with a message that says what to do if Go is missing or too old. Go 1.21 or newer fetches the release that
# go.mod requires, unless GOTOOLCHAIN forbids it.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$(awk '$1 == "go" {print $2}' go.mod)
other="To run the operator on your own cluster you need no Go: see \"Run it for others\" in README.md."
if ! command -v go >/dev/null; then
	echo "Go is not installed. Install Go $wanted, or any version from 1.21 on, which fetches that release by itself. $other" >&2
	exit 1
fi
if ! output=$(go env GOVERSION 2>&1); then
	echo "Go does not work here: $output" >&2
	echo "Install Go $wanted, or unset GOTOOLCHAIN so that yours fetches it. $other" >&2
	exit 1
fi
found=${output#go}
if [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) != "$wanted" ]]; then
	echo "Go $found is too old. Install Go $wanted, or any version from 1.21 on, which fetches that release by itself. $other" >&2
	exit 1
fi
