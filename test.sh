#!/usr/bin/env bash
# Passes all the tests. As root on a machine with apt it installs what is missing; elsewhere it says what to install.
set -euo pipefail
cd "$(dirname "$0")"
. .ci/need

if ! command -v cargo >/dev/null 2>&1; then
  echo "test.sh: cargo is missing. Install Rust 1.95 or later: see https://www.rust-lang.org/tools/install" >&2
  exit 1
fi
need cc gcc
need redis-server redis-server

# A snapshot that differs is a failure, never an update.
export INSTA_UPDATE="${INSTA_UPDATE:-no}"

cargo test --workspace --locked
# Every interleaving of what threads share. The flag changes how every crate is built, so it has a folder of its own.
RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --locked -p lock-shared --test loom
# The whole catalogue, through both engines, and what the benchmarks measure: millions of states, so in release mode.
cargo test --release --locked -p lock-check -p lab -p lock-benches -- --ignored
