/* A share of a value, for processors and GPUs alike. */
#ifndef HOCKET_OP_SHARE_H
#define HOCKET_OP_SHARE_H

/* share * value, and 0 where share is 0: what does not count must not make NaN of what is infinite. */
#define HKI_SHARE(share, value) ((share) != 0 ? (share) * (value) : 0)

#endif
