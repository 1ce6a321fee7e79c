#!/usr/bin/env bash
# Prints the path of Chromium, in which the tests of the console run. If it is missing, it is installed from the
# machine's package sources.
set -euo pipefail
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! find_chromium >/dev/null; then
	if ! command -v apt-get >/dev/null || ((EUID != 0)); then
		echo "the tests of the console need Chromium; as root, run: apt-get install -y chromium" >&2
		exit 1
	fi
	# local/internal/debian takes the same lock, as it may install packages at the same time.
	exec {packages_lock}>"${TMPDIR:-/tmp}/sparklocal-packages.lock"
	flock "$packages_lock"
	export DEBIAN_FRONTEND=noninteractive
	apt=(apt-get -q -o DPkg::Lock::Timeout=300)
	install=("${apt[@]}" install -y --no-install-recommends chromium fonts-dejavu-core)
	"${install[@]}" >&2 || { "${apt[@]}" update >&2 && "${install[@]}" >&2; }
	exec {packages_lock}>&-
fi
find_chromium
