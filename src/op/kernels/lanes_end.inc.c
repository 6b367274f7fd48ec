/* Takes back what lanes.inc.c defines. */
#undef V
#undef M
#undef VU
#undef T
#undef L
#undef ZIP_LO
#undef ZIP_HI
#undef EACH_LANE
#undef LANES_INLINE
#undef UNROLL
