//! Where burn-flex is better served by a loop of our own.

use burn::tensor::ops::{FloatTensor, FloatTensorOps, IntTensor};
use burn::tensor::{DType, TensorData};
use burn_flex::{Flex, FlexTensor};

use super::super::precision::{cast, wide};
#[cfg(all(feature = "training", target_arch = "x86_64"))]
use super::Fused;
use super::{
    Curve, EPSILON, Kernels, Shape, around, attention, edges, from, gather_around, heads, into, matrices, neighbour,
    pairs, rms_norm_parts, rms_norm_parts_gradient, rows, scale, spread,
};

/// The tensor with its numbers in a row, for writing to them: that copies them only where another tensor shares them.
pub(super) fn owned(x: FlexTensor) -> FlexTensor {
    let contiguous = x.to_contiguous();
    // Or it would be that other tensor.
    drop(x);
    contiguous
}

/// Whether all are in single precision.
fn single<'a>(tensors: impl IntoIterator<Item = &'a FlexTensor>) -> bool {
    tensors.into_iter().all(|x| x.dtype() == DType::F32)
}

pub(super) fn tensor<const D: usize>(numbers: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(numbers, shape))
}

/// As it lies in memory; `None` if it is not in single precision, has no numbers, or is read backwards.
pub(super) fn matrix(x: &FlexTensor) -> Option<matrices::Matrix<'_>> {
    if !single([x]) {
        return None;
    }
    let layout = x.layout();
    let steps: Vec<usize> =
        layout.strides().iter().map(|&step| usize::try_from(step)).collect::<Result<_, _>>().ok()?;
    let from: &[f32] = x.storage();
    matrices::Matrix::new(from.get(layout.start_offset()..)?, layout.shape().dims::<2>(), steps.try_into().ok()?)
}

impl Kernels for Flex {
    fn rounds_products() -> bool {
        true
    }

    #[cfg(all(feature = "training", target_arch = "x86_64"))]
    fn fused() -> Option<Fused<Self>> {
        super::rounding::is_on().then_some(super::bf16::flex::FUSED)
    }

    fn bytes(bytes: Vec<u8>, shape: [usize; 2], device: &Self::Device) -> IntTensor<Self> {
        spread::<Self>(&bytes, shape, device)
    }

    /// Head by head, with the softmax in one pass: burn-flex's own goes through the C library's exp, number by number.
    fn weighed_attention(
        qkv: [FloatTensor<Self>; 3],
        bias: Option<FloatTensor<Self>>,
        shape: Shape,
    ) -> [FloatTensor<Self>; 2] {
        if !single(qkv.iter().chain(&bias)) {
            return attention::composed::<Self>(qkv, bias, shape);
        }
        let [q, k, v] = qkv.map(|x| x.to_contiguous());
        let [rows, width] = q.layout().shape().dims::<2>();
        let Shape { tokens, heads } = shape;
        let bias = bias.map(|bias| bias.to_contiguous());
        let of_bias = bias.as_ref().map(|bias| (bias.layout().shape().dims::<4>(), bias.storage()));
        let of_token = |position: usize, head: usize, token: usize| {
            let ([n, h, t, _], bias): (_, &[f32]) = of_bias?;
            // Where the bias has one for all, that one.
            let place = |i: usize, count: usize| if count == 1 { 0 } else { i };
            let at = (place(position, n) * h + place(head, h)) * t + place(token, t);
            Some(&bias[at * tokens..][..tokens])
        };
        let scale = scale(&from::<Self, 2>(q.clone()), heads) as f32;
        let rows_of = [&q, &k, &v].map(|x| heads::Rows::new(x.storage(), shape, width));
        let [out, weights] = heads::attend(rows_of, of_token, scale);
        [tensor(out, [rows, width]), tensor(weights, [rows / tokens, heads, tokens, tokens])]
    }

