//! How long a person thinks about a move, against the clock: bins that grow evenly on a logarithmic scale.

/// Number of bins: six a decade.
pub const TIME_BINS: usize = 24;
/// Where the first bin begins, in [fair shares](fair_share) of the clock; the last ends at 10,000 times that.
const FIRST: f32 = 0.003;

/// A move's fair share of a clock, in seconds: a thirtieth of what is left, and the increment. People's times are much more alike
/// in this unit than in seconds, from a minute a game to two hours.
pub fn fair_share(left: f32, increment: f32) -> f32 {
    (left / 30.0 + increment).max(0.05)
}

/// Where a bin begins, in fair shares; bin [`TIME_BINS`] begins where the last one ends.
pub fn time_edge(bin: usize) -> f32 {
    FIRST * 10_f32.powf(bin as f32 / 6.0)
}

/// What a time written in whole seconds says: how probable each bin is, the time being anywhere within half a second of it, evenly on
/// the logarithmic scale. Sums to one; what lies beyond the ends counts for the first or last bin.
pub fn time_bins(seconds: f32, fair: f32) -> [f32; TIME_BINS] {
    let low = (seconds - 0.5).max(0.1) / fair;
    let high = (seconds + 0.5).max(0.2) / fair;
    let mut bins = [0.0; TIME_BINS];
    let width = (high / low).ln();
    for (bin, share) in bins.iter_mut().enumerate() {
        let from = if bin == 0 { 0.0 } else { time_edge(bin) };
        let to = if bin + 1 == TIME_BINS { f32::INFINITY } else { time_edge(bin + 1) };
        let (from, to) = (from.max(low), to.min(high));
        if to > from {
            *share = (to / from).ln() / width;
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_spread_over_bins() {
        for (seconds, fair) in [(0.0, 2.0), (1.0, 2.0), (12.0, 20.0), (600.0, 20.0), (0.0, 135.0), (3600.0, 0.05)] {
            let bins = time_bins(seconds, fair);
            assert!((bins.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{seconds} of {fair}: {bins:?}");
        }
        // Ten seconds of a fair twenty: half a share, within one bin or two.
        let bins = time_bins(10.0, 20.0);
        let bin = (0..TIME_BINS).find(|&b| time_edge(b + 1) > 0.5).expect("a bin");
        assert!(bins[bin] > 0.5 && bins.iter().filter(|&&b| b > 0.0).count() <= 2);
        assert_eq!(time_bins(1e6, 1.0)[TIME_BINS - 1], 1.0);
        assert_eq!(time_bins(0.0, 1e6)[0], 1.0);
    }

    #[test]
    fn shares_come_from_the_clock() {
        assert_eq!((fair_share(600.0, 0.0), fair_share(300.0, 3.0), fair_share(0.0, 0.0)), (20.0, 13.0, 0.05));
        assert!((time_edge(TIME_BINS) / time_edge(0) - 1e4).abs() < 1.0);
    }
}
