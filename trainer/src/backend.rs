//! The backends that a training command can run on, chosen by name at the edge.

/// Where the arithmetic is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendName {
    /// burn-flex: the CPU.
    Flex,
    /// burn-ndarray: the CPU, slower.
    Ndarray,
    /// An NVIDIA GPU (needs a build with `--features cuda`).
    Cuda,
}

impl BackendName {
    /// The split of a batch that suits it: a CPU works in pieces that fit its cache, on all cores; each GPU takes its part of
    /// the batch whole.
    pub fn split(self, batch: usize, devices: usize) -> crate::train::step::Split {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            BackendName::Cuda => {
                let workers = devices.max(1);
                crate::train::step::Split { workers, micro: batch.div_ceil(workers) }
            }
            _ => crate::train::step::Split { workers: cores, micro: 32 },
        }
    }
}

/// Says in one line what is missing for CUDA, if anything is: without this, Burn's own start panics.
///
/// # Errors
/// When this program was built without CUDA, or the driver or the compiler of kernels is not on this machine.
pub fn check_cuda() -> Result<(), String> {
    #[cfg(not(feature = "cuda"))]
    return Err("backend cuda: this program was built without it; build with `--features cuda`".into());
    #[cfg(feature = "cuda")]
    {
        if !loads(&["libcuda.so.1", "libcuda.so", "nvcuda.dll"]) {
            return Err("backend cuda: no NVIDIA driver (libcuda.so) on this machine; use --backend flex".into());
        }
        if !loads(&["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc.dll"]) {
            return Err("backend cuda: no CUDA run-time compiler (libnvrtc.so) on this machine; install it (package \
                        cuda-nvrtc, or `pip install nvidia-cuda-nvrtc-cu12`) and put its folder into LD_LIBRARY_PATH"
                .into());
        }
        Ok(())
    }
}

/// Whether one of these libraries can be loaded.
#[cfg(feature = "cuda")]
fn loads(names: &[&str]) -> bool {
    // SAFETY: loading runs the initialisers of NVIDIA's own libraries, which Burn is about to run anyway.
    names.iter().any(|name| unsafe { libloading::Library::new(name) }.is_ok())
}
