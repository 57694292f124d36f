//! Prints the digest of every run on this machine, for the WebAssembly build to compare with.

#![allow(clippy::print_stdout, reason = "a command-line program; the ban is for libraries")]

fn main() {
    for (name, digest) in chainwalk_portable::digests::all() {
        println!("{name}\t{digest}");
    }
}
