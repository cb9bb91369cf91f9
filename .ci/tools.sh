#!/bin/sh
# Makes sure that Go and a C++ compiler are there: installs the compiler through apt when this may be done, else says what to install.
set -eu

if ! command -v go >/dev/null 2>&1; then
    echo "Go 1.26 or newer is needed: https://go.dev/dl" >&2
    exit 1
fi
if command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1; then
    sudo=
    if [ "$(id -u)" != 0 ]; then
        sudo=$(command -v sudo || true)
    fi
    if [ "$(id -u)" = 0 ] || { [ -n "$sudo" ] && $sudo -n true 2>/dev/null; }; then
        echo "installing g++ ..." >&2
        $sudo apt-get update -qq
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ >/dev/null
        exit 0
    fi
fi
echo "a C++ compiler is needed: install g++ (Debian: apt-get install g++, Fedora: dnf install gcc-c++) or clang++" >&2
exit 1
