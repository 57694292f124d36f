//! `-m policy`: whether IPsec handled the packet (`xt_policy.c`). IPsec is not emulated, so none did; tests of
//! single transformations are not emulated.

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    out: bool,
    none: bool,
}

impl Policy {
    const fn words(&self) -> (&'static str, &'static str) {
        (if self.out { "out" } else { "in" }, if self.none { "none" } else { "ipsec" })
    }
}

impl MatchExt for Policy {
    const SPEC: ExtSpec = ExtSpec::new("policy", BOTH, "net/netfilter/xt_policy.c")
        .options(&[
            OptSpec::new("--dir", Values::One),
            OptSpec::new("--pol", Values::One),
            OptSpec::new("--strict", Values::None).absent("IPsec is not emulated"),
            OptSpec::new("--reqid", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--spi", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--proto", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--mode", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--tunnel-dst", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--tunnel-src", Values::One).negatable().multi().absent("IPsec is not emulated"),
            OptSpec::new("--next", Values::None)
                .multi()
                .requires(&["--strict"])
                .absent("IPsec is not emulated"),
        ])
        .simplified("no packet ever went through IPsec");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let out = match args.get("--dir") {
            None => return Err(ArgError::whole("policy match: neither --dir in nor --dir out specified")),
            Some((at, opt)) => match opt.values[0] {
                "in" => false,
                "out" => true,
                other => return Err(ArgError::at(at, format!("policy_match: invalid dir \"{other}\""))),
            },
        };
        let none = match args.get("--pol") {
            None => false,
            Some((at, opt)) => match opt.values[0] {
                "none" => true,
                "ipsec" => false,
                other => return Err(ArgError::at(at, format!("policy match: invalid policy \"{other}\""))),
            },
        };
        match args.opts.iter().position(|o| !matches!(o.name, "--dir" | "--pol")) {
            Some(at) => {
                Self::SPEC.check_together(args)?;
                Err(ArgError::not_emulated(at))
            }
            None => Ok(Self { out, none }),
        }
    }

    fn save(&self, out: &mut String) {
        let (dir, pol) = self.words();
        let _ = write!(out, " --dir {dir} --pol {pol}");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let (dir, pol) = self.words();
        let _ = write!(out, " policy match dir {dir} pol {pol}");
    }

    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        let refused: &[Hook] =
            if self.out { &[Hook::Prerouting, Hook::Input] } else { &[Hook::Output, Hook::Postrouting] };
        if from.iter().any(|h| refused.contains(h)) {
            return Err(ArgError::kernel(Errno::Inval, "policy: the direction is not known in this chain"));
        }
        Ok(())
    }

    fn eval(&self, _: &mut Cx<'_>, _: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        why.check(self.none, "--pol", || "none".to_owned(), || self.words().1.to_owned()).into()
    }
}
