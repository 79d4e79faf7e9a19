//! Stories of what is heard, in which order, and what follows.
