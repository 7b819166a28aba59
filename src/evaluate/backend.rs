//! The backends that networks run on, chosen by name at the edge.

use std::str::FromStr;

use thiserror::Error;

/// Where the arithmetic is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendName {
    /// burn-flex: the CPU.
    #[default]
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
}

impl BackendName {
    /// All of them, in this program or not.
    pub const ALL: [BackendName; 4] = [BackendName::Flex, BackendName::Ndarray, BackendName::Cuda, BackendName::Wgpu];

    /// As it is written in options and commands.
    pub fn name(self) -> &'static str {
        match self {
            BackendName::Flex => "flex",
            BackendName::Ndarray => "ndarray",
            BackendName::Cuda => "cuda",
            BackendName::Wgpu => "wgpu",
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(self) -> bool {
        match self {
            BackendName::Flex | BackendName::Ndarray => true,
            BackendName::Cuda => cfg!(feature = "cuda"),
            BackendName::Wgpu => cfg!(feature = "wgpu"),
        }
    }

    /// Whether it computes on a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, BackendName::Cuda | BackendName::Wgpu)
    }

    /// Says what is missing for it here, if anything is: Burn's own start panics without it.
    ///
    /// # Errors
    /// When this program was built without it, or a driver, a device or a compiler of kernels is not on this machine.
    pub fn check(self) -> Result<(), BackendError> {
        if !self.is_built() {
            return Err(BackendError::NotBuilt(self));
        }
        #[cfg(feature = "cuda")]
        if self == BackendName::Cuda {
            return cuda::check().map_err(|missing| BackendError::Missing { backend: self, missing });
        }
        #[cfg(feature = "wgpu")]
        if self == BackendName::Wgpu {
            return wgpu::check().map_err(|missing| BackendError::Missing { backend: self, missing });
        }
        Ok(())
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

#[cfg(feature = "cuda")]
mod cuda {
    pub(super) fn check() -> Result<(), &'static str> {
        if !loads(&["libcuda.so.1", "libcuda.so", "nvcuda.dll"]) {
            return Err("no NVIDIA driver (libcuda.so) on this machine; use flex");
        }
        if !loads(&["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc.dll"]) {
            return Err("no CUDA run-time compiler (libnvrtc.so) on this machine; install it (package cuda-nvrtc, or \
                        `pip install nvidia-cuda-nvrtc-cu12`) and put its folder into LD_LIBRARY_PATH");
        }
        Ok(())
    }

    /// Whether one of these libraries can be loaded.
    fn loads(names: &[&str]) -> bool {
        // SAFETY: loading runs the initialisers of NVIDIA's own libraries, which Burn is about to run anyway.
        names.iter().any(|name| unsafe { libloading::Library::new(name) }.is_ok())
    }
}

#[cfg(feature = "wgpu")]
mod wgpu {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use ::wgpu::{Backends, Instance, InstanceDescriptor};

    pub(super) fn check() -> Result<(), &'static str> {
        // What Burn looks for: Metal on a Mac, Vulkan elsewhere.
        let backends = if cfg!(target_os = "macos") { Backends::METAL } else { Backends::VULKAN };
        let instance =
            Instance::new(InstanceDescriptor { backends, ..InstanceDescriptor::new_without_display_handle() });
        // Ready at once anywhere but in a browser.
        let adapters = pin!(instance.enumerate_adapters(backends)).poll(&mut Context::from_waker(Waker::noop()));
        match adapters {
            Poll::Ready(adapters) if !adapters.is_empty() => Ok(()),
            _ if cfg!(target_os = "macos") => Err("no Metal device on this machine; use flex"),
            _ => Err("no Vulkan driver with a device on this machine; use flex"),
        }
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
        assert_eq!(error.to_string(), "backend 'tpu': one of flex, ndarray, cuda, wgpu is allowed");
    }

    #[test]
    fn the_cpu_is_always_there_and_what_was_not_built_says_so() {
        assert_eq!(BackendName::Flex.check(), Ok(()));
        assert_eq!(BackendName::Ndarray.check(), Ok(()));
        for backend in BackendName::ALL.into_iter().filter(|b| !b.is_built()) {
            let error = backend.check().expect_err("not built").to_string();
            assert!(error.contains(&format!("build with `--features {}`", backend.name())), "{error}");
        }
    }
}
