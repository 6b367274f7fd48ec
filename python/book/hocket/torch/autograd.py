"""torch.autograd, as far as the book uses it."""

from .._grad import gradients as _gradients


def grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=False):
    """The gradients of the sum of outputs by each of inputs, a tuple."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    return tuple(_gradients(outputs, list(inputs), grad_outputs, keep=retain_graph or create_graph, create_graph=create_graph))
