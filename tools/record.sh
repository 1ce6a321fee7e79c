#!/usr/bin/env bash
# Records the requests of the real spark-submit to an API server, for the cases in spark/submit/testdata/cases:
#
#   tools/record.sh [FLAG...] [VERSION...] [CASE...]
#
# Without a version, it records one version of each Spark line. Without a case, it records all cases. It builds the Spark
# images that are not in the cache, and needs root. The flags are those of test/record/cmd/record, such as -check and -plain.
# -endings=internal/lifecycle/testdata/endings records the logs of failing programs instead, and needs Maven for some of them.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
flags=() versions=() cases=()
for arg; do
	case $arg in
	-*) flags+=("$arg") ;;
	[0-9]*.*.*[0-9]) versions+=("$arg") ;;
	*) cases+=("$arg") ;;
	esac
done
((${#versions[@]})) || versions=(3.5.9 4.0.5 4.1.4 4.2.1 4.3.0)
mkdir -p bin
go build -C local -trimpath -o ../bin/sparklocal ./cmd/sparklocal
images=()
for version in "${versions[@]}"; do
	images+=("$version=$(bin/sparklocal image spark --version "$version")")
done
go build -trimpath -o bin/record ./test/record/cmd/record
exec bin/record "${flags[@]}" "${images[@]}" "${cases[@]}"
