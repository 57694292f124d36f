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
        Place::Ingress => (2, 76),
        Place::Prerouting => (100, 136),
        Place::Routing => (256, 72),
        Place::Forward => (348, 132),
        Place::Postrouting => (500, 136),
        Place::Egress => (656, 82),
        Place::Input => (224, 136),
        Place::Local => (382, 96),
        Place::Output => (500, 136),
    }
}

/// True for the stations of the lower arm, through a process of the node.
pub(super) fn is_lower(place: Place) -> bool {
    matches!(place, Place::Input | Place::Local | Place::Output)
}
