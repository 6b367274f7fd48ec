/* Memory for what is made and dropped all the time, of one size. Each thread keeps what it freed last for what it makes
 * next. Where one thread makes and others drop, they give it back many at a time, and each is on its way to the core that
 * takes it before it does: allocators for all sizes find out one cache miss after another. Thread-safe. */
#ifndef HOCKET_BASE_BLOCK_H
#define HOCKET_BASE_BLOCK_H

#include <stdint.h>

enum { HKI_BLOCK_BYTES = 448 };

/* HKI_BLOCK_BYTES, aligned to 64, not cleared. NULL: no memory. */
void *hki_block_take(void);
void hki_block_put(void *block);
/* Gives back to the system what nobody uses: blocks that no thread or this one keeps, and what the C library keeps of freed
 * memory, where that can be asked for it. Takes milliseconds where much was freed; for the end of a runtime. */
void hki_block_trim(void);
/* Bytes of all blocks of the process, in use and kept. */
int64_t hki_block_bytes(void);

#endif
