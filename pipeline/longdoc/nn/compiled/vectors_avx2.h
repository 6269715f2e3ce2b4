// Eight floats.
struct V {
  static constexpr int kWidth = 8, kRows = 6;  // of queries that are worked on together: 12 sums and 4 registers left
  __m256 x;
  V() = default;
  V(__m256 y) : x(y) {}
  static V all(float y) { return _mm256_set1_ps(y); }
  static V load(const float *p) { return _mm256_loadu_ps(p); }
  void store(float *p) const { _mm256_storeu_ps(p, x); }
  V operator+(V y) const { return _mm256_add_ps(x, y.x); }
  V operator-(V y) const { return _mm256_sub_ps(x, y.x); }
  V operator*(V y) const { return _mm256_mul_ps(x, y.x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a.x, b.x, c.x); }
  static V max(V a, V b) { return _mm256_max_ps(a.x, b.x); }  // b where one of them is NaN
  static V rounded(V a) { return _mm256_round_ps(a.x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // a * 2^exponent; exactly 0 below the smallest normal number, NaN stays.
  static V scaled(V a, V exponent) {
    const __m256 lowest = _mm256_set1_ps(-126.0f);
    __m256i whole = _mm256_cvtps_epi32(_mm256_max_ps(exponent.x, lowest));
    __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(127)), 23));
    __m256 vanishes = _mm256_cmp_ps(exponent.x, lowest, _CMP_LT_OQ);
    return _mm256_andnot_ps(vanishes, _mm256_mul_ps(a.x, power));
  }
  float sum() const {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
  }
  float largest() const {
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
  }
  // `kept` where sixteen bits are at least `dropped`, else 0.
  static V kept(const uint16_t *bits, int dropped, float kept) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)bits));
    __m256 gone = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(dropped), wide));
    return _mm256_andnot_ps(gone, _mm256_set1_ps(kept));
  }
};
