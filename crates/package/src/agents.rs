//! Agents and the folders from which they read skills.
