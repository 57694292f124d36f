//! The node around a ruleset: devices, addresses, routes, and what was assumed about them.
//!
//! A ruleset alone says nothing of addresses and routes. What the reader did not give is inferred (`replay`)
//! and every assumption is listed here with the text that would state it, so that it can be changed in place.

use serde::{Deserialize, Serialize};

/// One address of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressView {
    /// `10.1.0.1/24`.
    pub text: String,
    pub assumed: bool,
}

/// One network device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceView {
    pub name: String,
    pub addresses: Vec<AddressView>,
    pub assumed: bool,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteView {
    /// As `ip route` prints it.
    pub text: String,
    pub assumed: bool,
}

/// What an assumption is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssumptionKind {
    /// `value` is `DEV=ADDRESS/LEN`, the form of `chainwalk trace --addr`.
    Address,
    /// `value` is `PREFIX=GATEWAY@DEV`, the form of `chainwalk trace --route`.
    Route,
    /// `value` is `NAME=VALUE`.
    Sysctl,
    /// The device the packet arrives on; `value` is its name, or `local`.
    InDevice,
    /// Anything else; it cannot be changed in place.
    Other,
}

/// One thing the engine took for granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssumptionView {
    pub kind: AssumptionKind,
    /// The statement that would replace it, in the form its kind names.
    pub value: String,
    /// One sentence: what was assumed, and from what.
    pub sentence: String,
}

/// The node a trace ran on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeView {
    pub devices: Vec<DeviceView>,
    pub routes: Vec<RouteView>,
    pub assumptions: Vec<AssumptionView>,
}
