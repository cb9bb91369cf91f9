#!/bin/sh
# Makes sure that what the build and the tests need is there: Go, a C++ compiler, and for the tests nginx and Bazel. What is missing is installed
# through apt when this may be done, else the script says what to install.
#
#   tools.sh [tests]
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

# install PACKAGE...: through apt, if this user may.
install() {
    have apt-get || return 1
    sudo=
    if [ "$(id -u)" != 0 ]; then
        sudo=$(command -v sudo) && $sudo -n true 2>/dev/null || return 1
    fi
    echo "installing $* ..." >&2
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if ! have go; then
    echo "Go 1.26 or newer is needed: https://go.dev/dl" >&2
    exit 1
fi
if ! have g++ && ! have clang++ && ! install g++; then
    echo "a C++ compiler is needed: install g++ (Debian: apt-get install g++, Fedora: dnf install gcc-c++) or clang++" >&2
    exit 1
fi
if [ "${1:-}" = tests ] && ! PATH="$PATH:/usr/sbin" have nginx && ! install nginx; then
    echo "nginx is needed, as a cache that the tests talk to: install it (apt-get install nginx, dnf install nginx)" >&2
    exit 1
fi
if [ "${1:-}" = tests ] && ! have bazel-4; then
    install bazel-bootstrap || echo "without Bazel (Debian: apt-get install bazel-bootstrap) its rules are not tested" >&2
fi
