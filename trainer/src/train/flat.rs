//! All weights that are trained in one tensor, one after another.
//!
//! The optimiser, the average and the gradient's length then are a few operations on that tensor each. With as many for each of a
//! network's hundred and more weight tensors, a GPU waits for its host to hand them out.

use std::collections::HashMap;
use std::ops::Range;

use burn::module::{AutodiffModule, Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Shape, Tensor};

/// Numbers that the tensor has a multiple of.
pub const ROW: usize = 1024;
/// A part that begins and ends at a multiple of so many numbers is a view on a GPU, in any type: 512 bytes of bfloat16.
const ALIGNED: usize = 256;

/// Where each weight tensor that is trained lies.
#[derive(Clone, Debug, Default)]
pub struct Places {
    index: HashMap<ParamId, usize>,
    spans: Vec<Range<usize>>,
    length: usize,
}

/// Finds what is trained.
struct Find(Vec<(ParamId, usize)>);

impl<B: Backend> ModuleVisitor<B> for Find {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        let weights = param.val();
        if weights.is_require_grad() {
            self.0.push((param.id, weights.shape().num_elements()));
        }
    }
}

/// Collects parts by their places.
struct Collect<'a, B: Backend> {
    places: &'a Places,
    parts: Vec<Option<Tensor<B, 1>>>,
}

fn flat<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, 1> {
    let numbers = x.shape().num_elements();
    x.reshape([numbers])
}

impl<B: Backend> ModuleVisitor<B> for Collect<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(&i) = self.places.index.get(&param.id) {
            self.parts[i] = Some(flat(param.val()));
        }
    }
}

struct CollectGradients<'a, B: AutodiffBackend> {
    grads: &'a GradientsParams,
    collect: Collect<'a, B::InnerBackend>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for CollectGradients<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(&i) = self.collect.places.index.get(&param.id) {
            self.collect.parts[i] = self.grads.get::<B::InnerBackend, D>(param.id).map(flat);
        }
    }
}

/// Puts weights where they belong.
struct Put<'a, B: AutodiffBackend> {
    places: &'a Places,
    flat: &'a Tensor<B::InnerBackend, 1>,
    wanted: &'a dyn Fn(ParamId) -> bool,
}

impl<B: AutodiffBackend> ModuleMapper<B> for Put<'_, B> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, weights, mapper) = param.consume();
        let weights = match self.places.part(id, self.flat, weights.shape()) {
            Some(part) if (self.wanted)(id) => Tensor::from_inner(part).require_grad(),
            _ => weights,
        };
        Param::from_mapped_value(id, weights, mapper)
    }
}

/// Cuts gradients out.
struct Cut<'a, B: AutodiffBackend> {
    places: &'a Places,
    flat: &'a Tensor<B::InnerBackend, 1>,
    grads: GradientsParams,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Cut<'_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(part) = self.places.part::<B::InnerBackend, D>(param.id, self.flat, param.shape()) {
            self.grads.register::<B::InnerBackend, D>(param.id, part);
        }
    }
}

impl Places {
    /// Of the weights of a module that want gradients. Those whose ends are aligned come first.
    pub fn of<B: Backend, M: Module<B>>(module: &M) -> Places {
        let mut find = Find(Vec::new());
        module.visit(&mut find);
        let (aligned, rest): (Vec<_>, Vec<_>) = find.0.into_iter().partition(|(_, n)| n.is_multiple_of(ALIGNED));
        let mut places = Places::default();
        for (id, numbers) in aligned.into_iter().chain(rest) {
            places.index.insert(id, places.spans.len());
            places.spans.push(places.length..places.length + numbers);
            places.length += numbers;
        }
        places
    }

    /// The weights of a module: `[n]`, where n is a multiple of [`ROW`], and zeros follow the last.
    pub fn weights<B: Backend, M: Module<B>>(&self, module: &M) -> Tensor<B, 1> {
        let mut collect = Collect { places: self, parts: vec![None; self.spans.len()] };
        module.visit(&mut collect);
        self.join(collect.parts, module)
    }

    /// Their gradients, likewise; zeros for those that have none.
    pub fn gradients<B, M>(&self, module: &M, grads: &GradientsParams) -> Tensor<B::InnerBackend, 1>
    where
        B: AutodiffBackend,
        M: AutodiffModule<B>,
    {
        let collect = Collect { places: self, parts: vec![None; self.spans.len()] };
        let mut gradients = CollectGradients::<B> { grads, collect };
        Module::visit(module, &mut gradients);
        self.join(gradients.collect.parts, &module.valid())
    }

