#!/bin/sh
# The browser of the browser tests, from the system's packages; root installs it, others are told.
# Pages are drawn in less time by the package without windows, which not every system has.
set -eu
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1
}
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium for the browser tests"
    apt-get update -qq
    install chromium-headless-shell || install chromium
else
    echo "no chromium here: the browser tests are skipped (root can install chromium-headless-shell)"
fi
