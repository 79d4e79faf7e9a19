//! Decisions during a run: shards, agents that join, steering, owners, teardowns.

mod admission;
mod agent_view;
mod annotations;
mod created_run;
mod decide;
mod hold;
mod map_size;
mod needs;
mod owner;
mod ownership;
mod quotas;
mod scale_up;
mod steer;
mod teardown;
mod unreached;
