#include "op/complex/complex_rows.h"

#include "op/complex/complex_math.h"

typedef double _Complex number;

/* Inputs of which there is one for all have steps of 0. */
#define AT(T, index) (*(const T *)(run->in[index] + i * run->in_step[index]))

#define LOOP(name, R, inputs, expression)                                                          \
    int64_t hki_complex_loop_##name(const hki_run *run)                                            \
    {                                                                                              \
        const double s = ((const hki_numbers *)run->given)->s;                                     \
        R *out = (R *)run->out;                                                                    \
        (void)s;                                                                                   \
        for (int64_t i = 0; i < run->n; i++) {                                                     \
            inputs out[i] = (R)(expression);                                                       \
        }                                                                                          \
        return -1;                                                                                 \
    }
#define ONE const number a = AT(number, 0);
#define TWO const number a = AT(number, 0), b = AT(number, 1);
#define THREE                                                                                      \
    const uint8_t a = AT(uint8_t, 0);                                                              \
    const number b = AT(number, 1), c = AT(number, 2);

#define LOOP_U1(name, expression)  LOOP(name, number, ONE, expression)
#define LOOP_U1S(name, expression) LOOP(name, number, ONE, expression)
#define LOOP_R1(name, expression)  LOOP(name, double, ONE, expression)
#define LOOP_C1(name, expression)  LOOP(name, uint8_t, ONE, expression)
#define LOOP_U2(name, expression)  LOOP(name, number, TWO, expression)
#define LOOP_C2(name, expression)  LOOP(name, uint8_t, TWO, expression)
#define LOOP_W3(name, expression)  LOOP(name, number, THREE, expression)

#define ROW(kind, name, ns, expression, gradient) LOOP_##kind(name, expression)
#define OWN                                       ROW
#define PARTS                                     ROW
#include "op/complex/complex.def"

LOOP(pair, number, const double a = AT(double, 0); const double b = AT(double, 1);
     , hki_complex_make(a, b))
