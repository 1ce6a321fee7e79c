#!/usr/bin/env bash
# Makes, side by side, what the tests stand on and what is slow to make: the Kubernetes programs, the Spark image, the client of Spark Connect,
# Helm. Everything is kept by content under the user's cache directory, so that a second run takes seconds. Nothing needs it to have run: each part
# makes what it misses; this makes it at once.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# part NAME COMMAND... keeps the output, tells the seconds, and shows the end of the output when it fails.
part() {
	local name=$1 began=$SECONDS
	shift
	if "$@" >"$logs/$name" 2>&1; then
		echo "$name: $((SECONDS - began)) s"
	else
		echo "$name failed:"
		tail -n 40 "$logs/$name"
		return 1
	fi
}

# A control plane that is gone again: its programs are in the cache afterwards.
control_plane() {
	local failed=0
	bin/sparklocal up --control-plane-only --dir "$logs/cluster" || failed=1
	bin/sparklocal down --dir "$logs/cluster" || failed=1
	return "$failed"
}

part sparklocal go build -C local -trimpath -o ../bin/sparklocal ./cmd/sparklocal
jobs=()
part kubernetes control_plane & jobs+=($!)
# Without root there is no node, and nothing that would run the image.
if ((EUID == 0)); then
	part spark-image bin/sparklocal image spark --version 4.1.4 & jobs+=($!)
fi
part connect-client tools/connect-client.sh & jobs+=($!)
part helm go build -C test/e2e -trimpath -o ../../bin/helm helm.sh/helm/v4/cmd/helm & jobs+=($!)
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
exit "$failed"
