//! What NVIDIA's GPUs need on this machine.

use cubecl::cuda::install::cuda_path;
use cudarc::driver::{CudaContext, result};

/// How many there are, or what is missing.
pub(super) fn devices(several: bool) -> Result<usize, &'static str> {
    if !loads(&["libcuda.so.1", "libcuda.so", "nvcuda.dll"]) {
        return Err("no NVIDIA driver (libcuda.so) on this machine; use flex");
    }
    if !loads(&["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc.dll"]) {
        return Err("no CUDA run-time compiler (libnvrtc.so) on this machine; install it (package cuda-nvrtc, or \
                    `pip install nvidia-cuda-nvrtc`) and put its folder into LD_LIBRARY_PATH");
    }
    let count = result::init().and_then(|()| CudaContext::device_count()).unwrap_or(0);
    let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) else {
        return Err("the NVIDIA driver finds no device that it can use; use flex");
    };
    if !cuda_path().is_some_and(|path| path.join("include/cuda_runtime.h").is_file()) {
        return Err(
            "no CUDA headers (include/cuda_runtime.h) on this machine; install them (package cuda-cudart-dev, or \
                    `pip install nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt`) and put the folder of include into \
                    CUDA_PATH",
        );
    }
    if several && !loads(&["libnccl.so", "nccl.dll"]) {
        return Err("no NCCL (libnccl.so), with which devices exchange numbers, on this machine; install it (package \
                    libnccl-dev) or name one device");
    }
    Ok(count)
}

/// Whether one of these libraries can be loaded.
fn loads(names: &[&str]) -> bool {
    // SAFETY: loading runs the initialisers of NVIDIA's own libraries, which Burn is about to run anyway.
    names.iter().any(|name| unsafe { libloading::Library::new(name) }.is_ok())
}
