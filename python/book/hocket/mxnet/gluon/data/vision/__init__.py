"""Data sets of images, and transforms."""

from . import datasets, transforms
from .datasets import CIFAR10, MNIST, FashionMNIST, ImageFolderDataset
