//! The geometry holds for every step and both orientations.

use super::*;
use crate::trace::fixture::trace;

#[test]
fn stations_do_not_overlap_and_stay_inside() {
    let trace = trace();
    for orientation in [Orientation::Horizontal, Orientation::Vertical] {
        for step in 0..trace.steps.len() {
            let drawing = draw(&trace, step, orientation);
            for (at, a) in drawing.boxes.iter().enumerate() {
                assert!(a.x + a.width <= drawing.width && a.y + a.height <= drawing.height, "{:?}", a.place);
                for b in &drawing.boxes[at + 1..] {
                    let apart = a.x + a.width <= b.x
                        || b.x + b.width <= a.x
                        || a.y + a.height <= b.y
                        || b.y + b.height <= a.y;
                    assert!(apart, "{:?} and {:?} overlap", a.place, b.place);
                }
            }
            assert!(drawing.capsule.x + drawing.capsule.width <= drawing.width);
        }
    }
}

#[test]
fn the_way_behind_is_passed_and_the_way_ahead_is_not() {
    let trace = trace();
    let reach = |step: usize, place: Place| {
        let drawing = draw(&trace, step, Orientation::Horizontal);
        drawing.boxes.iter().find(|shown| shown.place == place).map(|shown| shown.reach)
    };
    assert_eq!(reach(0, Place::Ingress), Some(Reach::Current));
    assert_eq!(reach(0, Place::Forward), Some(Reach::Ahead));
    assert_eq!(reach(9, Place::Prerouting), Some(Reach::Passed));
    assert_eq!(reach(9, Place::Forward), Some(Reach::Current));
    assert_eq!(reach(9, Place::Input), Some(Reach::Off));
}

#[test]
fn one_station_is_in_the_tab_order() {
    let trace = trace();
    for step in 0..trace.steps.len() {
        let drawing = draw(&trace, step, Orientation::Horizontal);
        assert_eq!(drawing.boxes.iter().filter(|shown| shown.is_tab_stop).count(), 1, "step {step}");
    }
}

#[test]
fn a_stop_is_named_as_far_as_there_is_room() {
    let shown = [
        ("nat", "not asked"),
        ("inet fw", "4 rules"),
        ("ip kube-proxy", "2 rules"),
        ("ipvs request", "rewritten"),
    ]
    .map(|(title, note)| short_title(title, note));
    assert_eq!(shown, ["nat", "inet fw", "kube-pro…", "request"]);
}
