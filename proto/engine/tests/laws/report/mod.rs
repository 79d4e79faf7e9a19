//! The report: figures, slices, gates and certificate.

mod certificate;
mod compare;
mod cumulative;
mod distributions;
mod explain;
mod hold;
mod index_levels;
mod load_curve;
mod overcommit;
mod progress;
mod samples;
mod slices;
mod time_range;
mod verdict;
mod versus;
mod what_if;
