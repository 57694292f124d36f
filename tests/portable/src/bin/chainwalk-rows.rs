//! `chainwalk-rows`: the rows in WebAssembly, in a worker of a page as the engine's own.
//!
//! Does one thing a message, so that whoever asks can look at the clock between: `prepare N` answers
//! `row<TAB>what<TAB>operations<TAB>samples`, or `end` behind the last row; `run K` does the work K times; `memory`
//! answers the bytes that a million connections took. `cargo xtask bench` builds it and asks; natively it is
//! `chainwalk-bench` that measures.

fn main() {
    #[cfg(target_arch = "wasm32")]
    worker::listen();
}

#[cfg(target_arch = "wasm32")]
mod worker {
    use chainwalk_portable::rows::{self, Work};
    use js_sys::{Function, Reflect, global};
    use wasm_bindgen::prelude::*;

    pub(super) fn listen() {
        let mut work: Option<Work> = None;
        let answer = move |message: JsValue| {
            let data = Reflect::get(&message, &"data".into()).ok().and_then(|data| data.as_string());
            say(&answer(&data.unwrap_or_default(), &mut work));
        };
        let listener = Closure::<dyn FnMut(JsValue)>::new(answer).into_js_value();
        // Setting a property of the worker's own scope cannot fail.
        let _ = Reflect::set(&global(), &"onmessage".into(), &listener);
        say("ready");
    }

    fn answer(question: &str, work: &mut Option<Work>) -> String {
        let (verb, number) = question.split_once(' ').unwrap_or((question, ""));
        let number: usize = number.parse().unwrap_or(0);
        match verb {
            "prepare" => {
                // The row before is given up first: two large ones would not fit.
                *work = None;
                let rows = rows::rows();
                let Some(row) = rows.get(number) else { return "end".to_owned() };
                *work = Some((row.prepare)());
                format!("row\t{}\t{}\t{}", row.what, row.operations, row.samples)
            }
            "run" => {
                if let Some(work) = work {
                    (0..number).for_each(|_| drop(work()));
                }
                "ran".to_owned()
            }
            "memory" => {
                let in_use = || (core::arch::wasm32::memory_size::<0>() as u64) << 16;
                rows::million(in_use).to_string()
            }
            _ => String::new(),
        }
    }

    fn say(text: &str) {
        let post = Reflect::get(&global(), &"postMessage".into()).unwrap_or_default();
        let _ = post.unchecked_into::<Function>().call1(&JsValue::UNDEFINED, &text.into());
    }
}
