//! The kernels of a backend whose operations Burn fuses: each stands in the stream of operations as one of our own.

use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;

use burn::tensor::ops::FloatTensor;
use burn::tensor::{DType, Shape};
use burn_fusion::stream::{Operation, OperationStreams};
use burn_fusion::{Fusion, FusionBackend, FusionRuntime};
use burn_ir::{CustomOpIr, HandleContainer, OperationIr, TensorIr};

use super::{Kernels, Shape as Rows, attention, from, into, over_rows, tensor_cores};

/// An operation of the backend below, with the tensors that it was given.
struct Own<B, F> {
    ir: CustomOpIr,
    run: F,
    backend: PhantomData<fn() -> B>,
}

impl<B, F> Debug for Own<B, F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.ir.fmt(f)
    }
}

impl<B, F> Operation<B::FusionRuntime> for Own<B, F>
where
    B: FusionBackend,
    F: Fn(Vec<FloatTensor<B>>) -> Vec<FloatTensor<B>> + Send + Sync,
{
    fn execute(&self, handles: &mut HandleContainer<<B::FusionRuntime as FusionRuntime>::FusionHandle>) {
        let inputs = self.ir.inputs.iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
        for (output, tensor) in self.ir.outputs.iter().zip((self.run)(inputs)) {
            handles.register_float_tensor::<B>(&output.id, tensor);
        }
    }
}

/// Has the backend below run an operation when its turn comes. Outputs are what it will make of it.
fn register<B, F, const N: usize>(
    name: &'static str,
    inputs: Vec<FloatTensor<Fusion<B>>>,
    outputs: [(Shape, DType); N],
    run: F,
) -> [FloatTensor<Fusion<B>>; N]
where
    B: FusionBackend,
    F: Fn(Vec<FloatTensor<B>>) -> Vec<FloatTensor<B>> + Send + Sync + 'static,
{
    let streams = OperationStreams::with_inputs(&inputs);
    let client = inputs[0].client.clone();
    let inputs: Vec<TensorIr> = inputs.into_iter().map(|input| input.into_ir()).collect();
    let outputs = outputs.map(|(shape, dtype)| TensorIr::uninit(client.create_empty_handle(), shape, dtype));
    let ir = CustomOpIr::new(name, &inputs, &outputs);
    let own = Own::<B, F> { ir: ir.clone(), run, backend: PhantomData };
    let made = client.register(streams, OperationIr::Custom(ir), own);
    made.try_into().unwrap_or_else(|_| unreachable!("as many as were named"))
}

/// The tensors of an operation.
fn fixed<T, const N: usize>(tensors: Vec<T>) -> [T; N] {
    tensors.try_into().unwrap_or_else(|_| unreachable!("as many as were given"))
}

impl<B: FusionBackend + Kernels> Kernels for Fusion<B> {
    fn attend(scores: FloatTensor<Self>, bias: Option<FloatTensor<Self>>, scale: f64) -> FloatTensor<Self> {
        let output = (scores.shape.clone(), scores.dtype);
        let inputs = std::iter::once(scores).chain(bias).collect();
        let [out] = register::<B, _, 1>("attend", inputs, [output], move |tensors| {
            let mut tensors = tensors.into_iter();
            let scores = tensors.next().unwrap_or_else(|| unreachable!("there are scores"));
            vec![B::attend(scores, tensors.next(), scale)]
        });
        out
    }

    fn attend_gradient(p: FloatTensor<Self>, dp: FloatTensor<Self>) -> FloatTensor<Self> {
        let output = (p.shape.clone(), p.dtype);
        let [out] = register::<B, _, 1>("attend_gradient", vec![p, dp], [output], |tensors| {
            let [p, dp] = fixed(tensors);
            vec![B::attend_gradient(p, dp)]
        });
        out
    }

