//! Counts that can be done by hand.

use super::*;

fn run(forms: &[Form], services: u32) -> Result<Lookups, String> {
    run_with(&LookupsInput { forms: forms.to_vec(), services: vec![services], endpoints: 1 }, &mut |_, _| {})
}

/// The jump to the chain, the rules before the Service's own, its own, the choice of a pod, and the translation; in
/// nftables the last two are one rule.
#[test]
fn a_list_is_read_from_the_top_and_a_map_is_not() {
    let lookups = run(&[Form::Iptables, Form::NftList, Form::NftMap], 1_000).expect("it runs");
    let row = &lookups.rows[0];
    assert_eq!(row.iptables, Some(Reads { first: 4, middle: 503, last: 1_003, worst: 1_003 }));
    assert_eq!(row.nft_list, Some(Reads { first: 3, middle: 502, last: 1_002, worst: 1_002 }));
    assert_eq!(row.nft_map, Some(Reads { first: 3, middle: 3, last: 3, worst: 3 }));
}

/// iptables asks every pod's rule up to the last; a draw of nftables names it.
#[test]
fn a_pod_is_chosen_rule_by_rule_or_by_one_draw() {
    let forms = vec![Form::Iptables, Form::NftMap];
    let input = LookupsInput { forms, services: vec![3], endpoints: 20 };
    let lookups = run_with(&input, &mut |_, _| {}).expect("it runs");
    let row = &lookups.rows[0];
    assert_eq!(row.iptables.map(|reads| reads.first), Some(1 + 1 + 20 + 1));
    assert_eq!(row.nft_map.map(|reads| reads.first), Some(3));
}

/// Neighbouring addresses fall into neighbouring lists: 1,024 Services make 256 lists of four.
#[test]
fn a_hash_table_is_read_in_one_list() {
    let lookups = run(&[Form::Ipvs], 1_024).expect("it runs");
    assert_eq!(lookups.rows[0].ipvs, Some(Reads { first: 4, middle: 3, last: 1, worst: 4 }));
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert!(run(&[Form::Ipvs], 2).is_err());
    assert!(run(&[], 10).is_err());
}
