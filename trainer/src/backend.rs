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
    /// The split of a batch that suits it: a CPU works in pieces that fit its cache, on all cores; a GPU takes the batch whole.
    pub fn split(self, batch: usize) -> crate::train::step::Split {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            BackendName::Cuda => crate::train::step::Split { workers: 1, micro: batch },
            _ => crate::train::step::Split { workers: cores, micro: 32 },
        }
    }
}

/// Says in one line what is missing for CUDA, if anything is: without this, Burn's own start panics.
pub fn check_cuda() -> Result<(), String> {
    if !cfg!(feature = "cuda") {
        return Err("backend cuda: this program was built without it; build with `--features cuda`".into());
    }
    let found = ["libcuda.so.1", "libcuda.so"].iter().any(|name| {
        let folders = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let usual = [
            "/usr/lib",
            "/usr/lib64",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/local/nvidia/lib64",
            "/usr/local/cuda/compat",
        ];
        folders.split(':').filter(|f| !f.is_empty()).chain(usual).any(|f| std::path::Path::new(f).join(name).exists())
    });
    if found {
        Ok(())
    } else {
        Err("backend cuda: no NVIDIA driver (libcuda.so) on this machine; use --backend flex".into())
    }
}
