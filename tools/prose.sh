#!/usr/bin/env bash
# Checks the words and the length of lines in Markdown and in the comments of Go files with Vale:
#
#   tools/prose.sh [FILE...]
#
# Without arguments it checks the whole repository, except what tools/prose/exempt names and what is generated. The
# rules are in tools/prose/styles. An error fails the check; a warning does not.
#
# Vale is built from tools/prose, a module of its own, and kept by content under the user's cache directory. Nothing but
# Go modules is fetched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CGO_ENABLED=0
module=$root/tools/prose
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal
key=$({ cd "$module" && cat go.{mod,sum} && find treesitter -type f -print0 | sort -z | xargs -0 cat && go env GOVERSION; } | sha256sum | cut -c1-16)
binary=$cache/lint/vale-$key

if [[ ! -x $binary ]]; then
	echo "building Vale, once" >&2
	mkdir -p "${binary%/*}"
	go build -C "$module" -trimpath -ldflags='-s -w' -o "$binary.$$" tool
	mv "$binary.$$" "$binary"
fi

files=("$@")
if ((${#files[@]} == 0)); then
	cd "$root"
	exempt=()
	while read -r pattern _; do
		[[ -z $pattern || $pattern == '#'* ]] || exempt+=(":(exclude,glob)$pattern")
	done <tools/prose/exempt
	# A tracked file that was deleted is still listed, and grep -s skips it.
	mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.go' '*.md' "${exempt[@]}" |
		sort -u | xargs -d '\n' grep -sLE '^// Code generated .* DO NOT EDIT\.$')
fi

failed=0
for config in words lines; do
	"$binary" --config "$module/$config.ini" --output line "${files[@]}" || failed=1
done
if ((failed)); then
	echo "prose: rewrite what is named above; the terms are in tools/prose/styles/House" >&2
	exit 1
fi
