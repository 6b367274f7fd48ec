"""What stands for a book's own library in the test of scripts/run-book."""
from mxnet import np

randn = np.random.randn
