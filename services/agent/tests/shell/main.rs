//! One agent with a bus in memory, a scripted coordinator and a real target: its whole life, and
//! its reactions to faults. The counts of the target are the truth.

mod bodies;
mod code;
mod faults;
mod life;
mod script;
mod target;
mod world;
