/* Takes back what conv2d_winograd.inc.c defines. */

#undef N_MAX
#undef R_MAX
#undef BY_TILE
