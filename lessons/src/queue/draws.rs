//! The two random distributions of a queue, drawn with comparisons, products and square roots only.

use chainwalk_engine::base::Rng;

use super::QueueInput;

/// A request, times in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// When it arrives.
    pub(super) at: u64,
    /// How long one pod works on it.
    pub(super) takes: u64,
}

/// All requests in the order of arrival. They come so far apart that the work is the wanted share of what the pods
/// can do.
pub(super) fn requests(input: &QueueInput) -> Vec<Request> {
    let mut rng = Rng::named(input.seed, "queue-takes");
    let takes: Vec<u64> = (0..input.requests).map(|_| takes(input, &mut rng)).collect();
    let mean = takes.iter().sum::<u64>() as f64 / f64::from(input.requests);
    let gap = mean * 100.0 / f64::from(input.pods * input.load_percent);
    let mut rng = Rng::named(input.seed, "queue-arrivals");
    let mut at = 0;
    let arrive = takes.into_iter().map(|takes| {
        at += (exponential(&mut rng) * gap) as u64;
        Request { at, takes }
    });
    arrive.collect()
}

/// A truncated Pareto draw.
fn takes(input: &QueueInput, rng: &mut Rng) -> u64 {
    let (shortest, longest) = (f64::from(input.shortest_ms) * 1000.0, f64::from(input.longest_ms) * 1000.0);
    loop {
        let long = shortest / eighth_power(uniform(rng), input.tail);
        if long <= longest {
            return long as u64;
        }
    }
}

/// `u^(eighths/8)`, from roots of roots.
fn eighth_power(u: f64, eighths: u32) -> f64 {
    if eighths == 8 {
        return u;
    }
    let mut power = 1.0;
    let mut root = u;
    for bit in [4, 2, 1] {
        root = root.sqrt();
        if eighths & bit != 0 {
            power *= root;
        }
    }
    power
}

/// A draw with mean 1, by von Neumann's method: no logarithm. Of uniform draws that keep falling, the length of the
/// run says whether its first is taken; each run that is not adds one.
fn exponential(rng: &mut Rng) -> f64 {
    let mut whole = 0.0;
    loop {
        let first = uniform(rng);
        let mut last = first;
        let mut fell = 0_u32;
        loop {
            let next = uniform(rng);
            if next >= last {
                break;
            }
            last = next;
            fell += 1;
        }
        if fell.is_multiple_of(2) {
            return whole + first;
        }
        whole += 1.0;
    }
}

/// Above 0, at most 1.
fn uniform(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_roots() {
        for eighths in 1..=8 {
            let wanted = 0.3_f64.powf(f64::from(eighths) / 8.0);
            assert!((eighth_power(0.3, eighths) - wanted).abs() < 1e-14, "{eighths}");
        }
    }

    /// An exponential variable has mean 1, variance 1, and exceeds 2 with probability e^-2.
    #[test]
    fn exponential_draws_have_their_moments() {
        let mut rng = Rng::new(1);
        let draws: Vec<f64> = (0..200_000).map(|_| exponential(&mut rng)).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let above = draws.iter().filter(|x| **x > 2.0).count() as f64 / n;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        assert!((above - (-2.0_f64).exp()).abs() < 0.003, "{above}");
    }
}
