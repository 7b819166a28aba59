// CUDA's threads on one thread of the CPU, for the kernels that CubeCL writes: the threads of a block take turns, each with a stack of
// its own, from one barrier to the next. x86-64 only.
#pragma once

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#undef __shared__
#define __shared__
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

// Blocks run one after the other, so that one's memory is all there is.
extern "C" {
alignas(1024) unsigned char dynamic_shared_mem[232448];
}

namespace stand_in {

enum State { READY, AT_BLOCK, AT_WARP, DONE };

struct Thread {
    void *stack_pointer;
    char *stack;
    State state;
    uint3 index;
};

constexpr int MOST = 1024, WARP = 32;
constexpr size_t STACK = 1 << 20;

static Thread threads[MOST];
static int running, count;
static void *scheduler;
static void (*body)(void **);
static void **arguments;

// Keeps what a called function has to, and goes on where `to` left off.
extern "C" void stand_in_switch(void **from, void *to);
asm(".text\n.local stand_in_switch\n.type stand_in_switch,@function\nstand_in_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void wait(State state) {
    Thread &me = threads[running];
    me.state = state;
    stand_in_switch(&me.stack_pointer, scheduler);
}

static void begin() {
    body(arguments);
    wait(DONE);
}

// What the lane of that number has; what the caller has where there is none.
template <class T> static T of_lane(T value, int lane) {
    static uint64_t given[MOST];
    static_assert(sizeof(T) <= sizeof(uint64_t));
    const int first = running / WARP * WARP;
    std::memcpy(&given[running], &value, sizeof(T));
    wait(AT_WARP);
    T found = value;
    if (lane >= 0 && lane < WARP && first + lane < count) std::memcpy(&found, &given[first + lane], sizeof(T));
    wait(AT_WARP);
    return found;
}

// Lets those go on who wait at a barrier that all who are not done have come to. Says whether there are any.
static bool release(int from, int to, State barrier) {
    bool waiting = false;
    for (int i = from; i < to; i++) {
        if (threads[i].state == barrier) waiting = true;
        else if (threads[i].state != DONE) return false;
    }
    for (int i = from; waiting && i < to; i++)
        if (threads[i].state == barrier) threads[i].state = READY;
    return waiting;
}

static bool run(int thread) {
    if (threads[thread].state != READY) return false;
    running = thread;
    threadIdx = threads[thread].index;
    stand_in_switch(&scheduler, threads[thread].stack_pointer);
    return true;
}

// Runs all threads of a block to the block's next barrier, and says whether that lets any go on. All warps keep step, or, with
// STAND_IN_SKEWED set, each goes as far as it can before the one below it begins, which shows where a barrier is missing.
static bool run_to_barrier() {
    static const bool skewed = std::getenv("STAND_IN_SKEWED");
    if (skewed) {
        for (int first = (count - 1) / WARP * WARP; first >= 0; first -= WARP) {
            const int end = std::min(first + WARP, count);
            for (bool going = true; going;) {
                going = false;
                for (int i = end - 1; i >= first; i--) going |= run(i);
                going |= release(first, end, AT_WARP);
            }
        }
        return release(0, count, AT_BLOCK);
    }
    bool going = false;
    for (int i = 0; i < count; i++) going |= run(i);
    for (int warp = 0; warp < count; warp += WARP) going |= release(warp, std::min(warp + WARP, count), AT_WARP);
    return going || release(0, count, AT_BLOCK);
}

static void run_block() {
    for (int i = 0; i < count; i++) {
        Thread &t = threads[i];
        if (!t.stack) t.stack = (char *)std::malloc(STACK);
        t.state = READY;
        t.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        // As a call would leave it: the address to go to, below it six registers.
        void **top = (void **)((uintptr_t)(t.stack + STACK - 64) & ~(uintptr_t)15);
        *--top = nullptr;
        *--top = (void *)begin;
        for (int r = 0; r < 6; r++) *--top = nullptr;
        t.stack_pointer = top;
    }
    while (run_to_barrier()) {
    }
    for (int i = 0; i < count; i++) {
        if (threads[i].state == DONE) continue;
        std::fprintf(stderr, "stand-in for CUDA: thread %d waits where others do not\n", i);
        std::abort();
    }
}

template <class... A, size_t... I> static void call(void (*kernel)(A...), void **given, std::index_sequence<I...>) {
    kernel(*(std::remove_cv_t<std::remove_reference_t<A>> *)given[I]...);
}

// Calls a kernel with what its arguments are found at.
template <class... A> static void call(void (*kernel)(A...), void **given) {
    call(kernel, given, std::index_sequence_for<A...>{});
}

// Threads that never wait for each other need no stacks.
static void launch(void (*kernel)(void **), void **given, const unsigned grid[3], const unsigned block[3], bool waits) {
    body = kernel;
    arguments = given;
    gridDim = dim3(grid[0], grid[1], grid[2]);
    blockDim = dim3(block[0], block[1], block[2]);
    count = block[0] * block[1] * block[2];
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                if (waits) {
                    run_block();
                    continue;
                }
                for (unsigned i = 0; i < (unsigned)count; i++) {
                    threadIdx = {i % block[0], i / block[0] % block[1], i / block[0] / block[1]};
                    body(arguments);
                }
            }
}

} // namespace stand_in

static inline void __syncthreads() { stand_in::wait(stand_in::AT_BLOCK); }
static inline void __syncwarp(unsigned = ~0u) { stand_in::wait(stand_in::AT_WARP); }

template <class T> static T __shfl_sync(unsigned, T value, int lane) { return stand_in::of_lane(value, lane % 32); }
template <class T> static T __shfl_xor_sync(unsigned, T value, int mask) {
    return stand_in::of_lane(value, stand_in::running % 32 ^ mask);
}
template <class T> static T __shfl_up_sync(unsigned, T value, unsigned by) {
    return stand_in::of_lane(value, stand_in::running % 32 - (int)by);
}
template <class T> static T __shfl_down_sync(unsigned, T value, unsigned by) {
    return stand_in::of_lane(value, stand_in::running % 32 + (int)by);
}

template <class T> static T atomicAdd(T *address, T value) {
    T before = *address;
    *address = before + value;
    return before;
}

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __clz(unsigned a) { return a ? __builtin_clz(a) : 32; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1 / a; }
static inline float __fsqrt_rn(float a) { return std::sqrt(a); }
static inline float __frsqrt_rn(float a) { return 1 / std::sqrt(a); }
static inline float rsqrt(float a) { return 1 / std::sqrt(a); }
#define __expf std::exp
#define __logf std::log
#define __sinf std::sin
#define __cosf std::cos
#define __powf std::pow
#define __tanhf std::tanh

template <class A, class B> static auto min(A a, B b) {
    using C = std::common_type_t<A, B>;
    return (C)a < (C)b ? (C)a : (C)b;
}
template <class A, class B> static auto max(A a, B b) {
    using C = std::common_type_t<A, B>;
    return (C)a > (C)b ? (C)a : (C)b;
}
using std::isinf;
using std::isnan;
