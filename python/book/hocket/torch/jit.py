"""torch.jit: calls are asynchronous anyway, and Hocket compiles no Python; hocket.capture is what replays steps."""


def script(obj):
    """The module or function itself."""
    return obj


def trace(func, example_inputs=None):
    """The module or function itself."""
    return func
