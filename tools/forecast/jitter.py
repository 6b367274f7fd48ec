"""Random factors for the times of calls: the same seed gives the same factors on every machine.

The numbers come from Philox4x32-10, a counter-based generator (Salmon and others, "Parallel random numbers: as easy as
1, 2, 3", SC'11): what a device's call gets depends on nothing but the seed, the device and the call.
"""

from math import cos, exp, log, sqrt

_PURPOSE = 0x666F7265  # keeps these numbers apart from those of other uses of the same seed
_MASK = 0xFFFFFFFF


def philox(counter: tuple[int, int, int, int], seed: int) -> tuple[int, int, int, int]:
    """Four random words."""
    c0, c1, c2, c3 = counter
    k0, k1 = seed & _MASK, seed >> 32 & _MASK
    for _ in range(10):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0 = (product1 >> 32) ^ c1 ^ k0
        c1 = product1 & _MASK
        c2 = (product0 >> 32) ^ c3 ^ k1
        c3 = product0 & _MASK
        k0 = (k0 + 0x9E3779B9) & _MASK
        k1 = (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


def factor(spread: float, seed: int, device: int, node: int) -> float:
    """A factor with mean 1 whose logarithm is normal with the deviation `spread` (by Box and Muller)."""
    first, second, _, _ = philox((node, device & _MASK, device >> 32, _PURPOSE), seed)
    u, v = (first + 1) / 4294967296.0, second / 4294967296.0
    normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v)
    return exp(spread * normal - spread * spread / 2)
