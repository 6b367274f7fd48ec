/* Ends what conv2d_image.inc.c began, so that it can be included for another width. */
#undef IMAGE_N
#undef IMAGE_FN
#undef IMAGE_RELU
#undef IMAGE_FOUR
#undef IMAGE_INLINE
#undef IMAGE_KERNELS
#undef UNROLL
#undef V
#undef M
#undef L
