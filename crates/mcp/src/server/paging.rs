//! Paging of lists: a cursor encodes the last item of the previous page.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// Cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Decodes a cursor; returns the empty string for the first page.
pub(crate) fn place(cursor: Option<&str>) -> Result<String, ErrorData> {
    let Some(cursor) = cursor else {
        return Ok(String::new());
    };
    let wrong = || ErrorData::invalid_params("invalid cursor", None);
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Returns the page after the position of the cursor.
pub(crate) fn page<T>(
    rest: impl IntoIterator<Item = T>,
    most: usize,
    key: impl Fn(&T) -> &str,
) -> Page<T> {
    let mut rest = rest.into_iter();
    let items: Vec<T> = rest.by_ref().take(most).collect();
    let last = items.last().filter(|_| rest.next().is_some());
    let next = last.map(|last| BASE64_URL_SAFE_NO_PAD.encode(key(last)));
    Page { items, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_consecutive() {
        let all = ["a", "b", "c", "d", "e"];
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let from = place(cursor.as_deref()).unwrap();
            let page = page(all.into_iter().filter(|item| **item > *from), 2, |item| {
                item
            });
            seen.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert!(place(Some("no cursor!")).is_err());
        assert!(place(Some("_w")).is_err(), "not UTF-8");
    }
}
