//! Counters, limits, quotas: what they have in common in rules, elements and named objects.

use super::cursor::Cursor;
use crate::netfilter::Counters;
use crate::netfilter::nft::{Limit, LimitUnit, Quota};
use crate::text::nft::fault::Fault;

/// Behind `counter`: `packets N bytes M`, if it stands there.
pub(in crate::text::nft) fn counter(cur: &mut Cursor<'_, '_>) -> Result<Counters, Fault> {
    if !cur.eat("packets") {
        return Ok(Counters::default());
    }
    let packets = expecting_number(cur)?;
    cur.expect("bytes")?;
    let bytes = expecting_number(cur)?;
    Ok(Counters { packets, bytes })
}

fn expecting_number(cur: &mut Cursor<'_, '_>) -> Result<u64, Fault> {
    cur.number(u64::MAX).map_err(|fault| {
        if fault.message.starts_with("syntax error") {
            Fault { message: format!("{}, expecting number", fault.message), ..fault }
        } else {
            fault
        }
    })
}

/// Behind `limit`: `rate [over] N[ kbytes]/unit [burst M [kbytes|packets]]`.
pub(in crate::text::nft) fn limit(cur: &mut Cursor<'_, '_>) -> Result<Limit, Fault> {
    cur.expect("rate")?;
    let over = cur.eat("over");
    let rate = expecting_number(cur)?;
    // `kbytes/second` is one word to the scanner, `5/second` three.
    let token = cur.peek();
    let (scale, unit) = match token.text.split_once('/').filter(|(name, _)| !name.is_empty() && !cur.done()) {
        Some((scale, unit)) => {
            let scale = BYTE_UNITS.into_iter().find(|(name, _)| *name == scale).map(|(_, factor)| factor);
            if scale.is_none() {
                return Err(cur.unexpected());
            }
            (scale, LimitUnit::ALL.into_iter().find(|u| u.name() == unit))
        }
        None => {
            let scale = byte_unit(cur);
            if !cur.sees("/") {
                let fault = cur.unexpected();
                let message = format!("{}, expecting / or string or bytes", fault.message);
                return Err(Fault { message, ..fault });
            }
            cur.next();
            (scale, LimitUnit::ALL.into_iter().find(|u| cur.sees(u.name())))
        }
    };
    let Some(unit) = unit else { return Err(cur.unexpected()) };
    cur.next();
    let bytes = scale.is_some();
    let scaled = rate.checked_mul(scale.unwrap_or(1));
    let rate = scaled.ok_or_else(|| Fault::at(cur.last_place(), "Wrong rate format"))?;
    let mut burst = if bytes { 0 } else { 5 };
    if cur.sees("burst") {
        let start = cur.next().place;
        let number = expecting_number(cur)?;
        let unit = if cur.eat("packets") { 1 } else { byte_unit(cur).unwrap_or(1) };
        let place = super::elements::span_of(start, cur.last_place());
        if number == 0 && !bytes {
            return Err(Fault::at(place, "packet limit burst must be > 0"));
        }
        let scaled = number.checked_mul(unit).and_then(|b| u32::try_from(b).ok());
        burst = scaled.ok_or_else(|| Fault::at(place, "Wrong rate format"))?;
    }
    if rate == 0 {
        return Err(Fault::at(cur.last_place(), "limit rate must be > 0"));
    }
    Ok(Limit { rate, unit, burst, bytes, over })
}

const BYTE_UNITS: [(&str, u64); 3] = [("bytes", 1), ("kbytes", 1 << 10), ("mbytes", 1 << 20)];

fn byte_unit(cur: &mut Cursor<'_, '_>) -> Option<u64> {
    let (_, factor) = BYTE_UNITS.into_iter().find(|(name, _)| cur.sees(name))?;
    cur.next();
    Some(factor)
}

/// Behind `quota`: `[over] N bytes [used M bytes]`, and what is used.
pub(in crate::text::nft) fn quota(cur: &mut Cursor<'_, '_>) -> Result<(Quota, u64), Fault> {
    let over = cur.eat("over");
    if !over {
        cur.eat("until");
    }
    let bytes = volume(cur)?;
    let used = if cur.eat("used") { volume(cur)? } else { 0 };
    Ok((Quota { bytes, over }, used))
}

fn volume(cur: &mut Cursor<'_, '_>) -> Result<u64, Fault> {
    let number = expecting_number(cur)?;
    let place = cur.peek().place;
    let unit = byte_unit(cur)
        .ok_or_else(|| if cur.done() { cur.unexpected() } else { Fault::at(place, "Wrong rate format") })?;
    number.checked_mul(unit).ok_or_else(|| Fault::at(place, "Wrong rate format"))
}
