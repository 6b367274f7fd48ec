/* Winograd's transformations along one axis, on vectors: F(m, r) with n = m + r - 1 = 4 or 6 elements of source for m results of a
   kernel of r. Cook and Toom's construction: x, y and w are polynomials, and their product is known at the points
   0, p, -p for each p below, and infinity.

       input         d -> the n values of the source that the products take
       values        polynomial of so many coefficients -> its values at the n points; at infinity its last coefficient
       coefficients  its transposition

   What is multiplied by 1 / M'(point), M being the product of (x - point), are weights: `weight_factor`.
   Points near 1 keep rounding small: by 0.625 and 1.5 errors are half of those by the usual 1 and 2, and all factors of
   `input` are exact. Barabasz, Anderson, Soodhalter and Gregg, "Error Analysis and Improving the Accuracy of Winograd
   Convolution for Deep Neural Networks", 2020. */

#define POINT_A ((T)0.625)
#define POINT_B ((T)1.5)
#define AA      ((T)(0.625 * 0.625))
#define BB      ((T)(1.5 * 1.5))

LANES_INLINE void LANES_FN(winograd_line_input)(const int n, const V *d, V *to)
{
    if (n == 4) {
        to[0] = d[2] - d[0];
        to[1] = d[2] + d[1];
        to[2] = d[2] - d[1];
        to[3] = d[3] - d[1];
        return;
    }
    const V even_a = d[4] - BB * d[2], odd_a = POINT_A * (d[3] - BB * d[1]);
    const V even_b = d[4] - AA * d[2], odd_b = POINT_B * (d[3] - AA * d[1]);
    to[0] = d[4] + (AA * BB) * d[0] - (AA + BB) * d[2];
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = d[5] + (AA * BB) * d[1] - (AA + BB) * d[3];
}

/* At p and -p. */
LANES_INLINE void LANES_FN(winograd_pair_values)(const int length, const T p, const V *x, V *to)
{
    V even = x[0], odd = x[1];
    if (length > 2)
        even = even + p * p * x[2];
    if (length > 3)
        odd = odd + p * p * x[3];
    if (length > 4)
        even = even + p * p * p * p * x[4];
    odd = p * odd;
    to[0] = even + odd;
    to[1] = even - odd;
}

LANES_INLINE void LANES_FN(winograd_line_values)(const int n, const int length, const V *x, V *to)
{
    to[0] = x[0];
    if (n == 4) {
        LANES_FN(winograd_pair_values)(length, 1, x, to + 1);
    } else {
        LANES_FN(winograd_pair_values)(length, POINT_A, x, to + 1);
        LANES_FN(winograd_pair_values)(length, POINT_B, x, to + 3);
    }
    to[n - 1] = x[length - 1];
}

/* Adds what p and -p have of each coefficient. */
LANES_INLINE void LANES_FN(winograd_pair_coefficients)(const int length, const T p, const V *s,
                                                       V *to)
{
    const V even = s[0] + s[1], odd = p * (s[0] - s[1]);
    to[0] = to[0] + even;
    to[1] = to[1] + odd;
    if (length > 2)
        to[2] = to[2] + p * p * even;
    if (length > 3)
        to[3] = to[3] + p * p * odd;
    if (length > 4)
        to[4] = to[4] + p * p * p * p * even;
}

LANES_INLINE void LANES_FN(winograd_line_coefficients)(const int n, const int length, const V *s,
                                                       V *to)
{
    to[0] = s[0];
    UNROLL for (int k = 1; k < length; k++) to[k] = (V){0};
    if (n == 4) {
        LANES_FN(winograd_pair_coefficients)(length, 1, s + 1, to);
    } else {
        LANES_FN(winograd_pair_coefficients)(length, POINT_A, s + 1, to);
        LANES_FN(winograd_pair_coefficients)(length, POINT_B, s + 3, to);
    }
    to[length - 1] = to[length - 1] + s[n - 1];
}

LANES_INLINE T LANES_FN(winograd_weight_factor)(const int n, const int point)
{
    const T a = 1 / (2 * AA * (AA - BB)), b = 1 / (2 * BB * (BB - AA));
    const T four[4] = {-1, (T)0.5, (T)0.5, 1}, six[6] = {1 / (AA * BB), a, a, b, b, 1};
    return n == 4 ? four[point] : six[point];
}

#undef POINT_A
#undef POINT_B
#undef AA
#undef BB
