/* Convolution of images, channels in the lanes: whatever the compiler has by default, with 16-byte vectors. */
#include "op/conv/conv2d_image_kernels.h"

#define IMAGE_WINDOWS 3
#define IMAGE_VECTORS 3
#define IMAGE_TARGET

#define IMAGE_N        4
#define IMAGE_FN(name) name##_4
#include "op/conv/conv2d_image.inc.c"
static const hki_conv2d_image_kernels whole = IMAGE_KERNELS;

const hki_conv2d_image_kernels *const hki_conv2d_image_kernels_portable[2] = {&whole, &whole};
