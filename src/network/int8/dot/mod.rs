//! Sums of products of bytes, eight rows by sixteen columns at a time, in the widest instructions that the processor has. They are
//! exact, so every processor finds the same.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::super::vectors::widest;

/// Rows that are multiplied together.
pub(super) const ROWS: usize = 8;
/// Columns of a [`Group`].
pub(super) const COLUMNS: usize = 16;
/// Weights of four inputs and sixteen columns: the four of the first column, then those of the second, and so on; or as
/// [`Dot::arranged`] has them.
pub(super) type Group = [i8; 4 * COLUMNS];
/// Four unsigned bytes of a row that follow each other.
pub(super) type Word = [u8; 4];
/// The same with each byte widened to 16 bits, two to a number.
pub(super) type WideWord = [i32; 2];
/// What the sums of `G` groups of columns begin with.
pub(super) type Start<const G: usize> = [[i32; COLUMNS]; G];
/// Sums of eight rows and `G` groups of columns.
pub(super) type Sums<const G: usize> = [Start<G>; ROWS];

/// Eight rows, or the last ones, with something in the place of those that would make them eight, one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// Rows.
    pub(super) rows: usize,
    pub(super) words: &'a [Word],
    /// Empty, where the instructions take bytes.
    pub(super) wide: &'a [WideWord],
}

/// The instructions that are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// AVX-512 VNNI: 64 products an instruction.
    #[cfg(target_arch = "x86_64")]
    Vnni,
    /// AVX-VNNI: 32 products an instruction.
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    /// AVX2: 16 products an instruction, of numbers widened to 16 bits, which cannot overflow.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON's products of bytes: 16 an instruction.
    #[cfg(target_arch = "aarch64")]
    DotProduct,
    /// What the compiler makes of plain loops.
    Portable,
}

impl Dot {
    /// All that this processor has, the fastest first.
    pub(super) fn all() -> Vec<Dot> {
        #[cfg_attr(
            not(any(target_arch = "x86_64", target_arch = "aarch64")),
            expect(unused_mut, reason = "these have more")
        )]
        let mut all = vec![Dot(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                all.insert(0, Dot(Kind::Avx2));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni") {
                all.insert(0, Dot(Kind::AvxVnni));
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                all.insert(0, Dot(Kind::Vnni));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("dotprod") {
            all.insert(0, Dot(Kind::DotProduct));
        }
        all
    }

    /// The fastest that this processor has.
    pub(super) fn best() -> Dot {
        Dot::all()[0]
    }

    /// Whether it takes more products an instruction than single precision does: plain loops do not.
    pub(super) fn pays(self) -> bool {
        !matches!(self.0, Kind::Portable)
    }

    /// Weights in the order in which the instructions take them.
    pub(super) fn arranged(self, group: Group) -> Group {
        match self.0 {
            // The first two inputs of all columns, then the last two.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => std::array::from_fn(|i| group[i / 2 % COLUMNS * 4 + i / (2 * COLUMNS) * 2 + i % 2]),
            _ => group,
        }
    }

    /// Widens rows, if the instructions do not take bytes.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "all of theirs do"))]
    pub(super) fn widen(self, words: &[Word], wide: &mut Vec<WideWord>) {
        wide.clear();
        #[cfg(target_arch = "x86_64")]
        if let Kind::Avx2 = self.0 {
            // SAFETY: of this kind only where `all` found the instructions.
            unsafe { x86::widen(words, wide) };
        }
    }

    /// The products of rows, which this has [widened](Dot::widen), and weights, which it has [arranged](Dot::arranged). Both go on for as many
    /// words as a row is long, a multiple of four; each sum is begun with its column's `start`. `then` is given each row's number and its sums;
    /// it must be `#[inline(always)]` and change something that it captures, so that it is compiled together with the instructions. `sums` are
    /// overwritten, room that need not be cleared each time (4 % of all the time where it is).
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "none of theirs takes wide rows"))]
    pub(super) fn sums<const G: usize>(
        self,
        rows: Block,
        weights: &[Group],
        start: &Start<G>,
        sums: &mut Sums<G>,
        mut then: impl FnMut(usize, &Start<G>),
    ) {
        let Block { rows: count, words: rows, wide } = rows;
        match self.0 {
            // SAFETY: of this kind only where `all` found the instructions.
            #[cfg(target_arch = "x86_64")]
            Kind::Vnni => unsafe {
                // From the registers that they were made in.
                return match count {
                    0 | 1 => x86::vnni::<1, G>(count, rows, weights, start, then),
                    2..=4 => x86::vnni::<4, G>(count, rows, weights, start, then),
                    _ => x86::vnni::<ROWS, G>(count, rows, weights, start, then),
                };
            },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Kind::AvxVnni => unsafe { x86::avx_vnni(count, rows, weights, start, sums) },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { x86::avx2(count, wide, weights, start, sums) },
            // SAFETY: likewise.
            #[cfg(target_arch = "aarch64")]
            Kind::DotProduct => unsafe { arm::dot_product(rows, weights, start, sums) },
            Kind::Portable => portable(count, rows, weights, start, sums),
        }
        widest(
            #[inline(always)]
            || {
                for (r, sums) in sums.iter().take(count).enumerate() {
                    then(r, sums);
                }
            },
        );
    }
}

