// Sixteen floats.
struct V {
  static constexpr int kWidth = 16, kRows = 12;  // of queries that are worked on together: 24 sums and 8 registers left
  __m512 x;
  V() = default;
  V(__m512 y) : x(y) {}
  static V all(float y) { return _mm512_set1_ps(y); }
  static V load(const float *p) { return _mm512_loadu_ps(p); }
  void store(float *p) const { _mm512_storeu_ps(p, x); }
  V operator+(V y) const { return _mm512_add_ps(x, y.x); }
  V operator-(V y) const { return _mm512_sub_ps(x, y.x); }
  V operator*(V y) const { return _mm512_mul_ps(x, y.x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a.x, b.x, c.x); }
  static V max(V a, V b) { return _mm512_max_ps(a.x, b.x); }  // b where one of them is NaN
  static V rounded(V a) { return _mm512_roundscale_ps(a.x, 0x08); }
  static V scaled(V a, V exponent) { return _mm512_scalef_ps(a.x, exponent.x); }  // a * 2^exponent, down to 0
  float sum() const { return _mm512_reduce_add_ps(x); }
  float largest() const { return _mm512_reduce_max_ps(x); }
  // `kept` where sixteen bits are at least `dropped`, else 0.
  static V kept(const uint16_t *bits, int dropped, float kept) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)bits));
    return _mm512_maskz_mov_ps(_mm512_cmpge_epi32_mask(wide, _mm512_set1_epi32(dropped)), _mm512_set1_ps(kept));
  }
};
