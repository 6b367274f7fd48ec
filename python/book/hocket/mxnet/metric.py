"""mxnet.metric, as far as the book uses it: means over what update is given."""

from .. import _core

_op = _core.operators


class EvalMetric:
    """One of one's own says _of(label, pred): a sum, and how many it is of."""

    def __init__(self, name=None):
        self.name = name or type(self).__name__.lower()
        self.reset()

    def reset(self):
        self.sum_metric, self.num_inst = 0.0, 0

    def update(self, labels, preds):
        """Arrays, or lists of them, one for each device."""
        labels, preds = ([x] if isinstance(x, _core.Array) else list(x) for x in (labels, preds))
        if len(labels) != len(preds):
            raise ValueError(f"there are {len(labels)} arrays of labels and {len(preds)} of predictions")
        for label, pred in zip(labels, preds):
            total, count = self._of(label, pred)
            self.sum_metric, self.num_inst = self.sum_metric + float(total), self.num_inst + count

    def get(self):
        """The name and the value."""
        return self.name, self._value(self.sum_metric / self.num_inst if self.num_inst else float("nan"))

    def _value(self, mean):
        return mean


class MSE(EvalMetric):
    """The mean squared error of each batch."""

    def _of(self, label, pred):
        return _op["mean"](_op["square"](label.reshape(pred.shape) - pred)), 1


class RMSE(MSE):
    """The root of the mean squared error."""

    def _value(self, mean):
        return mean ** 0.5


class Accuracy(EvalMetric):
    """How many predictions are right."""

    def _of(self, label, pred):
        pred = _op["argmax"](pred, 1) if pred.ndim > label.ndim else pred
        return _op["sum"](_op["cast"](pred.astype(label.dtype) == label, _core.float32)), label.size


class NegativeLogLikelihood(EvalMetric):
    """-log of the probability (n, classes) of each label."""

    def __init__(self, eps=1e-12, name=None):
        self.eps = eps
        super().__init__(name)

    def _of(self, label, pred):
        label = _op["cast"](label, _core.int64).reshape(-1, 1)
        chosen = _op["take_along_axis"](pred.reshape(label.shape[0], -1), label, 1)
        return -_op["sum"](_op["log"](chosen + self.eps)), label.shape[0]
