"""What stands for a book's own library in the test of python/book/run-book."""
from mxnet import np

randn = np.random.randn
