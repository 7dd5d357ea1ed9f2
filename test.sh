#!/usr/bin/env bash
# Passes all the tests. As root on a machine with apt it installs what is missing; elsewhere it says what to install.
set -euo pipefail
cd "$(dirname "$0")"

# need COMMAND PACKAGE: the command has to be there, and Debian has it in that package.
need() {
  command -v "$1" >/dev/null 2>&1 && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "test.sh: $1 is missing: installing $2"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2"
    return
  fi
  echo "test.sh: $1 is missing. Install it with: apt-get install $2" >&2
  exit 1
}

if ! command -v cargo >/dev/null 2>&1; then
  echo "test.sh: cargo is missing. Install Rust 1.95 or later: see https://www.rust-lang.org/tools/install" >&2
  exit 1
fi
need cc gcc

# A snapshot that differs is a failure, never an update.
export INSTA_UPDATE="${INSTA_UPDATE:-no}"

cargo test --workspace --locked
# The whole catalogue, through both engines, and what the benchmarks measure: millions of states, so in release mode.
cargo test --release --locked -p lock-check -p lab -p lock-benches -- --ignored
