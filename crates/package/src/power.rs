//! Compares what two versions of a package may do.
