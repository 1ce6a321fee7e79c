#!/usr/bin/env bash
# Builds the documentation site from docs/ into dist/site, or into the directory DOCS_OUT:
#
#   tools/docs.sh                     builds; a broken link fails the build
#   tools/docs.sh deploy VERSION      commits the site as a version to the local branch gh-pages, with mike
#
# DOCS_REF is the branch or tag that links to files outside of docs/ lead to, by default main. The generator is pinned in
# tools/docs/requirements.txt. It is installed once by pip, and Mermaid by npm, and both are kept by content under the
# user's cache directory; later builds need no network.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pins=$root/tools/docs/requirements.txt
python=${PYTHON:-python3}
kind=$("$python" -c 'import platform, sys; sys.exit("Python 3.10 or newer is needed") if sys.version_info < (3, 10) else print(sys.implementation.cache_tag, platform.machine(), sys.platform)')
generator=${XDG_CACHE_HOME:-$HOME/.cache}/sparklocal/docs/$(cat "$pins" <(echo "$kind") | sha256sum | cut -c1-16)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ ! -d $generator ]]; then
	echo "installing the generator of the site, once" >&2
	mkdir -p "${generator%/*}"
	"$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --require-hashes --no-deps \
		--only-binary ":all:" --target "$work/generator" --requirement "$pins"
	mv -T "$work/generator" "$generator" 2>/dev/null || [[ -d $generator ]] # another process was faster
fi
mermaid=$("$root/tools/assets.sh" mermaid)

"$python" "$root/tools/docs/stage.py" "$root" "$work/docs" "${DOCS_REF:-main}"
mkdir -p "$work/docs/assets"
cp "$mermaid" "$work/docs/assets/mermaid.min.js"
cp "$root/tools/docs/mkdocs.yml" "$work/"
export PYTHONPATH=$generator NO_MKDOCS_2_WARNING=1
# The date of the commit, so that two builds of a commit are equal.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
if [[ ${1:-} == deploy ]]; then
	version=${2:?the version is missing}
	PATH=$generator/bin:$PATH "$python" "$generator/bin/mike" deploy --config-file "$work/mkdocs.yml" --branch gh-pages --update-aliases "$version" latest
	exit
fi
output=${DOCS_OUT:-$root/dist/site}
# With --quiet, --strict ignores warnings.
if ! "$python" -m mkdocs build --strict --config-file "$work/mkdocs.yml" --site-dir "$work/site" &>"$work/log"; then
	grep -v '^INFO' "$work/log" >&2
	exit 1
fi
mkdir -p "${output%/*}"
rm -rf "$output"
mv "$work/site" "$output"
echo "$output: $(find "$output" -name index.html | wc -l) pages" >&2
