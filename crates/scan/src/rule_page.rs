//! The facts of a rule, for its documentation page.

use crate::rules::ScanRule;

/// Returns the severity of a rule and where it counts for less, on one line.
pub fn facts(rule: &ScanRule) -> String {
    let less = if rule.lowers {
        "; one level less in examples, tables and quotations"
    } else {
        ", wherever it is"
    };
    format!("{} of `prowess scan`{less}", rule.severity.as_str())
}
