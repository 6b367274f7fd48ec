"""Keys that are more than ints, slices, ... and None: arrays of indices and masks."""


def get(x, key):
    raise NotImplementedError


def set(x, key, value):
    raise NotImplementedError
