//! Where each station of the river lies.

use chainwalk_engine::view::Place;

/// The places in reading order.
pub(super) const PLACES: [Place; 9] = [
    Place::Ingress,
    Place::Prerouting,
    Place::Routing,
    Place::Forward,
    Place::Postrouting,
    Place::Egress,
    Place::Input,
    Place::Local,
    Place::Output,
];

/// The ways between them, as the kernel connects them.
pub(super) const WAYS: [(Place, Place); 9] = [
    (Place::Ingress, Place::Prerouting),
    (Place::Prerouting, Place::Routing),
    (Place::Routing, Place::Forward),
    (Place::Forward, Place::Postrouting),
    (Place::Postrouting, Place::Egress),
    (Place::Routing, Place::Input),
    (Place::Input, Place::Local),
    (Place::Local, Place::Output),
    (Place::Output, Place::Postrouting),
];

/// Left edge and width in the horizontal river, 740 units wide.
pub(super) fn column(place: Place) -> (u32, u32) {
    match place {
        Place::Ingress => (2, 62),
        Place::Prerouting => (88, 136),
        Place::Routing => (248, 74),
        Place::Forward => (346, 136),
        Place::Postrouting => (506, 136),
        Place::Egress => (666, 72),
        Place::Input => (217, 136),
        Place::Local => (377, 105),
        Place::Output => (506, 136),
    }
}

/// True for the stations of the lower arm, through a process of the node.
pub(super) fn is_lower(place: Place) -> bool {
    matches!(place, Place::Input | Place::Local | Place::Output)
}
