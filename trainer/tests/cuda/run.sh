#!/bin/sh
# Tests the build for NVIDIA's GPUs on a machine without one (Linux, x86-64). What Burn writes in CUDA C++ is compiled for the CPU, with
# stand-ins for threads, warps and tensor cores, and has to compute what the CPU's own backend does:
#
#     trainer/tests/cuda/run.sh                  # tests/gpu.rs, all of it; any further arguments are for cargo
#     STAND_IN_SKEWED=1 trainer/tests/cuda/run.sh    # the same with warps out of step, which finds barriers that are missing
#
# Or any program, with the real compiler of kernels, which shows that its kernels compile for a GPU of DEVICE_VERSION (90: an H200), and
# how many it starts; they are not run, and what it computes means nothing:
#
#     DEVICE_VERSION=90 trainer/tests/cuda/run.sh --only-compile glance-trainer train --backend cuda …
#
# Needs a C and a C++ compiler, and CUDA's headers and libnvrtc in CUDA_PATH; without that, they are installed with pip under target/.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
made=${CARGO_TARGET_DIR:-$root/target}/cuda-stand-in
mkdir -p "$made/real" "$made/cpu" "$made/kernels"

if [ -z "${CUDA_PATH:-}" ]; then
    if [ ! -d "$made/pip" ]; then
        PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --target "$made/pip.new" \
            'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' \
            'nvidia-cuda-cccl==13.0.*' 'nvidia-cuda-crt==13.0.*'
        mv "$made/pip.new" "$made/pip"
    fi
    CUDA_PATH=$made/pip/nvidia/cu13
fi
export CUDA_PATH

# Put in place as a whole: another run may be using the one of before.
make_library() {
    cc -O1 -Wall -shared -fPIC -o "$2.new" "$here/$1" -ldl
    mv "$2.new" "$2"
}
for kind in real cpu; do
    make_library driver.c "$made/$kind/libcuda.so.1"
    ln -sf libcuda.so.1 "$made/$kind/libcuda.so"
done
make_library compiler.c "$made/cpu/libnvrtc.so"

if [ "${1:-}" = --only-compile ]; then
    shift
    LD_LIBRARY_PATH=$made/real:$CUDA_PATH/lib:${LD_LIBRARY_PATH:-} exec "$@"
fi
# Kernels that were compiled with other stand-ins are not these.
STAND_IN_CACHE=$made/kernels/$(cat "$here/threads.h" "$here/mma.h" "$here/compile.sh" | cksum | cut -d ' ' -f 1)
mkdir -p "$STAND_IN_CACHE"
export STAND_IN_CACHE STAND_IN_COMPILE="$here/compile.sh"
# Above 80 Burn uses copies that have no stand-in.
export DEVICE_VERSION=80
LD_LIBRARY_PATH=$made/cpu:${LD_LIBRARY_PATH:-} exec cargo test --manifest-path "$root/Cargo.toml" -p glance-trainer --features cuda \
    --test gpu "$@" -- --test-threads 1
