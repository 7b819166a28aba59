//! Normalisation of rows.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::config;
use super::kernels::{Kernels, add_row, from, into, scale_by_row};

/// Root-mean-square or layer normalisation of rows, with what is learnt of it.
#[derive(Module, Debug)]
pub(super) struct Norm<B: Kernels> {
    /// `[d]`
    gain: Option<Param<Tensor<B, 1>>>,
    /// `[d]`; where there is one, the mean is taken off first.
    shift: Option<Param<Tensor<B, 1>>>,
}

impl<B: Kernels> Norm<B> {
    pub(super) fn new(kind: config::Norm, d: usize, device: &B::Device) -> Self {
        let gain = || Param::from_tensor(Tensor::ones([d], device));
        let shift = || Param::from_tensor(Tensor::zeros([d], device));
        Norm { gain: (kind != config::Norm::Rms).then(gain), shift: (kind == config::Norm::Layer).then(shift) }
    }

    /// Whether it is [`norm`], with nothing learnt.
    pub(super) fn is_plain(&self) -> bool {
        self.gain.is_none() && self.shift.is_none()
    }

    /// `[rows, d]` to the same.
    pub(super) fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        // Without its mean, the root mean square of a row is its deviation.
        let x = if self.shift.is_some() { x.clone() - x.mean_dim(1) } else { x };
        let mut y = norm(x);
        if let Some(gain) = &self.gain {
            y = scale_by_row(y, gain.val().unsqueeze());
        }
        if let Some(shift) = &self.shift {
            y = add_row(y, shift.val().unsqueeze());
        }
        y
    }
}

/// Root-mean-square normalisation of rows.
pub(super) fn norm<B: Kernels>(x: Tensor<B, 2>) -> Tensor<B, 2> {
    from(B::rms_norm(into(x)))
}
