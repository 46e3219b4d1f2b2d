//! Finds skills in a list of paths.
