//! One agent with a bus in memory, a scripted coordinator and a real target: its whole life, and
//! what it does when the world around it breaks. What the target counted is the truth.

mod bodies;
mod code;
mod faults;
mod life;
mod script;
mod target;
mod world;
