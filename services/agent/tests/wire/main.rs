//! The HTTP/1.1 engine on the wire: the rules of the RFCs about every response, and behaviour of a
//! target that no RFC covers. Servers here are sockets and bytes; they share no HTTP code with the
//! product, and nothing here depends on which engine is tested.

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