    fn weighed_attention(
        qkv: [FloatTensor<Self>; 3],
        bias: Option<FloatTensor<Self>>,
        shape: Rows,
    ) -> [FloatTensor<Self>; 2] {
        let [q, _, _] = &qkv;
        let ([rows, d], dtype, Rows { tokens, heads }) = (q.shape.dims(), q.dtype, shape);
        if !tensor_cores::suit(dtype, tokens, d / heads) {
            return attention::composed::<Self>(qkv, bias, shape);
        }
        let outputs = [(q.shape.clone(), dtype), (Shape::new([rows / tokens, heads, tokens, tokens]), dtype)];
        let inputs = qkv.into_iter().chain(bias).collect();
        register::<B, _, 2>("attention", inputs, outputs, move |tensors| {
            let mut tensors = tensors.into_iter();
            let qkv = std::array::from_fn(|_| tensors.next().unwrap_or_else(|| unreachable!("there are three")));
            B::weighed_attention(qkv, tensors.next(), shape).into()
        })
    }

    fn attention_gradient(
        dy: FloatTensor<Self>,
        made_from: [FloatTensor<Self>; 4],
        shape: Rows,
    ) -> [FloatTensor<Self>; 4] {
        let [q, k, v, weights] = &made_from;
        if !tensor_cores::suit(q.dtype, shape.tokens, q.shape[1] / shape.heads) {
            return attention::composed_gradient::<Self>(dy, made_from, shape);
        }
        let outputs = [q, k, v, weights].map(|x| (x.shape.clone(), x.dtype));
        let inputs = std::iter::once(dy).chain(made_from).collect();
        register::<B, _, 4>("attention_gradient", inputs, outputs, move |tensors| {
            let [dy, q, k, v, weights] = fixed(tensors);
            B::attention_gradient(dy, [q, k, v, weights], shape).into()
        })
    }

    /// In pieces, if there are many more rows than columns: for long products Burn's choice of kernel keeps 128 sums a unit, more than it
    /// has registers for.
    fn product(x: FloatTensor<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let ([rows, wide], [_, to]) = (x.shape.dims(), weights.shape.dims());
        let (x, weights) = (from::<Self, 2>(x), from::<Self, 2>(weights));
        let pieces = over_rows::square_pieces(rows, to);
        if pieces == 1 {
            return into(x.matmul(weights));
        }
        into(x.reshape([pieces, rows / pieces, wide]).matmul(weights.unsqueeze()).reshape([rows, to]))
    }

    fn weight_gradient(x: FloatTensor<Self>, dy: FloatTensor<Self>) -> FloatTensor<Self> {
        let output = (Shape::new([x.shape[1], dy.shape[1]]), DType::F32);
        let [out] = register::<B, _, 1>("weight_gradient", vec![x, dy], [output], |tensors| {
            let [x, dy] = fixed(tensors);
            vec![B::weight_gradient(x, dy)]
        });
        out
    }

    fn sum_rows(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let output = (Shape::new([1, x.shape[1]]), DType::F32);
        let [out] = register::<B, _, 1>("sum_rows", vec![x], [output], |tensors| {
            let [x] = fixed(tensors);
            vec![B::sum_rows(x)]
        });
        out
    }

    fn rms_norm_scaled(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let outputs = [(x.shape.clone(), x.dtype), (Shape::new([x.shape[0], 1]), DType::F32)];
        let [y, scale] = register::<B, _, 2>("rms_norm", vec![x], outputs, |tensors| {
            let [x] = fixed(tensors);
            let (y, scale) = B::rms_norm_scaled(x);
            vec![y, scale]
        });
        (y, scale)
    }

    fn rms_norm_gradient(dy: FloatTensor<Self>, y: FloatTensor<Self>, scale: FloatTensor<Self>) -> FloatTensor<Self> {
        let output = (dy.shape.clone(), dy.dtype);
        let [out] = register::<B, _, 1>("rms_norm_gradient", vec![dy, y, scale], [output], |tensors| {
            let [dy, y, scale] = fixed(tensors);
            vec![B::rms_norm_gradient(dy, y, scale)]
        });
        out
    }
}
