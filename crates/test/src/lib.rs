//! Test support: what tests and fuzz targets share.

pub mod oracle;
