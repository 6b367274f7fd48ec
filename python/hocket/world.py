"""Processes that compute together: ``mpirun -n 4 python train.py``.

Each process is a rank. All ranks make the same calls, in the same order; none of them waits. Without a launcher there is one rank, and
everything here works. ``docs/MACHINES.md`` is the guide.
"""

import atexit as _atexit

from . import _core

__all__ = ["Group", "Owners", "deinit", "group", "init", "library", "rank", "size"]


def init(*, mode=None, timeout=0.0, patience=0.0, sum=None, route=None):
    """Starts the world before the first call that needs it, and waits for all ranks. mode: 'auto', 'off' or 'mpi' (HOCKET_WORLD).
    timeout: seconds without a sign of life, after which a rank is lost (HOCKET_WORLD_TIMEOUT). patience: seconds that one which
    gives such signs may be late (HOCKET_WORLD_PATIENCE). sum: 'same', or 'library' for MPI's own, whose bytes depend on the library
    (HOCKET_WORLD_SUM). route: what is on GPUs goes from GPU to GPU where it can ('auto'), by the 'host', or 'direct' or not at all
    (HOCKET_WORLD_ROUTE)."""
    _core._world_init(mode, timeout, patience, sum, route)
    group()


def deinit():
    """Ends the world: waits for what this rank has issued, and for the other ranks' ends. What groups are asked for afterwards fails. The end
    of Python does it by itself, before mpi4py ends MPI; a program that calls ``MPI.Finalize()`` itself calls this first."""
    _core._world_deinit()


def _rows(arrays):
    """Arrays one by one, and on how many devices each is."""
    rows = [list(row) if isinstance(row, (list, tuple)) else [row] for row in arrays]
    devices = len(rows[0]) if rows else 1
    if any(len(row) != devices for row in rows):
        raise ValueError("each array is to be on as many devices as the others")
    return [x for row in rows for x in row], devices


class Group:
    """Some ranks, and what they do together. ``hk.world.group()`` has all of them."""

    def __init__(self, handle):
        self._handle = handle
        self.rank, self.size = _core._group_facts(handle)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # the ranks are the same ones

    def __reduce__(self):
        raise TypeError("a Group is of this process, and is not pickled; the other one makes its own, by hk.world.group() and split()")

    def __repr__(self):
        return f"<Group: rank {self.rank} of {self.size}>"

    def split(self, color, key=0):
        """A group of the ranks with this colour, in the order of their keys; None for a colour below 0. Waits for all ranks."""
        handle = _core._group_split(self._handle, color, key)
        return None if handle is None else Group(handle)

    def all_reduce(self, arrays, bucket_bytes=0):
        """Replaces each array by its sum over all ranks, in place. An array on several devices is a list, one for each; then the sum
        is over all of them too. Give gradients of last layers first: they are there first."""
        arrays, devices = _rows(arrays)
        _core._group_in_place(self._handle, arrays, devices, -1 - bucket_bytes)

    def broadcast(self, arrays, root=0):
        """Overwrites the arrays, as above, by those of rank ``root``."""
        arrays, devices = _rows(arrays)
        if not 0 <= root < self.size:
            raise ValueError(f"root is {root}; the group has ranks 0 to {self.size - 1}")
        _core._group_in_place(self._handle, arrays, devices, root)

    def sum(self, x):
        """The sum of all ranks' x."""
        return _core._group_sum(self._handle, x)

    def reduce_scatter(self, x):
        """This rank's slice of that sum, along the first axis."""
        return _core._group_reduce_scatter(self._handle, x)

    def all_gather(self, x):
        """All ranks' x, one after the other along the first axis."""
        return _core._group_all_gather(self._handle, x)

    def all_to_all(self, x):
        """Slice r of x, along the first axis, goes to rank r; what came from rank r is slice r."""
        return _core._group_all_to_all(self._handle, x)

    def share(self, x):
        """x, which is the same on all ranks, for each to compute a part of a layer with. The gradient is the sum of the ranks'."""
        return _core._group_share(self._handle, x)

    def join(self, part):
        """The sum of the ranks' parts, with which all go on and compute the same. The gradient is passed as it is."""
        return _core._group_join(self._handle, part)

    def send(self, x, to):
        """Sends x to a rank, which receives it. The result is there when it has been sent.

        Within record() the result is a zero whose backward() receives the gradient of x from there."""
        return _core._group_send(self._handle, x, to)

    def receive(self, shape, dtype, source, device=None):
        """What rank ``source`` sends; within record() backward() sends its gradient there."""
        return _core._group_receive(self._handle, shape, dtype, device, source)

    def barrier(self):
        """Waits until all ranks have called it."""
        int(_core._group_barrier(self._handle))

    def owners(self):
        """Arrays that each belong to a rank, for a program that all ranks run: see Owners."""
        return Owners(self)


