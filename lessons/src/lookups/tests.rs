//! Counts that can be done by hand.

use super::*;

fn run(forms: &[Form], services: u32) -> Result<Lookups, String> {
    run_with(&LookupsInput { forms: forms.to_vec(), services: vec![services] }, &mut |_, _| {})
}

/// The jump to the chain, the rules before the Service's own, its own, and the one that translates.
#[test]
fn a_list_is_read_from_the_top() {
    let lookups = run(&[Form::Iptables], 1_000).expect("it runs");
    let wanted = Reads { first: 3, middle: 502, last: 1_002, worst: 1_002 };
    assert_eq!(lookups.rows[0].iptables, Some(wanted));
    assert_eq!(lookups.rows[0].forms(), [Form::Iptables]);
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
