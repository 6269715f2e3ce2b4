// Attention for the CPU: the doors for Python, and which kernels this processor can run.
//
// Plain C functions, called through ctypes: nothing of Python or torch is needed to build them. A call computes the
// heads [first, last) of all rows, counted row by row, in the calling thread; callers share heads among threads.
#if !defined(__x86_64__)
#error "written for x86-64; without it attention is torch's"
#endif

#include "attention.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace longdoc {

// Memory of the calling thread, aligned to a line of the cache; what a call leaves in it is gone with the next.
static float *scratch(int64_t floats) {
  static thread_local struct Buffer {
    float *memory = nullptr;
    int64_t size = 0;
    ~Buffer() { std::free(memory); }
  } buffer;
  if (floats > buffer.size) {
    std::free(buffer.memory);
    buffer.size = 0;
    buffer.memory = (float *)std::aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64);
    if (!buffer.memory) throw std::bad_alloc();
    buffer.size = floats;
  }
  return buffer.memory;
}

#if defined(__clang__)
#define BEGIN(...) _Pragma(#__VA_ARGS__)
#define TARGET(features) BEGIN(clang attribute push(__attribute__((target(features))), apply_to = function))
#define TARGET_END _Pragma("clang attribute pop")
#else
#define BEGIN(...) _Pragma(#__VA_ARGS__)
#define TARGET(features) _Pragma("GCC push_options") BEGIN(GCC target(features))
#define TARGET_END _Pragma("GCC pop_options")
#endif

TARGET("avx2,fma")
namespace avx2 {
#include "vectors_avx2.h"
#include "attention_fp32.inc"
}  // namespace avx2
TARGET_END

TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")
namespace avx512 {
#include "vectors_avx512.h"
#include "attention_fp32.inc"
}  // namespace avx512
TARGET_END

#if defined(LONGDOC_EMULATE_TILES)
#define HAS_TILES 1
TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")
#elif defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define HAS_TILES 1
TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16,avx2,fma")
#else
TARGET("avx2")
#endif
namespace amx {
#if defined(HAS_TILES)
#include "attention_amx.inc"
#else  // this compiler does not know them
static void begin() {}
static void end() {}
static void forward_head(const Attention &, int64_t, int64_t) {}
#endif
}  // namespace amx
TARGET_END

// Whether the processor has tiles of bfloat16, and the system lends them to this process.
static bool lends_tiles() {
#if !defined(HAS_TILES)
  return false;
#elif defined(LONGDOC_EMULATE_TILES)
  return true;
#else
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1) || !(d >> 22 & 1)) return false;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1)) return false;  // AVX512-BF16
  constexpr int kAskForPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
#endif
}

}  // namespace longdoc

using longdoc::Attention;

extern "C" {

int longdoc_attention_abi() { return longdoc::kAbi; }

int longdoc_attention_size() { return (int)sizeof(Attention); }

// Bits of `Level`: the kernels that run here.
int longdoc_attention_levels() {
  int levels = 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) levels |= longdoc::kAvx2;
  if (levels && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    levels |= longdoc::kAvx512;
  if (levels & longdoc::kAvx512 && longdoc::lends_tiles()) levels |= longdoc::kAmx;
  return levels;
}

// 0 = done, 1 = no memory, 2 = no such kernel.
int longdoc_attend(const Attention *A, int64_t first, int64_t last) {
  try {
    if (A->level == longdoc::kAmx) longdoc::amx::begin();
    for (int64_t i = first; i < last; i++) {
      const int64_t n = i / A->heads, h = i % A->heads;
      if (A->level == longdoc::kAvx512) longdoc::avx512::forward_head(*A, n, h);
      else if (A->level == longdoc::kAvx2) longdoc::avx2::forward_head(*A, n, h);
      else if (A->level == longdoc::kAmx) longdoc::amx::forward_head(*A, n, h);
      else return 2;
    }
    if (A->level == longdoc::kAmx) longdoc::amx::end();
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

// As longdoc_attend. `out` and `log_sums` are those of forward.
int longdoc_attend_backward(const Attention *A, int64_t first, int64_t last) {
  try {
    for (int64_t i = first; i < last; i++) {
      const int64_t n = i / A->heads, h = i % A->heads;
      if (A->level == longdoc::kAvx512) longdoc::avx512::backward_head(*A, n, h);
      else if (A->level == longdoc::kAvx2) longdoc::avx2::backward_head(*A, n, h);
      else return 2;
    }
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}
}
