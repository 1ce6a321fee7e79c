#!/usr/bin/env bash
# Runs Python with PySpark's client of Spark Connect, pinned in tools/connect/requirements.txt:
#
#   tools/connect-client.sh [ARGUMENT...]
#
# The arguments are python3's. Without arguments the script only builds the client. It keeps the client by content under
# the user's cache directory, for each installed Python, so the second run takes no time. If Python or pip is missing,
# it installs them from the machine's package sources.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pins=$root/tools/connect/requirements.txt
build_pins=$root/local/images/spark/requirements-build.txt
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal/connect-client

# The pinned versions work with these Pythons.
fits() { "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' &>/dev/null; }

# directory PYTHON prints the directory of the client for that Python.
directory() {
	local kind
	kind=$("$1" -c 'import platform, sys; print(sys.implementation.cache_tag, platform.machine())')
	echo "$cache/$(cat "$pins" "$build_pins" <(echo "$kind") | sha256sum | cut -c1-16)"
}

# choose sets python to a Python that has its client already, or to one that can build it.
choose() {
	local found
	for found in python3 /usr/bin/python3; do
		if fits "$found" && { [[ -d $(directory "$found") ]] || "$found" -m pip --version &>/dev/null; }; then
			python=$found
			return
		fi
	done
	return 1
}

install_python() {
	local apt=(apt-get -q -o DPkg::Lock::Timeout=300) packages=(python3 python3-pip) packages_lock
	if ! command -v apt-get >/dev/null || ((EUID != 0)); then
		echo "Spark Connect's client needs Python 3.10 to 3.14 with pip; as root, run: apt-get install -y ${packages[*]}" >&2
		exit 1
	fi
	# local/internal/debian takes the same lock, as it may install packages at the same time.
	exec {packages_lock}>"${TMPDIR:-/tmp}/sparklocal-packages.lock"
	flock "$packages_lock"
	export DEBIAN_FRONTEND=noninteractive
	apt+=(install -y --no-install-recommends "${packages[@]}")
	"${apt[@]}" >&2 || { apt-get -q update >&2 && "${apt[@]}" >&2; }
	exec {packages_lock}>&-
}

# make builds the client into the directory. If pip fails, make prints its output.
make() {
	local work=$1.$$ log
	mkdir -p "$work"
	trap 'rm -rf "$work"' EXIT
	log=$work/log
	export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_USER=0
	local install=("$python" -m pip install --require-hashes --no-deps --only-binary ":all:" --progress-bar off)
	if ! { "${install[@]}" --target "$work/tools" --requirement "$build_pins" &&
		PYTHONPATH=$work/tools "${install[@]}" --target "$work/client" --requirement "$pins" \
			--no-binary pyspark-client --no-build-isolation --use-pep517; } &>"$log"; then
		tail -n 40 "$log" >&2
		exit 1
	fi
	mv -T "$work/client" "$1" 2>/dev/null || [[ -d $1 ]] # another process was faster
	rm -rf "$work"
	trap - EXIT
}

if ! choose; then
	install_python
	choose
fi
client=$(directory "$python")
if [[ ! -d $client ]]; then
	echo "building the client of Spark Connect, once" >&2
	make "$client"
fi
if (($# > 0)); then
	PYTHONPATH=$client exec "$python" -s "$@"
fi
