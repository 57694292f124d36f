//! The replay contract `chainwalk.replay/1`: one node, its packets, what came out.
