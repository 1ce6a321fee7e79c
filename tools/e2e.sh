#!/usr/bin/env bash
# Runs only the end-to-end tests and prints their progress. They run real Spark on a cluster of their own, which is
# removed afterwards. `make test` runs one Spark line; this script runs all lines. The first build of an image takes
# minutes. The arguments are go test's, for example -run 'TestOperator/applications/examples' or -run
# 'TestOperator/lines/3.5.9'.
set -euo pipefail
cd "$(dirname "$0")/.."
# All crash points; make test runs a sample of them. These tests need only an API server.
if [ $# -eq 0 ]; then
	CRASH_POINTS=all go test -count=1 -timeout=40m -parallel=10 -run '^Test(Crash|SparkSubmitCrash|ScheduleCrashes|.*SpecTakenBackBetween)' ./internal/operator
fi
cd test/e2e
# All live recordings; make test runs a sample of them.
if [ $# -eq 0 ]; then
	RECORDED=all go test -count=1 -timeout=20m ./recorded
fi
exec go test -count=1 -v -timeout=60m "$@" . -args -lines="${SPARK_LINES:-3.5.9,4.0.5,4.1.4,4.3.0}" -life
