"""What stands for a book's own library in the test of python/book/run-book."""
import torch

randn = torch.randn