    fn join<B: Backend, M: Module<B>>(&self, parts: Vec<Option<Tensor<B, 1>>>, module: &M) -> Tensor<B, 1> {
        let device = module.devices().into_iter().next().unwrap_or_default();
        let parts = parts.into_iter().zip(&self.spans);
        let mut parts: Vec<_> =
            parts.map(|(part, span)| part.unwrap_or_else(|| Tensor::zeros([span.len()], &device))).collect();
        let numbers = self.length.next_multiple_of(ROW).max(ROW);
        if numbers > self.length {
            parts.push(Tensor::zeros([numbers - self.length], &device));
        }
        Tensor::cat(parts, 0)
    }

    /// A module with these weights.
    pub fn put<B, M>(&self, module: M, flat: &Tensor<B::InnerBackend, 1>) -> M
    where
        B: AutodiffBackend,
        M: Module<B>,
    {
        self.put_some(module, flat, &|_| true)
    }

    /// A module with those of these weights that are `wanted`.
    pub fn put_some<B, M>(&self, module: M, flat: &Tensor<B::InnerBackend, 1>, wanted: &dyn Fn(ParamId) -> bool) -> M
    where
        B: AutodiffBackend,
        M: Module<B>,
    {
        module.map(&mut Put { places: self, flat, wanted })
    }

    /// Gradients as they belong to the tensors of a module.
    pub fn cut<B, M>(&self, module: &M, flat: &Tensor<B::InnerBackend, 1>) -> GradientsParams
    where
        B: AutodiffBackend,
        M: Module<B>,
    {
        let mut cut = Cut::<B> { places: self, flat, grads: GradientsParams::new() };
        module.visit(&mut cut);
        cut.grads
    }

    /// The part of one tensor.
    fn part<B: Backend, const D: usize>(&self, id: ParamId, flat: &Tensor<B, 1>, shape: Shape) -> Option<Tensor<B, D>> {
        let span = self.spans.get(*self.index.get(&id)?)?.clone();
        Some(flat.clone().slice([span]).reshape(shape))
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Autodiff;
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Distribution;

    use super::*;

    type Inner = burn_flex::Flex;
    type B = Autodiff<Inner>;

    fn numbers<const D: usize>(x: Tensor<Inner, D>) -> Vec<f32> {
        x.into_data().iter::<f32>().collect()
    }

    fn linear(from: usize, to: usize) -> Linear<B> {
        LinearConfig::new(from, to).init::<B>(&Default::default())
    }

    #[test]
    fn weights_come_back_as_they_were() {
        let module = vec![linear(3, 5), linear(16, 32)];
        let places = Places::of::<B, _>(&module);
        let flat = places.weights(&module.valid());
        assert_eq!(flat.dims(), [ROW]);
        // The one whose size is aligned is first.
        assert_eq!(numbers(flat.clone())[..512], numbers(module[1].weight.val().inner())[..]);
        let doubled = places.put::<B, _>(module.clone(), &(flat * 2.0));
        for (doubled, module) in doubled.iter().zip(&module) {
            assert_eq!(numbers(doubled.weight.val().inner()), numbers(module.weight.val().inner() * 2.0));
        }
        let bias = doubled[0].bias.as_ref().expect("a bias");
        assert!(bias.is_require_grad());
        assert_eq!(bias.id, module[0].bias.as_ref().expect("a bias").id);
    }

    #[test]
    fn gradients_lie_where_their_weights_do() {
        let module = vec![linear(3, 5), linear(16, 32)];
        let places = Places::of::<B, _>(&module);
        let x = Tensor::<B, 2>::random([4, 3], Distribution::Normal(0.0, 1.0), &Default::default());
        let grads = GradientsParams::from_grads(module[0].forward(x).square().sum().backward(), &module);
        let flat = places.gradients(&module, &grads);
        // The second has none.
        assert!(numbers(flat.clone())[..512].iter().all(|&g| g == 0.0));
        let cut = places.cut(&module, &flat);
        let id = module[0].weight.id;
        let of = |grads: &GradientsParams| numbers(grads.get::<Inner, 2>(id).expect("of the weights"));
        assert_eq!(of(&cut), of(&grads));
        assert!(of(&cut).iter().any(|&g| g != 0.0));
    }

    #[test]
    fn what_is_not_trained_has_no_place() {
        let module = vec![linear(3, 5), linear(16, 32).no_grad()];
        let places = Places::of::<B, _>(&module);
        assert_eq!(places.spans, [0..15, 15..20]);
        let flat = places.weights(&module.valid());
        let put = places.put::<B, _>(module.clone(), &flat.zeros_like());
        assert_eq!(numbers(put[1].weight.val().inner()), numbers(module[1].weight.val().inner()));
        assert!(numbers(put[0].weight.val().inner()).iter().all(|&w| w == 0.0));
    }
}
