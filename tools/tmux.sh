#!/usr/bin/env bash
# Prints the path of tmux, in which the end-to-end tests run sparkctl as in a user's terminal. If tmux is missing, it is
# installed from the machine's package sources.
set -euo pipefail
if ! command -v tmux >/dev/null; then
	if ! command -v apt-get >/dev/null || ((EUID != 0)); then
		echo "the tests of the terminal need tmux; as root, run: apt-get install -y tmux" >&2
		exit 1
	fi
	# local/internal/debian takes the same lock, as it may install packages at the same time.
	exec {packages_lock}>"${TMPDIR:-/tmp}/sparklocal-packages.lock"
	flock "$packages_lock"
	export DEBIAN_FRONTEND=noninteractive
	apt=(apt-get -q -o DPkg::Lock::Timeout=300)
	install=("${apt[@]}" install -y --no-install-recommends tmux)
	"${install[@]}" >&2 || { "${apt[@]}" update >&2 && "${install[@]}" >&2; }
	exec {packages_lock}>&-
fi
command -v tmux
