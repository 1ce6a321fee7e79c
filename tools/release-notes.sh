#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md, for the notes of its release:
#
#   tools/release-notes.sh v1.2.3 [CHANGELOG]
#
# It fails if the changelog has no such section, or an empty one.
set -euo pipefail
version=${1#v}
changelog=${2:-$(dirname "${BASH_SOURCE[0]}")/../CHANGELOG.md}
notes=$(awk -v heading="## [$version]" '
	/^## / || /^\[[^]]*\]: / { inside = index($0, heading " ") == 1 || $0 == heading; next }
	inside' "$changelog")
if [[ -z ${notes//[[:space:]]/} ]]; then
	echo "$changelog has no section \"## [$version]\" with text: add it before you tag the release" >&2
	exit 1
fi
echo "$notes"
