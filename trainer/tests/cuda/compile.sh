#!/bin/sh
# Compiles a kernel for the CPU: compile.sh SOURCE LIBRARY. CUDA's headers are under CUDA_PATH.
set -eu
here=$(dirname "$0")

# Copies that go on beside the arithmetic, and whatever is written in PTX, have no stand-in.
if grep -qE 'cuda/barrier|asm' "$1"; then
    echo "no stand-in for what it uses"
    exit 1
fi
kernel=$(sed -nE 's/.*__global__ void +(__launch_bounds__\([0-9]+\))? *([A-Za-z0-9_]+).*/\2/p' "$1" | head -n 1)
waits=false
if grep -qE 'wmma|__sync|__shfl' "$1"; then waits=true; fi
{
    echo '#include "threads.h"'
    grep -vE '^#include <cuda_(runtime|fp16|bf16)' "$1"
    echo "static void body(void **given) { stand_in::call($kernel, given); }"
    echo 'extern "C" void launch(void **given, const unsigned grid[3], const unsigned block[3]) {'
    echo "    stand_in::launch(body, given, grid, block, $waits);"
    echo '}'
} > "$2.cpp"
g++ -std=c++17 -O2 -fno-strict-aliasing -w -fpermissive -shared -fPIC -I"$here" -I"$CUDA_PATH/include" -o "$2.new" "$2.cpp"
mv "$2.new" "$2"
