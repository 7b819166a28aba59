//! What is fitted to the network inside the program belongs to that network.

use glance::play::embedded_weights;

/// CRC-32 of the weights with which the numbers below were last looked at.
const LOOKED_AT: u32 = 0xd248_de9e;

/// Better weights play better at the same setting: once the dial lagged behind by 300 points, and nothing said so.
#[test]
fn the_dial_and_the_guesses_were_looked_at_with_these_weights() {
    let found = crc32fast::hash(embedded_weights());
    assert_eq!(
        found, LOOKED_AT,
        "other weights (CRC-32 {found:#010x}) than those for which weights/dial.json (benches/calibrate.py) and the \
         constants of src/human/guess.rs (benches/guess.py) were last looked at: see weights/dial.md, then note them here"
    );
}
