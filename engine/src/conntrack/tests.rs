//! Packet scripts over the whole module.
