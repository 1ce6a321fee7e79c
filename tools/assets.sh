#!/usr/bin/env bash
# Fetches the JavaScript of others that the console uses, by npm, and checks it. The files are committed, so building and
# testing need neither npm nor this script.
#
#   tools/assets.sh          writes internal/console/view/assets/vendor
#   tools/assets.sh axe      prints the path of axe-core, with which the tests check the pages for accessibility
#   tools/assets.sh mermaid  prints the path of Mermaid, with which the documentation site draws its diagrams
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# fetch PACKAGE VERSION SHA256 FILE prints the path of a file of a package, in the cache.
fetch() {
	local dir=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal/npm/$3
	if [[ ! -e $dir/package/$4 ]]; then
		mkdir -p "$dir"
		local archive
		archive=$(cd "$dir" && npm pack --silent "$1@$2")
		echo "$3  $dir/$archive" | sha256sum --check --quiet >&2
		tar -xzf "$dir/$archive" -C "$dir"
	fi
	echo "$dir/package/$4"
}

if [[ ${1:-} == axe ]]; then
	fetch axe-core 4.14.1 e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745 axe.min.js
	exit
elif [[ ${1:-} == mermaid ]]; then
	fetch mermaid 11.17.2 6ad2f42c3fc26bbf9e45cbb6d11898972573ea52b33a5f4ff51952899f950ffd dist/mermaid.min.js
	exit
fi

vendor=$root/internal/console/view/assets/vendor
htmx=$(fetch htmx.org 2.0.11 165a2655073e9e6e55e307a7c74e8ebcdb76afb7701f9c16cfd106a13add408e dist/htmx.min.js)
sse=$(fetch htmx-ext-sse 2.2.4 90b46f5ab915ba2f64e6348448c8dba509277a47e15c125ffb65754eb4f6b5dc dist/sse.min.js)
cp "$htmx" "$vendor/htmx.min.js"
cp "$sse" "$vendor/sse.min.js"
