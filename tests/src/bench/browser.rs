//! [`Browser`]: what `tests/browser/bench.mjs` measured in Chromium, read from its lines.

use std::time::Duration;

use super::row::Row;

/// Figures of one browser run.
#[derive(Clone, Debug, Default)]
pub struct Browser {
    /// By name of the row: time of an operation in WebAssembly.
    wasm: Vec<(String, Duration)>,
    /// Memory for a million connections, in bytes.
    pub memory: Option<u64>,
    /// What a person waits for.
    pub page: Vec<Row>,
}

impl Browser {
    /// Reads the lines; others than its own are passed over.
    pub fn read(text: &str) -> Self {
        let mut browser = Self::default();
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["wasm", name, nanos] => {
                    let nanos = Duration::from_nanos(nanos.parse().unwrap_or_default());
                    browser.wasm.push((name.to_owned(), nanos));
                }
                ["memory", bytes] => browser.memory = bytes.parse().ok(),
                ["page", what, limit, measured] => {
                    let limit = limit.parse().ok().map(Duration::from_millis);
                    let measured =
                        Duration::from_secs_f64(measured.parse().unwrap_or(0.0_f64).max(0.0) / 1e3);
                    browser.page.push(Row { limit, ..Row::figure(what, measured) });
                }
                _ => {}
            }
        }
        browser
    }

    /// What a row took in WebAssembly.
    pub fn wasm(&self, what: &str) -> Option<Duration> {
        self.wasm.iter().find(|(name, _)| name == what).map(|(_, took)| *took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_browser_are_read() {
        let text = "wasm\ta row\t1500\nnoise\nmemory\t7\npage\tpress\t100\t42.5\npage\tfree\t-\t9\n";
        let browser = Browser::read(text);
        assert_eq!(browser.wasm("a row"), Some(Duration::from_nanos(1_500)));
        assert_eq!((browser.wasm("another"), browser.memory), (None, Some(7)));
        assert_eq!(browser.page.len(), 2);
        assert_eq!(browser.page[0].limit, Some(Duration::from_millis(100)));
        assert_eq!((browser.page[1].limit, browser.page[1].measured), (None, Duration::from_millis(9)));
    }
}
