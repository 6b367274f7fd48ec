"""What a Python has for GPUs, for scripts/gpu-bundle.

pytorch    says which PyTorch there is, and what it sees; exit status 77 without one that has a GPU
libraries  the folders with libraries of NVIDIA's that this Python takes packages from, separated by colons
"""
import glob
import os
import sys


def pytorch():
    try:
        import torch
    except ImportError as error:
        print(f"no PyTorch for {sys.executable}: {error}")
        return 77
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} of {sys.executable} has no GPU here")
        return 77
    print(f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}")
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name(0)}")
    return 0


def libraries():
    folders = [os.path.join(sys.prefix, "lib")]  # conda's
    for path in filter(None, sys.path):
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib")) + [os.path.join(path, "torch", "lib")]
    print(":".join(folder for folder in folders
                   if glob.glob(os.path.join(folder, "libcu*.so*")) + glob.glob(os.path.join(folder, "libnccl.so*"))))
    return 0


if __name__ == "__main__":
    sys.exit({"pytorch": pytorch, "libraries": libraries}[sys.argv[1]]())
