//! The TCP options that window tracking needs: window scale, SACK permitted, SACK blocks.

use super::window::after;

/// Largest window scale (RFC 7323 2.3).
const SCALE_MAX: u8 = 14;

/// What a SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub(super) scale: Option<u8>,
    pub(super) sack: bool,
}

/// Options of a SYN (`tcp_options`); none when the header carries no options at all, which leaves the
/// receiver of this news unchanged.
pub(super) fn offers(bytes: &[u8]) -> Option<Offers> {
    if bytes.is_empty() {
        return None;
    }
    let mut offers = Offers::default();
    for (kind, data) in each(bytes) {
        match (kind, data) {
            (3, [scale]) => offers.scale = Some((*scale).min(SCALE_MAX)),
            (4, []) => offers.sack = true,
            _ => {}
        }
    }
    Some(offers)
}

/// The highest right edge of the SACK blocks, if above `ack` (`tcp_sack`).
pub(super) fn highest_sack(bytes: &[u8], ack: u32) -> u32 {
    let Some((_, blocks)) =
        each(bytes).find(|(kind, data)| *kind == 5 && data.len() >= 8 && data.len() % 8 == 0)
    else {
        return ack;
    };
    blocks.chunks_exact(8).fold(ack, |highest, block| {
        let right = u32::from_be_bytes([block[4], block[5], block[6], block[7]]);
        if after(right, highest) { right } else { highest }
    })
}

/// Kind and data of each option, up to the first that is malformed.
fn each(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        loop {
            match bytes {
                [] | [0, ..] => return None,
                [1, rest @ ..] => bytes = rest,
                [kind, len, rest @ ..] => {
                    let data_len = usize::from(*len).checked_sub(2)?;
                    let data = rest.get(..data_len)?;
                    bytes = &rest[data_len..];
                    return Some((*kind, data));
                }
                [_] => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_is_capped_and_silly_options_end_the_list() {
        let linux = [2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7];
        assert_eq!(offers(&linux), Some(Offers { scale: Some(7), sack: true }));
        assert_eq!(offers(&[3, 3, 200, 0]), Some(Offers { scale: Some(14), sack: false }));
        assert_eq!(offers(&[1, 9, 1, 4, 2]), Some(Offers::default()));
        assert_eq!(offers(&[]), None);
    }

    #[test]
    fn the_highest_sack_edge_counts() {
        let mut bytes = vec![1, 1, 5, 18];
        for edge in [100_u32, 200, 300, 250] {
            bytes.extend(edge.to_be_bytes());
        }
        assert_eq!(highest_sack(&bytes, 50), 250);
        assert_eq!(highest_sack(&bytes, 900), 900);
        assert_eq!(highest_sack(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 7), 7);
    }
}
