//! The coordinator as a program; the library is also linked into the Python wheel.

fn main() {
    std::process::exit(loadpilot_coordinator::main_from(std::env::args()));
}