class Owners:
    """One program on many ranks, by its calls: each array has an owner, and a call is made by the rank that owns what it writes; what that
    rank lacks is sent to it. All ranks make the same calls here, in the same order, and none of them waits::

        owners = hk.world.group().owners()
        a, b = owners.zeros(0, (64, 64)), owners.zeros(1, (64, 64))
        if owners.here(reads=[a], updates=[b]):
            hk.add(b, a, out=b)                     # on rank 1, after a has come from rank 0

    An Array whose current values a rank does not have raises ValueError when it is looked at there.
    """

    def __init__(self, group):
        self._group, self._handle, self._arrays = group, _core._owners_create(group._handle), {}

    def zeros(self, owner, shape, dtype=None, device=None):
        """An Array of zeros that belongs to this rank; the others have memory for it once they need its values.

        >>> hk.world.group().owners().zeros(0, (2,))
        array([0., 0.], device='cpu:0')
        """
        x = _core._owners_zeros(self._handle, owner, shape, _core.float32 if dtype is None else dtype, device)
        self._arrays[id(x)] = x
        return x

    def here(self, *, reads=(), writes=(), updates=()):
        """Whether this rank is to make the call that uses these Arrays so: the owner of the first that it writes or updates, or, where there is
        none, of the first that it reads. Arrays are whole: views are made behind the question.

        >>> owners = hk.world.group().owners()
        >>> owners.here(updates=[owners.zeros(0, (2,))])
        True
        """
        return self._ask(-1, reads, writes, updates)

    def at(self, rank, *, reads=(), writes=(), updates=()):
        """The same where this rank of the group is to make the call, to print a result for one."""
        if not 0 <= rank < self._group.size:
            raise ValueError(f"rank is {rank}; the group has ranks 0 to {self._group.size - 1}")
        return self._ask(rank, reads, writes, updates)

    def _ask(self, rank, reads, writes, updates):
        uses = [(x, mode) for some, mode in ((reads, 1), (writes, 2), (updates, 3)) for x in some]
        if not uses:
            raise ValueError("no arrays are given; a call reads, writes or updates some")
        if any(self._arrays.get(id(x)) is not x for x, _ in uses):
            raise ValueError("an array that is used is not one that zeros() of these owners made; views are made behind the question")
        return _core._owners_at(self._handle, rank, [x for x, _ in uses], bytes(mode for _, mode in uses))

    def __repr__(self):
        return f"<Owners of {len(self._arrays)} arrays, on rank {self._group.rank} of {self._group.size}>"


_world = None


def group():
    """All ranks."""
    global _world
    if _world is None:
        _world = Group(_core._group_world())
        _atexit.register(deinit)
    return _world


def rank():
    """This process's number, from 0."""
    return group().rank


def size():
    """How many processes there are."""
    return group().size


def library():
    """The library that ranks talk by, such as 'Open MPI v4.1.4'; '' in a world of one."""
    group()
    return _core._world_library()
