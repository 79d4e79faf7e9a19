//! The supervisor as a program of its own, for tests and images; `loadpilot` starts the same code
//! through Python. Must never do more than pass its arguments on.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = _native::supervisor::main(std::env::args_os().skip(1).collect());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
