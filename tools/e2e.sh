#!/usr/bin/env bash
# The end-to-end tests alone, with their progress: everything on real Spark, on a cluster of its own that is gone afterwards. Arguments are
# go test's, for example -run 'TestOperator/applications/examples'.
set -euo pipefail
cd "$(dirname "$0")/../test/e2e"
exec go test -count=1 -v -timeout=25m "$@" .
