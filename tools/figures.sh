#!/usr/bin/env bash
# Prints the measured figures: sizes, start-up times, latency, memory. Caches are warm after one `make demo`. Takes
# about three minutes.
set -euo pipefail
cd "$(dirname "$0")/../test/e2e"
exec go run ./cmd/figures -root ../.. "$@"
