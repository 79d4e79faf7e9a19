//! The coordinator as a program. Everything is in the library, which the Python wheel links too.

fn main() {
    std::process::exit(loadpilot_coordinator::main_from(std::env::args()));
}
