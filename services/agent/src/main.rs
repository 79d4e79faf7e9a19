//! The plain binary; the Python console script calls the same function.

fn main() {
    std::process::exit(loadpilot_agent::main_from(std::env::args()));
}
