//! The HTTP/1.1 engine on the wire: what the RFCs say about every answer, and what a target may do
//! that no RFC foresees. Servers here are sockets and bytes; nothing of HTTP is shared with the
//! product, and nothing here knows which engine sits behind it.

mod allocations;
mod cases;
mod early;
mod hostile;
mod idle;
mod random;
mod resets;
mod slow;
mod support;
mod table;

#[global_allocator]
static ALLOCATOR: support::memory::Counting = support::memory::Counting;
