#!/usr/bin/env bash
# Builds the generators that tools/go.mod pins and prints their directory. They are built outside the work tree, which
# holds only sources, and again only if something changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal/generators/$(cat "$root"/tools/go.{mod,sum} "$root"/tools/crdfinish/*.go <(go env GOVERSION) | sha256sum | cut -c1-16)

if [[ ! -e $bin/complete ]]; then
	mkdir -p "$bin"
	go build -C "$root/tools" -trimpath -o "$bin/" tool ./crdfinish
	touch "$bin/complete"
fi
echo "$bin"
