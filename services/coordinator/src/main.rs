//! The coordinator as a program; the library is also linked into the Python wheel.

fn main() {
    let commit = option_env!("LOADPILOT_COMMIT");
    std::process::exit(loadpilot_coordinator::main_from(std::env::args(), commit));
}
