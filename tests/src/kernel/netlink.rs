//! Two things that would each cost a process or a tool that is rarely there: `conntrack -F` and `nfacct add`
//! (`nfnetlink_conntrack.h`, `nfnetlink_acct.h`). One message each, in the calling thread's namespace.

use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
const CT_DELETE: u16 = 1 << 8 | 2;
/// `NFNL_SUBSYS_ACCT << 8 | NFNL_MSG_ACCT_NEW`.
const ACCT_NEW: u16 = 7 << 8;
/// `NFACCT_NAME`.
const ACCT_NAME: u16 = 1;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST: u16 = 1 | 4;
const CREATE: u16 = 0x400;
/// `NLMSG_ERROR`, which is also how success is told.
const ERROR: u16 = 2;
/// Headers of netlink and nfnetlink, in bytes.
const HEADERS: usize = 16 + 4;

/// Deletes every connection.
pub(super) fn flush_connections() -> Result<(), String> {
    ask("flushing the connections", CT_DELETE, REQUEST, &[])
}

/// Makes an accounting object.
pub(super) fn add_accounting(name: &str) -> Result<(), String> {
    let mut attribute = ((4 + name.len() + 1) as u16).to_ne_bytes().to_vec();
    attribute.extend_from_slice(&ACCT_NAME.to_ne_bytes());
    attribute.extend_from_slice(name.as_bytes());
    attribute.push(0);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    ask("nfacct add", ACCT_NEW, REQUEST | CREATE, &attribute)
}

fn ask(what: &str, kind: u16, flags: u16, attributes: &[u8]) -> Result<(), String> {
    let failed = |error: nix::Error| format!("{what}: {error}");
    let netlink =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkNetFilter)
            .map_err(failed)?;
    let mut message = ((HEADERS + attributes.len()) as u32).to_ne_bytes().to_vec();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number, port; then family unspecified, version 0, no resource.
    message.extend_from_slice(&[0; 12]);
    message.extend_from_slice(attributes);
    sendto(netlink.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty()).map_err(failed)?;
    let mut answer = [0_u8; 512];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty()).map_err(failed)?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let code = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    if length >= HEADERS && kind == ERROR && code == 0 {
        Ok(())
    } else {
        Err(format!("{what}: netlink answers {kind}, error {code}"))
    }
}
