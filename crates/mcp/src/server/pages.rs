//! Lists in pages: a cursor names the last thing of the page before.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// How to ask for the next one.
    pub(crate) next: Option<String>,
}

/// What a cursor names; the empty text for the first page.
pub(crate) fn place(cursor: Option<&str>) -> Result<String, ErrorData> {
    let Some(cursor) = cursor else {
        return Ok(String::new());
    };
    let wrong = || ErrorData::invalid_params("this cursor is none of ours", None);
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Takes a page of a list that begins behind the place of the cursor.
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
    fn pages_follow_each_other() {
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
