//! Decides which commit a package takes.
