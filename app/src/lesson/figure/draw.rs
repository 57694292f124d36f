//! What drawings share: numbers as text, and the marks that most of them are made of.

use yew::prelude::*;

/// Width of every drawing; its height follows from its rows.
pub(super) const WIDTH: f64 = 640.0;

/// `value` with so many decimals (at most 9), rounded half away from zero.
///
/// What the standard library writes any float with would be a twentieth of the page.
pub(super) fn fixed(value: f64, decimals: u32) -> String {
    let scale = 10_u64.pow(decimals);
    let scaled = (value.abs() * scale as f64).round() as u64;
    let sign = if value < 0.0 && scaled > 0 { "-" } else { "" };
    let (whole, part) = (scaled / scale, scaled % scale);
    if decimals == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{part:0digits$}", digits = decimals as usize)
    }
}

/// `12.5 %` of 12.5.
pub(super) fn percent(value: f64, decimals: u32) -> String {
    fixed(value, decimals) + " %"
}

/// A coordinate or a length, in units of the drawing.
pub(super) fn px(value: f64) -> String {
    fixed(value, 1)
}

pub(super) fn view_box(height: f64) -> String {
    format!("0 0 {} {}", px(WIDTH), px(height))
}

/// What a row is about, at its left.
pub(super) fn name(y: f64, text: String) -> Html {
    html! { <text class="shares-name" x="0" y={px(y)}>{ text }</text> }
}

/// What a row comes to, at its right.
pub(super) fn number(y: f64, text: String) -> Html {
    html! { <text class="shares-number" x={px(WIDTH)} y={px(y)} text-anchor="end">{ text }</text> }
}

pub(super) fn bar(class: &'static str, (x, width): (f64, f64), (y, height): (f64, f64)) -> Html {
    html! { <rect {class} x={px(x)} y={px(y)} width={px(width)} height={px(height)} /> }
}

/// An upright line across a bar: what it is compared with.
pub(super) fn mark(x: f64, (from, to): (f64, f64)) -> Html {
    html! { <line class="shares-mark" x1={px(x)} x2={px(x)} y1={px(from)} y2={px(to)} /> }
}

/// The level line of a lane.
pub(super) fn lane((from, to): (f64, f64), y: f64) -> Html {
    html! { <line class="draws-lane" x1={px(from)} x2={px(to)} y1={px(y)} y2={px(y)} /> }
}

#[cfg(test)]
mod tests {
    use super::fixed;

    #[test]
    fn numbers_have_so_many_decimals() {
        let cases = [
            ((640.0, 0), "640"),
            ((33.333, 1), "33.3"),
            ((0.05, 2), "0.05"),
            ((-0.04, 1), "0.0"),
            ((-2.25, 1), "-2.3"),
            ((0.99996, 4), "1.0000"),
        ];
        for ((value, decimals), text) in cases {
            assert_eq!(fixed(value, decimals), text);
        }
    }
}
