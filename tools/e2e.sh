#!/usr/bin/env bash
# The end-to-end tests alone, with their progress: everything on real Spark, on a cluster of its own that is gone afterwards. `make test` proves
# one Spark line by running, this proves them all; an image that was never made on this machine takes minutes. Arguments are go test's, for
# example -run 'TestOperator/applications/examples' or -run 'TestOperator/lines/3.5.9'.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each of the crashes of which make test plays some; it needs an API server alone.
if [ $# -eq 0 ]; then
	CRASH_POINTS=all go test -count=1 -timeout=20m -run '^TestCrashInALongLife$' ./internal/operator
fi
cd test/e2e
exec go test -count=1 -v -timeout=60m "$@" . -args -lines="${SPARK_LINES:-3.5.9,4.0.5,4.1.4,4.3.0}" -life
