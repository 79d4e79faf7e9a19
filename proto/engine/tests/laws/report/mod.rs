//! What is said of a run: figures, slices, gates, certificate.

mod certificate;
mod index_levels;
mod overcommit;
mod samples;
mod slices;
mod verdict;
mod what_if;
