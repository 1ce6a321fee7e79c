#!/usr/bin/env bash
# Builds sparkctl for every platform, and writes the archives, their checksums and the manifest for krew into dist/:
#
#   tools/dist.sh [--check] [PLATFORM...]
#
# A platform is such as linux/amd64; without one, all platforms are built. With --check, everything is built a second
# time from a copy of the sources in another directory, and the checksums must be equal.
#
# VERSION is the version of the release, by default the one that Git describes. DOWNLOADS is the address of the
# directory from which krew fetches the archives.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

check=
if [[ ${1:-} == --check ]]; then
	check=yes
	shift
fi
platforms=("$@")
if ((${#platforms[@]} == 0)); then
	platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
fi
export VERSION=${VERSION:-v0.0.0-$(git describe --always --dirty)}
export REVISION=${REVISION:-$(git rev-parse HEAD)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
downloads=${DOWNLOADS:-https://github.com/sparkoperator/spark-operator/releases/download/$VERSION}
# The largest size of a binary, in bytes.
limit=$((60 * 1000 * 1000))

# Writes the archive of a platform: archive SOURCES OUTPUT OS ARCH. The sources, the environment above and the release
# of Go determine each byte: no path, time, user or state of Git is in the binary or in the archive.
archive() {
	local sources=$1 output=$2 os=$3 arch=$4 suffix= stage
	[[ $os == windows ]] && suffix=.exe
	stage=$(mktemp -d)
	local package=github.com/sparkoperator/spark-operator/internal/cli
	GOFLAGS='' CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -C "$sources" -trimpath -buildvcs=false \
		-ldflags="-s -w -buildid= -X $package.Version=$VERSION -X $package.Revision=$REVISION" -o "$stage/sparkctl$suffix" ./cmd/sparkctl
	cp "$sources/LICENSE" "$stage/"
	local size
	size=$(stat -c %s "$stage/sparkctl$suffix")
	if ((size > limit)); then
		echo "$os/$arch: sparkctl has $size bytes, more than $limit" >&2
		exit 1
	fi
	mkdir -p "$output"
	chmod 755 "$stage/sparkctl$suffix"
	chmod 644 "$stage/LICENSE"
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$stage" -cf - LICENSE "sparkctl$suffix" |
		gzip -n -9 >"$output/sparkctl_${os}_$arch.tar.gz"
	echo "$os/$arch: $((size / 1000 / 1000)) MB" >&2
	rm -rf "$stage"
}

# Writes the archives of all platforms and their checksums: archives SOURCES OUTPUT.
archives() {
	rm -f "$2"/sparkctl_*.tar.gz
	for platform in "${platforms[@]}"; do
		archive "$1" "$2" "${platform%/*}" "${platform#*/}"
	done
	(cd "$2" && sha256sum sparkctl_*.tar.gz >SHA256SUMS)
}

# Writes the manifest for krew from the checksums.
krew() {
	cat <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: spark
spec:
  version: $VERSION
  homepage: https://github.com/sparkoperator/spark-operator
  shortDescription: Create, follow and debug Apache Spark applications
  description: |
    Creates, follows and debugs Spark applications, schedules, Connect servers and clusters of sparkoperator.k8s.io and
    spark.apache.org.
  platforms:
END
	local sum file os arch suffix
	while read -r sum file; do
		IFS=_. read -r _ os arch _ <<<"$file"
		suffix=
		[[ $os == windows ]] && suffix=.exe
		cat <<END
    - selector:
        matchLabels:
          os: $os
          arch: $arch
      uri: $downloads/$file
      sha256: $sum
      bin: kubectl-spark$suffix
      files:
        - from: sparkctl$suffix
          to: kubectl-spark$suffix
        - from: LICENSE
          to: .
END
	done <dist/SHA256SUMS
}

# Checks that the binary of this machine, under the name of a plugin, calls itself kubectl spark.
plugin() {
	local file dir
	file=dist/sparkctl_$(go env GOHOSTOS)_$(go env GOHOSTARCH).tar.gz
	[[ -f $file ]] || return 0
	dir=$(mktemp -d)
	tar -C "$dir" -xf "$file"
	ln -s sparkctl "$dir/kubectl-spark"
	"$dir/kubectl-spark" version --help | grep -q 'kubectl spark version'
	"$dir/sparkctl" version --short | grep -qxF "$VERSION"
	rm -rf "$dir"
}

archives "$root" dist
krew >dist/spark.yaml
plugin
if [[ $check ]]; then
	copy=$(mktemp -d)
	trap 'rm -rf "$copy"' EXIT
	mkdir "$copy/sources"
	git ls-files -z | xargs -0 tar -cf - | tar -C "$copy/sources" -xf -
	archives "$copy/sources" "$copy/dist"
	diff dist/SHA256SUMS "$copy/dist/SHA256SUMS" || {
		echo "two builds of the same sources differ" >&2
		exit 1
	}
	echo "two builds are equal" >&2
fi