    fn attention_gradient(
        dy: FloatTensor<Self>,
        made_from: [FloatTensor<Self>; 4],
        shape: Shape,
    ) -> [FloatTensor<Self>; 4] {
        if !single(made_from.iter().chain([&dy])) {
            return attention::composed_gradient::<Self>(dy, made_from, shape);
        }
        let [q, k, v, weights] = made_from.map(|x| x.to_contiguous());
        let dy = dy.to_contiguous();
        let [rows, width] = dy.layout().shape().dims::<2>();
        let scale = scale(&from::<Self, 2>(q.clone()), shape.heads) as f32;
        let [of_y, of_q, of_k, of_v] = [&dy, &q, &k, &v].map(|x| heads::Rows::new(x.storage(), shape, width));
        let [dq, dk, dv, scores] = heads::gradients(of_y, [of_q, of_k, of_v], weights.storage(), scale);
        let of_scores = weights.layout().shape().dims::<4>();
        let [dq, dk, dv] = [dq, dk, dv].map(|x| tensor(x, [rows, width]));
        [dq, dk, dv, tensor(scores, of_scores)]
    }

    fn add_edges(
        bias: FloatTensor<Self>,
        gates: FloatTensor<Self>,
        edges: IntTensor<Self>,
        shape: Shape,
    ) -> FloatTensor<Self> {
        if !single([&bias, &gates]) || edges.dtype() != DType::I32 {
            return edges::composed::<Self>(bias, gates, edges, shape);
        }
        let (mut bias, gates, edges) = (owned(bias), gates.to_contiguous(), edges.to_contiguous());
        edges::add(bias.storage_mut(), gates.storage(), edges.storage(), shape);
        bias
    }

    fn edges_gradient(dy: FloatTensor<Self>, edges: IntTensor<Self>, shape: Shape) -> FloatTensor<Self> {
        if !single([&dy]) || edges.dtype() != DType::I32 {
            return edges::composed_gradient::<Self>(dy, edges, shape);
        }
        let (dy, edges) = (dy.to_contiguous(), edges.to_contiguous());
        let rows = dy.layout().shape().dims::<4>()[0] * shape.tokens;
        let gates = edges::gradient(dy.storage(), edges.storage(), shape);
        let width = gates.len() / rows.max(1);
        tensor(gates, [rows, width])
    }

    /// A position at a time: burn-flex's own leaves the gradients turned over, and adds such numbers one by one.
    fn pairs(a: FloatTensor<Self>, b: FloatTensor<Self>, tokens: usize, factor: f64) -> FloatTensor<Self> {
        if !single([&a, &b]) {
            return pairs::composed::<Self>(a, b, tokens, factor);
        }
        let [a, b] = [a, b].map(|x| x.to_contiguous());
        let [rows, width] = a.layout().shape().dims::<2>();
        let shape = Shape { tokens, heads: 1 };
        let [of_a, of_b] = [&a, &b].map(|x| heads::Rows::new(x.storage(), shape, width));
        tensor(heads::pairs(of_a, of_b, factor as f32), [rows / tokens, tokens, tokens])
    }

    fn pairs_gradient(
        dy: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        factor: f64,
    ) -> [FloatTensor<Self>; 2] {
        if !single([&dy, &a, &b]) {
            return pairs::composed_gradient::<Self>(dy, a, b, factor);
        }
        let [dy, a, b] = [dy, a, b].map(|x| x.to_contiguous());
        let [_, tokens, _] = dy.layout().shape().dims::<3>();
        let [rows, width] = a.layout().shape().dims::<2>();
        let shape = Shape { tokens, heads: 1 };
        let [of_a, of_b] = [&a, &b].map(|x| heads::Rows::new(x.storage(), shape, width));
        heads::pairs_gradient(dy.storage(), of_a, of_b, factor as f32).map(|x| tensor(x, [rows, width]))
    }

    /// Written straight to its place.
    fn product(x: FloatTensor<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let product = matrix(&x).zip(matrix(&weights)).and_then(|(a, b)| matrices::product(a, b));
        match product {
            Some(product) => {
                let ([rows, _], [_, columns]) = (x.layout().shape().dims::<2>(), weights.layout().shape().dims::<2>());
                tensor(product, [rows, columns])
            }
            // Of other numbers, or of none.
            None => Self::float_matmul(x, weights),
        }
    }

