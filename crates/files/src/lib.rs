//! Opens, names and replaces files without being led astray.
//!
//! [`digest`] is a name for exactly the files of a folder; [`straight`] opens what a path led to when
//! it was decided about, and follows no link; [`replace`] writes a file whole or not at all, and only
//! over what was read.

pub mod digest;
pub mod kind;
pub mod replace;
pub mod straight;
