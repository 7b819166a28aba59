//! How long a person thinks about a move: bins of seconds that grow evenly on a logarithmic scale.

/// Where the bins begin, in seconds, and where the last one ends. Clocks are written in whole seconds: up to five seconds
/// each has a bin of its own, from there on ten bins are a decade. The first holds what was written as no time at all.
pub const TIME_EDGES: [f32; TIME_BINS + 1] = [
    0.1, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 9.5, 12.5, 15.5, 19.5, 24.5, 31.5, 39.5, 49.5, 63.5, 79.5, 100.5, 127.5,
    160.5, 203.5, 600.0,
];
/// Number of bins.
pub const TIME_BINS: usize = 22;

/// The bin of a time in seconds.
pub fn time_bin(seconds: f32) -> usize {
    TIME_EDGES[1..TIME_BINS].iter().take_while(|&&edge| seconds >= edge).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_whole_seconds() {
        let bins = [0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 203.0, 204.0, 1e9].map(time_bin);
        assert_eq!(bins, [0, 1, 2, 5, 6, 6, 7, 20, 21, 21]);
        assert!(TIME_EDGES.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((time_bin(f32::NAN), time_bin(-1.0)), (0, 0));
    }
}