    #[cfg(feature = "training")]
    fn weight_gradient(x: FloatTensor<Self>, dy: FloatTensor<Self>) -> FloatTensor<Self> {
        // In single precision burn-flex is as fast.
        match super::rounding::is_on() {
            true => Self::product(Self::float_transpose(x), dy),
            false => into(super::weights_gradient::<Self>(from(x), from(dy))),
        }
    }

    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        if !single([&dy, &y, &scale]) {
            return into(rms_norm_parts_gradient::<Self>(from(dy), from(y), from(scale)));
        }
        let (mut dy, y, scale) = (owned(dy), y.to_contiguous(), scale.to_contiguous());
        let [_, d] = y.layout().shape().dims::<2>();
        rows::rms_norm_gradient(dy.storage_mut(), y.storage(), scale.storage(), d);
        dy
    }

    /// In place and in one pass.
    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if x.dtype() != DType::F32 {
            let (y, scale) = rms_norm_parts(from::<Self, 2>(x));
            return (into(y), into(scale));
        }
        let mut x = owned(x);
        let [rows, d] = x.layout().shape().dims::<2>();
        let scale = rows::rms_norm(x.storage_mut(), d, EPSILON as f32);
        (x, tensor(scale, [rows, 1]))
    }

    /// In one pass that the compiler can vectorise: burn-flex's own goes through the C library's erf and tanh, number by number.
    fn activate(x: FloatTensor<Self>, kind: Curve, wanted: bool) -> (FloatTensor<Self>, Option<FloatTensor<Self>>) {
        let dtype = x.dtype();
        let x = into(wide(from::<Self, 2>(x))).to_contiguous();
        let dims = x.layout().shape().dims::<2>();
        let numbers: &[f32] = x.storage();
        let (values, derivatives) = kind.apply(numbers, wanted);
        let as_it_came = |numbers| into(cast(from::<Self, 2>(tensor(numbers, dims)), dtype));
        (as_it_came(values), derivatives.map(as_it_came))
    }

    /// Copies whole rows.
    fn neighbours(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if x.dtype() != DType::F32 {
            return into(around(from::<Self, 2>(x), false));
        }
        let x = x.to_contiguous();
        let [rows, c] = x.layout().shape().dims::<2>();
        let from: &[f32] = x.storage();
        let mut to = vec![0.0; rows * 9 * c];
        for (row, out) in to.chunks_exact_mut((9 * c).max(1)).enumerate() {
            for (k, out) in out.chunks_exact_mut(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    out.copy_from_slice(&from[at..at + c]);
                }
            }
        }
        tensor(to, [rows, 9 * c])
    }

    /// Adds whole rows.
    fn collect(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if x.dtype() != DType::F32 {
            return into(gather_around(from::<Self, 2>(x)));
        }
        let x = x.to_contiguous();
        let [rows, nine] = x.layout().shape().dims::<2>();
        let (c, from): (usize, &[f32]) = (nine / 9, x.storage());
        let mut to = vec![0.0; rows * c];
        for (row, held) in from.chunks_exact(nine.max(1)).enumerate() {
            for (k, held) in held.chunks_exact(c).enumerate() {
                if let Some(other) = neighbour(row % 64, k) {
                    let at = (row / 64 * 64 + other) * c;
                    to[at..at + c].iter_mut().zip(held).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        tensor(to, [rows, c])
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Distribution, Tensor, Tolerance};

    use super::*;

    fn random<const D: usize>(shape: [usize; D]) -> Tensor<Flex, D> {
        Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Default::default())
    }

    fn same<const D: usize>(ours: &FlexTensor, plain: FlexTensor) {
        let [ours, plain] = [ours.clone(), plain].map(|x| from::<Flex, D>(x).into_data());
        ours.assert_approx_eq::<f32>(&plain, Tolerance::absolute(1e-5));
    }

    #[test]
    fn attention_head_by_head_is_the_composed_one() {
        let shape = Shape { tokens: 7, heads: 3 };
        let (n, d) = (2, 12);
        let biases = [None, Some([1, 1, 1, 7]), Some([2, 1, 1, 7]), Some([1, 3, 7, 7]), Some([2, 3, 7, 7])];
        for bias in biases.map(|bias| bias.map(random::<4>)) {
            let rows = || into(random([n * 7, d]));
            let qkv = [rows(), rows(), rows()];
            let bias = bias.map(into);
            let [out, weights] = Flex::weighed_attention(qkv.clone(), bias.clone(), shape);
            let [plain_out, plain_weights] = attention::composed::<Flex>(qkv.clone(), bias.clone(), shape);
            same::<2>(&out, plain_out.clone());
            same::<4>(&weights, plain_weights);
            let [q, k, v] = qkv;
            same::<2>(&Flex::biased_attention(q.clone(), k.clone(), v.clone(), bias, shape), plain_out);
            let (dy, made_from) = (rows(), [q, k, v, weights]);
            let ours = Flex::attention_gradient(dy.clone(), made_from.clone(), shape);
            let plain = attention::composed_gradient::<Flex>(dy, made_from, shape);
            let ([dq, dk, dv, scores], [plain_q, plain_k, plain_v, plain_scores]) = (ours, plain);
            for (ours, plain) in [(dq, plain_q), (dk, plain_k), (dv, plain_v)] {
                same::<2>(&ours, plain);
            }
            same::<4>(&scores, plain_scores);
        }
    }

    #[test]
    fn edges_one_by_one_are_the_composed_ones() {
        let shape = Shape { tokens: 64, heads: 3 };
        let [bias, dy] = [(); 2].map(|()| into(random([2, 3, 64, 64])));
        let gates = into(random([2 * 64, 2 * edges::GATES * 3]));
        let bytes = (0..2 * 2 * 64 * edges::SET_BYTES as u32).map(|i| (i.wrapping_mul(2_654_435_769) >> 24) as u8);
        let joined = Flex::bytes(bytes.collect(), [2, 2 * 64 * edges::SET_BYTES], &Default::default());
        let ours = Flex::add_edges(bias.clone(), gates.clone(), joined.clone(), shape);
        same::<4>(&ours, edges::composed::<Flex>(bias, gates, joined.clone(), shape));
        let ours = Flex::edges_gradient(dy.clone(), joined.clone(), shape);
        same::<2>(&ours, edges::composed_gradient::<Flex>(dy, joined, shape));
    }

    #[test]
    fn pairs_of_each_position_are_the_composed_ones() {
        let [a, b] = [(); 2].map(|()| into(random([3 * 7, 5])));
        let dy = into(random([3, 7, 7]));
        same::<3>(&Flex::pairs(a.clone(), b.clone(), 7, 0.3), pairs::composed::<Flex>(a.clone(), b.clone(), 7, 0.3));
        let ours = Flex::pairs_gradient(dy.clone(), a.clone(), b.clone(), 0.3);
        for (ours, plain) in ours.iter().zip(pairs::composed_gradient::<Flex>(dy, a, b, 0.3)) {
            same::<2>(ours, plain);
        }
    }

    #[test]
    fn products_are_burns_own_whatever_lies_behind_them() {
        let whole = random([9, 8]);
        let views = [
            whole.clone(),
            whole.clone().slice([2..9, 0..8]),
            whole.clone().slice([1..8, 3..8]),
            whole.clone().slice([0..8, 1..7]).transpose(),
            whole.slice([4..5, 0..8]).expand([6, 8]),
        ];
        for x in views {
            let [rows, inner] = x.dims();
            let (w, dy) = (random([inner, 5]), random([rows, 5]));
            same::<2>(&Flex::product(into(x.clone()), into(w.clone())), into(x.clone().matmul(w)));
            same::<2>(&Flex::weight_gradient(into(x.clone()), into(dy.clone())), into(x.transpose().matmul(dy)));
        }
        let none = Flex::product(into(random([0, 4])), into(random([4, 3])));
        assert_eq!(from::<Flex, 2>(none).dims(), [0, 3]);
    }
}
