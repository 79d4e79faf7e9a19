//! The HTTP/1.1 engine on the wire: what the RFCs say about every answer, and what a target may do
//! that no RFC foresees. Servers here are sockets and bytes; nothing of HTTP is shared with the
//! product, and nothing here knows which engine sits behind it.

mod cases;
mod early;
mod encoder;
mod hostile;
mod idle;
mod lean;
mod memory;
mod opinion;
mod peer;
mod random;
mod resets;
mod run;
mod server;
mod slow;
mod socket;
mod table;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
