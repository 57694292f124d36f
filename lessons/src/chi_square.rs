//! Pearson's chi-square test: do observed counts fit expected ones?
//!
//! The probability of a statistic at least as large comes from the regularised upper incomplete gamma
//! function, by its series below `a + 1` and its continued fraction above (Abramowitz and Stegun 6.5.29 and
//! 6.5.31). Accurate to about 1e-12, far below what is shown.

use serde::{Deserialize, Serialize};

/// Below this probability counts are said not to fit: one honest run in a hundred is called wrong.
pub const REJECT_BELOW: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChiSquare {
    /// Sum of (observed - expected)^2 / expected.
    pub statistic: f64,
    /// Cells minus one.
    pub degrees: u32,
    /// Probability of a statistic at least this large when the expectation is right, 0 to 1.
    pub p: f64,
    pub fits: bool,
}

/// Compares `observed` with `expected`, cell by cell. A cell that must be empty and is not never fits.
pub fn test(observed: &[u64], expected: &[f64]) -> ChiSquare {
    assert_eq!(observed.len(), expected.len(), "one expectation a cell");
    let mut statistic = 0.0;
    let mut cells = 0_u32;
    for (&seen, &wanted) in observed.iter().zip(expected) {
        if wanted > 0.0 {
            let off = seen as f64 - wanted;
            statistic += off * off / wanted;
            cells += 1;
        } else if seen > 0 {
            statistic = f64::INFINITY;
        }
    }
    let degrees = cells.saturating_sub(1);
    let p = tail(statistic, degrees);
    ChiSquare { statistic, degrees, p, fits: p >= REJECT_BELOW }
}

/// Probability that a chi-square variable with `degrees` of freedom exceeds `statistic`.
fn tail(statistic: f64, degrees: u32) -> f64 {
    if statistic.is_infinite() {
        return 0.0;
    }
    if degrees == 0 || statistic <= 0.0 {
        return 1.0;
    }
    let (a, x) = (f64::from(degrees) / 2.0, statistic / 2.0);
    let scale = (a * x.ln() - x - ln_gamma_of_half(degrees)).exp();
    if x < a + 1.0 { 1.0 - scale * lower_series(a, x) } else { scale * upper_fraction(a, x) }
}

/// Terms after which both expansions have long converged for the sizes used here.
const TERMS_MAX: u32 = 500;

fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..=TERMS_MAX {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * 1e-16 {
            break;
        }
    }
    sum
}

/// Lentz's method, which keeps numerator and denominator from overflowing.
fn upper_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut value = d;
    for n in 1..=TERMS_MAX {
        let n = f64::from(n);
        let an = -n * (n - a);
        b += 2.0;
        d = 1.0 / nonzero(an * d + b);
        c = nonzero(b + an / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

fn nonzero(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { x }
}

/// ln(Gamma(degrees / 2)), by the recursion from Gamma(1) = 1 and Gamma(1/2) = sqrt(pi).
fn ln_gamma_of_half(degrees: u32) -> f64 {
    let (mut a, mut ln) = match degrees % 2 {
        0 => (1.0, 0.0),
        _ => (0.5, std::f64::consts::PI.sqrt().ln()),
    };
    while a < f64::from(degrees) / 2.0 {
        ln += f64::ln(a);
        a += 1.0;
    }
    ln
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values of printed tables (NIST/SEMATECH e-Handbook 1.3.6.7.4), which hold to three decimals.
    #[test]
    fn critical_values_agree_with_the_tables() {
        for (degrees, upper, statistic) in [
            (1, 0.05, 3.841),
            (1, 0.001, 10.828),
            (2, 0.10, 4.605),
            (2, 0.01, 9.210),
            (3, 0.05, 7.815),
            (10, 0.05, 18.307),
            (19, 0.01, 36.191),
            (19, 0.10, 27.204),
            (100, 0.05, 124.342),
        ] {
            let p = tail(statistic, degrees);
            assert!((p - upper).abs() < upper * 0.001, "{degrees} degrees, {statistic}: {p} for {upper}");
        }
    }

    #[test]
    fn two_degrees_have_a_closed_form() {
        for x in [0.1, 1.0, 3.9, 4.1, 25.0, 200.0] {
            let (p, exact) = (tail(x, 2), (-x / 2.0_f64).exp());
            assert!((p - exact).abs() < 1e-12 * exact.max(1e-3), "{x}: {p} for {exact}");
        }
    }

    #[test]
    fn counts_that_fit_fit_and_others_do_not() {
        assert!(test(&[333, 334, 333], &[1000.0 / 3.0; 3]).fits);
        assert!(!test(&[400, 300, 300], &[1000.0 / 3.0; 3]).fits);
        assert!(!test(&[10, 1], &[11.0, 0.0]).fits);
        assert_eq!(test(&[10, 0], &[10.0, 0.0]).p, 1.0);
    }
}
