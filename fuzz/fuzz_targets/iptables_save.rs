//! iptables-save text: any bytes give a ruleset and diagnostics; what was read prints,
//! and what reads back without complaint reads back equal.
#![no_main]

use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::packet::Family;
use chainwalk_engine::text::xt::{ParseOptions, SaveOptions, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for family in [Family::V4, Family::V6] {
        for flavour in [Flavour::Legacy, Flavour::Nft] {
            let options = ParseOptions { family: Some(family), flavour: Some(flavour), ..Default::default() };
            let (ruleset, _) = parse(text, &options);
            let printed = ruleset.save(&SaveOptions::default());
            let (again, diags) = parse(&printed, &options);
            // The tools print some names bare that they cannot read back: an interface with a quote or a control
            // character in it.
            if diags.is_empty() && printed.chars().all(|c| c == '\n' || !c.is_control()) {
                assert_eq!(again.save(&SaveOptions::default()), printed);
            }
        }
    }
});
