//! Builds the clock that a replay preloads into its servers, so that the binary carries it with it.
//!
//! The clock is a crate of the workspace as well, for what checks crates; a crate cannot depend on the shared library that
//! another one builds.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "clock/src/lib.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the folder"));
    let library = folder.join("liblock_clock.so");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        std::fs::write(library, []).expect("the folder can be written to");
        return;
    }
    let target = env::var("TARGET").expect("cargo names the target");
    let status = Command::new(env::var_os("RUSTC").expect("cargo names the compiler"))
        .args(["--edition", "2024", "--crate-name", "lock_clock", "--crate-type", "cdylib"])
        .args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "strip=symbols"])
        .args(["--target", &target])
        .arg(SOURCE)
        .arg("-o")
        .arg(&library)
        .status()
        .expect("the compiler starts");
    assert!(status.success(), "the clock in {SOURCE} does not build");
}
