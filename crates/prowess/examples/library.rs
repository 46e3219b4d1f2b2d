//! Lists the skills that are visible from the current folder, or searches them.
//!
//! ```sh
//! cargo run -p prowess --example library -- fill in a form
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use prowess::search::SearchQuery;
use prowess::{FileOptions, Place, Precedence, Registry};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let place = Place {
        current: std::env::current_dir()?,
        home: std::env::var_os("HOME").map(Into::into),
        ..Place::default()
    };
    let registry = Registry::open(place, FileOptions::default(), Precedence::default());
    if words.is_empty() {
        for skill in registry.list() {
            println!("{:<24} {}", skill.name, skill.listing_text());
        }
        return Ok(());
    }
    for hit in registry.search(&SearchQuery::new(&words.join(" "))) {
        println!(
            "{:>6.2}  {:<24} {}",
            hit.score,
            hit.skill.name,
            hit.skill.listing_text()
        );
    }
    Ok(())
}
