#!/bin/sh
# Turns a bare Debian (bookworm or newer) into a machine that runs metaindex. Two steps, so that an image can keep the
# first one in a layer of its own:
#   install.sh system    as root: Python with venv, make, certificates, bash. No Java: the project brings its own.
#   install.sh project   as the user who runs it, in the project's folder: everything else, by `make install`.
# Both may be repeated.
set -eu

case "${1:-}" in
system)
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    apt-get install --yes --no-install-recommends bash ca-certificates make python3 python3-venv
    rm -rf /var/lib/apt/lists/*
    ;;
project)
    cd "$(dirname "$0")/.."
    make install
    ;;
*)
    echo "usage: $0 system | project" >&2
    exit 2
    ;;
esac
