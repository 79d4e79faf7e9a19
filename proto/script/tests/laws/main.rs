//! The laws of compiled scenarios, held against computations that are written another way.

mod json_path;
mod request_cache;
