"""Copies docs/ for the generator: stage.py REPOSITORY TARGET REF

Pages link to files outside of docs/, which are not part of the site. The copy links to these files in the repository on
the web, at the branch or tag REF. A link to a file that does not exist is an error, also on a page outside of docs/.
"""

import os
import re
import shutil
import subprocess
import sys

WEB = "https://github.com/sparkoperator/spark-operator"
# A fenced block, or a link. Blocks are not changed.
PATTERN = re.compile(r"^```.*?^```$|(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))", re.MULTILINE | re.DOTALL)


def stage(repository, target, ref):
    """Copies the pages and returns the broken links."""
    docs, broken = os.path.join(repository, "docs"), []
    shutil.copytree(docs, target)

    for folder, _, files in os.walk(target):
        for name in (n for n in files if n.endswith(".md")):
            page = os.path.relpath(os.path.join(folder, name), target)

            def replace(match):
                path, anchor = match.group(1), match.group(2) or ""
                if path is None:
                    return match.group(0)

                file = os.path.normpath(os.path.join(docs, os.path.dirname(page), path))
                if not os.path.exists(file):
                    broken.append(f"docs/{page} links to {path}, which does not exist")
                    return match.group(0)

                if file == docs or file.startswith(docs + os.sep):
                    index = "README.md" if os.path.isdir(file) else ""
                    return os.path.join(path, index) + anchor if index else path + anchor

                kind = "tree" if os.path.isdir(file) else "blob"
                return f"{WEB}/{kind}/{ref}/{os.path.relpath(file, repository)}{anchor}"

            with open(os.path.join(folder, name), encoding="utf-8") as source:
                text = PATTERN.sub(replace, source.read())
            with open(os.path.join(folder, name), "w", encoding="utf-8") as copy:
                copy.write(text)

    return broken


def check(repository):
    """Returns the broken links of the pages outside of docs/."""
    command = ["git", "-C", repository, "ls-files", "-z", "*.md", ":!docs", ":(exclude,glob)**/testdata/**"]
    broken = []

    for page in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]:
        with open(os.path.join(repository, page), encoding="utf-8") as source:
            for match in PATTERN.finditer(source.read()):
                path = match.group(1)
                if path and not os.path.exists(os.path.join(repository, os.path.dirname(page), path)):
                    broken.append(f"{page} links to {path}, which does not exist")

    return broken


if __name__ == "__main__":
    root = os.path.abspath(sys.argv[1])
    problems = stage(root, sys.argv[2], sys.argv[3]) + check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)
