//! The backends that networks run on, chosen by name at the edge.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "wgpu")]
mod wgpu;

use std::str::FromStr;

use thiserror::Error;

/// Where the arithmetic is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendName {
    /// The CPU, with weights of 8 bits: the fastest. Networks of other systems than Glance's own are computed by burn-flex.
    #[default]
    Int8,
    /// burn-flex: the CPU, in single precision.
    Flex,
    /// burn-ndarray: the CPU, slower; kept for comparison.
    Ndarray,
    /// An NVIDIA GPU (needs a build with the feature `cuda`).
    Cuda,
    /// Any GPU, through Vulkan or Metal (needs a build with the feature `wgpu`).
    Wgpu,
}

/// A backend that cannot be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BackendError {
    /// No such name.
    #[error("backend '{0}': one of {names} is allowed", names = BackendName::ALL.map(BackendName::name).join(", "))]
    Unknown(String),
    /// This program was built without it.
    #[error("backend {name}: this program was built without it; build with `--features {name}`", name = .0.name())]
    NotBuilt(BackendName),
    /// This machine has not what it needs.
    #[error("backend {name}: {missing}", name = .backend.name())]
    Missing {
        /// The backend.
        backend: BackendName,
        /// What is not there.
        missing: &'static str,
    },
    /// This machine has fewer devices.
    #[error("backend {name}: device {device}: this machine has {count}, numbered from 0", name = .backend.name())]
    NoDevice {
        /// The backend.
        backend: BackendName,
        /// The device's number.
        device: usize,
        /// Devices that are there.
        count: usize,
    },
    /// It computes with weights that were rounded, which have no gradients.
    #[error("backend {name}: its weights are rounded and cannot be trained; flex or a GPU can", name = .0.name())]
    Rounded(BackendName),
    /// A device was given two parts of the work.
    #[error("device {0}: named twice; name each once")]
    Twice(usize),
}

impl BackendName {
    /// All of them, in this program or not.
    pub const ALL: [BackendName; 5] =
        [BackendName::Int8, BackendName::Flex, BackendName::Ndarray, BackendName::Cuda, BackendName::Wgpu];

    /// As it is written in options and commands.
    pub fn name(self) -> &'static str {
        match self {
            BackendName::Int8 => "int8",
            BackendName::Flex => "flex",
            BackendName::Ndarray => "ndarray",
            BackendName::Cuda => "cuda",
            BackendName::Wgpu => "wgpu",
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(self) -> bool {
        match self {
            BackendName::Int8 | BackendName::Flex | BackendName::Ndarray => true,
            BackendName::Cuda => cfg!(feature = "cuda"),
            BackendName::Wgpu => cfg!(feature = "wgpu"),
        }
    }

    /// Whether networks can be trained on it.
    pub fn trains(self) -> bool {
        self != BackendName::Int8
    }

    /// Whether it computes on a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, BackendName::Cuda | BackendName::Wgpu)
    }

    /// Says what is missing for it here, if anything is: Burn's own start panics without it. On a GPU also with those of its devices;
    /// the CPU is one device.
    ///
    /// # Errors
    /// When this program was built without it, or a driver, a device, a library or a compiler of kernels is not on this machine.
    pub fn check(self, devices: &[usize]) -> Result<(), BackendError> {
        if !self.is_built() {
            return Err(BackendError::NotBuilt(self));
        }
        let count = self.devices(devices).map_err(|missing| BackendError::Missing { backend: self, missing })?;
        for (i, &device) in devices.iter().enumerate() {
            if device >= count {
                return Err(BackendError::NoDevice { backend: self, device, count });
            }
            if devices[..i].contains(&device) {
                return Err(BackendError::Twice(device));
            }
        }
        Ok(())
    }

    /// How many devices there are, or what is missing for the use of these.
    fn devices(self, _asked: &[usize]) -> Result<usize, &'static str> {
        match self {
            #[cfg(feature = "cuda")]
            BackendName::Cuda => cuda::devices(_asked.len() > 1),
            #[cfg(feature = "wgpu")]
            BackendName::Wgpu => wgpu::devices(_asked),
            _ => Ok(1),
        }
    }
}

impl FromStr for BackendName {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        BackendName::ALL
            .into_iter()
            .find(|backend| backend.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| BackendError::Unknown(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for backend in BackendName::ALL {
            assert_eq!(backend.name().to_uppercase().parse(), Ok(backend));
        }
        let error = "tpu".parse::<BackendName>().expect_err("no such backend");
        assert_eq!(error.to_string(), "backend 'tpu': one of int8, flex, ndarray, cuda, wgpu is allowed");
    }

    #[test]
    fn the_cpu_is_always_there_and_what_was_not_built_says_so() {
        assert_eq!(BackendName::Int8.check(&[0]), Ok(()));
        assert_eq!(BackendName::Flex.check(&[0]), Ok(()));
        assert_eq!(BackendName::Ndarray.check(&[0]), Ok(()));
        let error = BackendName::Flex.check(&[0, 1]).expect_err("one CPU").to_string();
        assert_eq!(error, "backend flex: device 1: this machine has 1, numbered from 0");
        assert_eq!(BackendName::Flex.check(&[0, 0]), Err(BackendError::Twice(0)));
        for backend in BackendName::ALL.into_iter().filter(|b| !b.is_built()) {
            let error = backend.check(&[0]).expect_err("not built").to_string();
            assert!(error.contains(&format!("build with `--features {}`", backend.name())), "{error}");
        }
    }
}