/// The first `R` of rows that each go on for `length` words.
#[inline(always)]
fn first<T, const R: usize>(rows: &[T], length: usize) -> [&[T]; R] {
    // A plain loop: `from_fn` is a call of its own.
    let mut first = [&rows[..length]; R];
    for r in 1..R {
        first[r] = &rows[r * length..][..length];
    }
    first
}

fn portable<const G: usize>(count: usize, rows: &[Word], weights: &[Group], start: &Start<G>, sums: &mut Sums<G>) {
    *sums = [*start; ROWS];
    let length = weights.len() / G;
    for (row, sums) in rows.chunks_exact(length).take(count).zip(sums) {
        for (word, weights) in row.iter().zip(weights.chunks_exact(G)) {
            for g in 0..G {
                for c in 0..COLUMNS {
                    for i in 0..4 {
                        sums[g][c] += i32::from(word[i]) * i32::from(weights[g][4 * c + i]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const G: usize>() {
        let length = 48;
        let word = |(r, k): (usize, usize)| -> Word { std::array::from_fn(|i| (k * 37 + r * 11 + i * 71) as u8) };
        let rows: Vec<Word> = (0..ROWS).flat_map(|r| (0..length).map(move |k| (r, k))).map(word).collect();
        let weights: Vec<Group> = (0..length * G)
            .map(|k| std::array::from_fn(|i| if k % 7 == 3 { 127 } else { ((k * 29 + i * 53) % 255) as i8 }))
            .collect();
        let start: Start<G> = std::array::from_fn(|g| std::array::from_fn(|c| (g * 5 + c) as i32 - 9));
        let mut wanted = [start; ROWS];
        for r in 0..ROWS {
            for column in 0..COLUMNS * G {
                let (g, c) = (column / COLUMNS, column % COLUMNS);
                let product = |input: usize| {
                    let byte = rows[r * length + input / 4][input % 4];
                    i32::from(byte) * i32::from(weights[input / 4 * G + g][4 * c + input % 4])
                };
                wanted[r][g][c] += (0..4 * length).map(product).sum::<i32>();
            }
        }
        for dot in Dot::all() {
            let (mut sums, mut wide) = ([[[0; COLUMNS]; G]; ROWS], Vec::new());
            let weights: Vec<Group> = weights.iter().map(|&group| dot.arranged(group)).collect();
            dot.widen(&rows, &mut wide);
            for count in 1..=ROWS {
                let mut found = Vec::new();
                dot.sums(Block { rows: count, words: &rows, wide: &wide }, &weights, &start, &mut sums, |r, sums| {
                    assert_eq!(r, found.len(), "one row after another");
                    found.push(*sums);
                });
                assert_eq!(found, wanted[..count], "{count} rows with {dot:?}");
            }
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512vnni") {
            let mut sums = [[[0; COLUMNS]; G]; ROWS];
            // SAFETY: the processor has them.
            unsafe { x86::avx_vnni_twin(ROWS, &rows, &weights, &start, &mut sums) };
            assert_eq!(sums, wanted, "in 256 bits");
        }
    }

    #[test]
    fn all_instructions_find_the_same_sums() {
        check::<1>();
        check::<2>();
        check::<3>();
    }
}
