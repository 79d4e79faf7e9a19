//! The plain binary; the Python console script calls the same function.

fn main() {
    let commit = option_env!("LOADPILOT_COMMIT");
    std::process::exit(loadpilot_agent::main_from(std::env::args(), commit));
}
