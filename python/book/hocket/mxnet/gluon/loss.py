"""Losses of each sample, (n,): the mean over all axes but the first."""

from ... import _core
from ...nn import functional as _functional
from .nn import Block

_op = _core.operators


class Loss(Block):
    """One's own says forward."""

    def __init__(self, weight=None, batch_axis=0, **unused):
        self._weight = weight

    def _of_samples(self, losses, sample_weight):
        losses = losses if sample_weight is None else losses * sample_weight
        losses = losses if self._weight is None else losses * self._weight
        return losses if losses.ndim == 1 else _op["mean"](losses, tuple(range(1, losses.ndim)))


class L2Loss(Loss):
    """Half the squared error."""

    def forward(self, pred, label, sample_weight=None):
        return self._of_samples(_op["square"](pred - label.reshape(pred.shape)) / 2, sample_weight)


class L1Loss(Loss):
    """The absolute error."""

    def forward(self, pred, label, sample_weight=None):
        return self._of_samples(_op["abs"](pred - label.reshape(pred.shape)), sample_weight)


class SoftmaxCrossEntropyLoss(Loss):
    """-log(softmax(pred)[label]) along the axis of classes; labels are integers of any dtype."""

    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0):
        super().__init__(weight)
        self._axis = axis

    def forward(self, pred, label, sample_weight=None):
        losses = _functional.cross_entropy(pred, _op["cast"](label, _core.int64), "none", axis=self._axis)
        if sample_weight is not None and sample_weight.ndim == losses.ndim + 1:
            sample_weight = _op["squeeze"](sample_weight, self._axis)
        return self._of_samples(losses, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class SigmoidBinaryCrossEntropyLoss(Loss):
    def forward(self, pred, label, sample_weight=None):
        return self._of_samples(_functional.binary_cross_entropy_with_logits(pred, label.reshape(pred.shape), "none"), sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
