"""What the dialects of PyTorch and of MXNet share."""
