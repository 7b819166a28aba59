// Tensor cores, as CUDA's mma.h offers them, on the CPU: every lane of a warp holds the whole of a fragment and computes the whole
// product, so that lanes have nothing to exchange. What they read and write, they do together.
#pragma once

#include "threads.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32 {};
} // namespace precision

template <class T> struct Stored {
    using type = T;
};
template <> struct Stored<precision::tf32> {
    using type = float;
};

template <class Use, int M, int N, int K> struct Shape;
template <int M, int N, int K> struct Shape<matrix_a, M, N, K> {
    static const int rows = M, columns = K;
};
template <int M, int N, int K> struct Shape<matrix_b, M, N, K> {
    static const int rows = K, columns = N;
};
template <int M, int N, int K> struct Shape<accumulator, M, N, K> {
    static const int rows = M, columns = N;
};

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    using Element = typename Stored<T>::type;
    static const int rows = Shape<Use, M, N, K>::rows, columns = Shape<Use, M, N, K>::columns;
    static const int num_elements = rows * columns;
    // Row by row.
    Element x[num_elements];
};

// To 10 bits after the point.
static inline float __float_to_tf32(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & ~0x1fffu;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

template <class F, class V> static void fill_fragment(F &to, V value) {
    for (auto &x : to.x) x = (typename F::Element)value;
}

template <class F, class P> static void load(F &to, const P *from, unsigned stride, bool by_rows) {
    for (int i = 0; i < F::rows; i++)
        for (int j = 0; j < F::columns; j++)
            to.x[i * F::columns + j] = (typename F::Element)(by_rows ? from[i * stride + j] : from[j * stride + i]);
    __syncwarp();
}

template <class U, int M, int N, int K, class T, class P>
static void load_matrix_sync(fragment<U, M, N, K, T, row_major> &to, const P *from, unsigned stride) {
    load(to, from, stride, true);
}
template <class U, int M, int N, int K, class T, class P>
static void load_matrix_sync(fragment<U, M, N, K, T, col_major> &to, const P *from, unsigned stride) {
    load(to, from, stride, false);
}
template <int M, int N, int K, class T, class P>
static void load_matrix_sync(fragment<accumulator, M, N, K, T> &to, const P *from, unsigned stride, layout_t layout) {
    load(to, from, stride, layout == mem_row_major);
}

template <int M, int N, int K, class T, class P>
static void store_matrix_sync(P *to, const fragment<accumulator, M, N, K, T> &from, unsigned stride, layout_t layout) {
    __syncwarp();
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) (layout == mem_row_major ? to[i * stride + j] : to[j * stride + i]) = (P)from.x[i * N + j];
    __syncwarp();
}

template <int M, int N, int K, class A, class B, class LA, class LB, class D, class C>
static void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, A, LA> &a,
                     const fragment<matrix_b, M, N, K, B, LB> &b, const fragment<accumulator, M, N, K, C> &c) {
    float left[M * K], right[K * N];
    for (int i = 0; i < M * K; i++) left[i] = (float)a.x[i];
    for (int i = 0; i < K * N; i++) right[i] = (float)b.x[i];
    for (int i = 0; i < M; i++) {
        float sums[N];
        for (int j = 0; j < N; j++) sums[j] = (float)c.x[i * N + j];
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++) sums[j] += left[i * K + k] * right[k * N + j];
        for (int j = 0; j < N; j++) d.x[i * N + j] = (typename fragment<accumulator, M, N, K, D>::Element)sums[j];
    }
}

} // namespace wmma
} // namespace nvcuda
