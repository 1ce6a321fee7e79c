#!/usr/bin/env bash
# Runs the long tests: all crash points, the tests of the API on the oldest supported Kubernetes, the whole sample of
# hostile custom resources, all scenarios of the bench, all programs in the Spark image, archives of classes, the
# daemons of a standalone cluster, all live recordings, the console in a browser, and the end-to-end tests with every
# Spark line. `make test` runs only samples of them. The end-to-end tests run real Spark on a cluster of their own,
# which they remove afterwards. The first build of an image takes minutes. With arguments, which are passed to go test,
# the script runs only end-to-end tests, such as -run 'TestOperator/together/applications/examples' or -run
# 'TestOperator/together/lines/3.5.9'.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
	# Every crash point of every kind of life, and all suspensions in short intervals, on an API server alone.
	CRASH_POINTS=all go test -count=1 -timeout=40m -parallel=10 \
		-run '^Test(Crash|SuspendFlips|SparkSubmitCrash|ScheduleCrashes|.*SpecTakenBackBetween)' \
		./internal/process/operator ./internal/kinds/configured ./internal/engine/controller ./internal/engine/runs ./internal/engine/statuswrite ./internal/record/logs
	# The definitions, admission, the kinds and a release of the chart on the oldest supported Kubernetes.
	TEST_KUBERNETES=oldest go test -count=1 -timeout=40m -parallel=10 ./internal/kinds/configured ./internal/webhook/... \
		./internal/engine/... ./internal/intake/...
	TEST_KUBERNETES=oldest EARLIER_CHARTS=all go test -C test/e2e -count=1 -timeout=20m ./release
	# The images of a release for all processors, and its installation as the page describes it, on real Spark.
	DIST_IMAGES=all go test -C tools -count=1 -timeout=30m -run '^TestImages$' ./dist
	INSTALL=all go test -C test/e2e -count=1 -v -timeout=40m ./dist
	# The whole sample of hostile custom resources.
	HOSTILE_SAMPLE=all go test -count=1 -timeout=20m -run '^Test(HostileObjects|MessagesArePrintable)$' ./internal/engine/controller
	# Every scenario of the bench, at a tiny size.
	go test -C bench -count=1 -timeout=20m -run '^TestTinyPlanMeasuresEveryBound$' .
	# Every program that the Spark image must run.
	SPARK_PROGRAMS=all go test -C local -count=1 -timeout=20m -run '^TestSparkImage$' ./internal/image
	# An archive of classes in the image of each line, and a driver that fails without it.
	SPARKLOCAL_TEST_SPARK=3.5.9,4.0.5,4.1.4,4.3.0 go test -C local -count=1 -timeout=40m -run '^TestClassArchive$' ./internal/image
	# The daemons of a standalone cluster, started by the real Spark.
	ON_SPARK=1 go test -count=1 -run '^TestOnSpark$' ./spark/standalone
	# Every live recording, and SparkContexts of each line with values at the limits that the operator checks.
	RECORDED=all go test -C test/e2e -count=1 -timeout=40m ./recorded
	# The web console in Chromium: all looks of all pages, and real Spark on a cluster of its own.
	CONSOLE=all go test -C test/e2e -count=1 -v -timeout=40m ./console
fi
cd test/e2e
exec go test -count=1 -v -timeout=60m "$@" . -args -lines="${SPARK_LINES:-3.5.9,4.0.5,4.1.4,4.3.0}" -life
