// What callers and kernels agree on. `library.py` has the same structure in Python; `kAbi` counts its changes.
#pragma once
#include <cstdint>

namespace longdoc {

constexpr int kAbi = 1;

// Instructions that a kernel needs; the bits of longdoc_attention_levels().
enum Level : int32_t { kAvx2 = 1, kAvx512 = 2, kAmx = 4 };

// One attention. Strides count elements; the last axis of all tensors lies side by side.
struct Attention {
  const void *q, *k, *v;         // (N, H, Lq, D), (N, H, Lk, D) twice: float32, or bfloat16 for kAmx
  void *out;                     // (N, H, Lq, D), of the same type
  const float *added;            // on the scaled scores, (N, H, Lq, Lk) with strides that may be 0; null = nothing
  float *log_sums;               // (N, H, Lq): what backward needs, log2 of the sums of 2^score; null = not wanted
  const float *grad_out;         // from here on for backward alone, float32 all of it
  float *grad_q, *grad_k, *grad_v;
  int64_t rows, heads, queries, keys, width;
  int64_t q_stride[3], k_stride[3], v_stride[3], out_stride[3];  // N, H, L
  int64_t added_stride[3];                                       // N, H, query
  int64_t grad_out_stride[3], grad_q_stride[3], grad_k_stride[3], grad_v_stride[3];
  uint64_t seed;                 // of dropout
  float scale;
  int32_t dropped;               // of 65536 weights so many are zeroed
  int32_t level;                 // the kernel to take
};

}  // namespace longdoc
