//! Integration tests of the format: one binary, one file for each subject.

mod conformance;
mod pages;
mod properties;
mod seeds;
