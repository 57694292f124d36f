//! iptables-save and iptables-restore text, and the iptables commands.
