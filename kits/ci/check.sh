#!/bin/sh
# check.sh FOLDER BASE: run the scenarios in FOLDER of this repository, after those of the commit BASE.
# Writes FOLDER/base.json, which `notWorse` compares with, junit.xml and summary.md.
# Exit code: that of `schedweb scenario run`.
set -eu
folder=$1 base=$2
schedweb=${SCHEDWEB:-$(cd "$(dirname "$0")/../.." && pwd)/.venv/bin/schedweb}
before=$(mktemp -d)
trap 'git worktree remove --force "$before/base" 2>/dev/null || true; rm -rf "$before"' EXIT

git worktree add --quiet --detach "$before/base" "$base"
if [ -n "$(ls "$before/base/$folder"/*.yaml 2>/dev/null)" ]; then
    "$schedweb" scenario run --quiet --no-baseline --json "$folder/base.json" "$before/base/$folder"/*.yaml ||
        [ $? -eq 1 ]
else
    echo '[]' > "$folder/base.json"
fi
"$schedweb" scenario run --quiet --junit junit.xml --summary summary.md "$folder"/*.yaml
