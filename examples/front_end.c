/* The front end and the graph behind it, as in Dive into Deep Learning, "Asynchronous Computation": z = x * y + 2.
 * Four calls return at once; the engine knows which need which, and who prints z waits. Draws what ran:
 *
 *     HOCKET_TRACE=z.json front_end && hocket trace z.json --graph z.svg */
#include <hocket/hocket.h>

int main(void)
{
    HK_SCOPE;
    hk_device cpu = hk_device_default();
    hk_array *x = hk_ones(hk_shape(1, 2), HK_F32, cpu);
    hk_array *y = hk_ones(hk_shape(1, 2), HK_F32, cpu);
    hk_array *z = hk_add(hk_multiply(x, y), 2);
    return hk_print(z, stdout); /* [[3. 3.]] */
}
