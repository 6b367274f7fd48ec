/* Functions of one source for the processor and for GPUs. */
#ifndef HOCKET_BASE_EVERYWHERE_H
#define HOCKET_BASE_EVERYWHERE_H

#ifdef __CUDACC__
#define HKI_EVERYWHERE static inline __host__ __device__
#else
#define HKI_EVERYWHERE static inline __attribute__((always_inline))
#endif

#endif
