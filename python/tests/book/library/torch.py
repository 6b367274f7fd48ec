"""What stands for a book's own library in the test of scripts/run-book."""
import torch

randn = torch.randn
