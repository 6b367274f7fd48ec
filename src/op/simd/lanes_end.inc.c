/* Takes back what lanes.inc.c defines. */
#undef V
#undef M
#undef VU
#undef T
#undef L
#undef EACH_LANE
#undef LANES_INLINE
#undef UNROLL
