#!/usr/bin/env bash
# Builds in parallel the slow prerequisites of the tests: the Kubernetes programs, the Spark image, the client of Spark
# Connect, Helm. Everything is kept by content under the user's cache directory, so that a second run takes seconds. The
# script is optional: each test builds what it misses. The script only builds everything at once.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# part NAME COMMAND... runs a command and prints the seconds that it took. If it fails, part prints the end of its
# output.
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

# control_plane starts and stops a control plane, so that its programs are in the cache.
control_plane() {
	local failed=0
	bin/sparklocal up --control-plane-only --dir "$logs/cluster" || failed=1
	bin/sparklocal down --dir "$logs/cluster" || failed=1
	return "$failed"
}

part sparklocal go build -C local -trimpath -o ../bin/sparklocal ./cmd/sparklocal
jobs=()
part kubernetes control_plane & jobs+=($!)
# Without root there is no node that could run the image.
if ((EUID == 0)); then
	part spark-image bin/sparklocal image spark --version 4.1.4 & jobs+=($!)
fi
part connect-client tools/connect-client.sh & jobs+=($!)
part helm go build -C test/e2e -trimpath -o ../../bin/helm helm.sh/helm/v4/cmd/helm & jobs+=($!)
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
exit "$failed"
