"""The cases of bench/operators: what is called, on which inputs, in which library's words.

An expression under "all" serves every library that it runs in; `lib` is the library. In those of one library, `hk` is hocket,
`torch` and `F` (torch.nn.functional) PyTorch; NumPy has only `lib`. Shapes are those of programs that people write.
"""


class Case:
    """inputs: name to a shape (float32, -1 to 1) or to (shape, dtype, low, high). before: statements, done once."""

    def __init__(self, group, name, inputs, expressions, before=()):
        if isinstance(expressions, str):
            expressions = {"hocket": expressions, "torch": expressions, "numpy": expressions}
        self.group, self.name, self.inputs, self.expressions, self.before = group, name, inputs, expressions, before


CASES = []


def case(group, name, inputs, everywhere=None, before=(), **of_one):
    libraries = {"hocket": everywhere, "torch": everywhere, "numpy": everywhere} if everywhere else {}
    CASES.append(Case(group, name, inputs, {**libraries, **of_one}, before))


SIZES = [(10**2,), (10**4,), (10**6,), (10**7,)]
POSITIVE = lambda shape: (shape, "float32", 0.1, 2)  # noqa: E731


# ---- element by element
for size in SIZES:
    n = f"{size[0]:.0e}".replace("e+0", "e")
    for name, text in [("add", "x + y"), ("multiply by a number", "x * 3.0"), ("exp", "lib.exp(x)"), ("tanh", "lib.tanh(x)"),
                       ("greater", "x > y")]:
        case("elementwise", f"{name}, {n}", {"x": size, "y": size}, text)
for size in SIZES[1:3]:
    n = f"{size[0]:.0e}".replace("e+0", "e")
    for name, text in [("log", "lib.log(x)"), ("sqrt", "lib.sqrt(x)"), ("sin", "lib.sin(x)"), ("divide", "x / y"),
                       ("power of a number", "x ** 2.5"), ("power", "x ** y"), ("square", "x ** 2")]:
        case("elementwise", f"{name}, {n}", {"x": POSITIVE(size), "y": POSITIVE(size)}, text)
    case("elementwise", f"where, {n}", {"x": size, "y": size}, "lib.where(x > 0, x, y)")
    case("elementwise", f"tanh float64, {n}", {"x": (size, "float64", -1, 1)}, "lib.tanh(x)")
    case("elementwise", f"sigmoid, {n}", {"x": size}, hocket="hk.sigmoid(x)", torch="torch.sigmoid(x)")
    case("elementwise", f"relu, {n}", {"x": size}, hocket="hk.relu(x)", torch="torch.relu(x)", numpy="lib.maximum(x, 0)")
    case("elementwise", f"gelu, {n}", {"x": size}, hocket="hk._core.operators['gelu'](x)", torch="F.gelu(x)")
    case("elementwise", f"erf, {n}", {"x": size}, hocket="hk._core.operators['erf'](x)", torch="torch.erf(x)")
case("elementwise", "row added to a matrix", {"x": (1000, 1000), "y": (1000,)}, "x + y")
case("elementwise", "column added to a matrix", {"x": (1000, 1000), "y": (1000, 1)}, "x + y")
case("elementwise", "row added to 100000x10", {"x": (10**5, 10), "y": (10,)}, "x + y")
case("elementwise", "column added to 100000x10", {"x": (10**5, 10), "y": (10**5, 1)}, "x + y")
case("elementwise", "matrix plus its transpose", {"x": (1000, 1000)}, "x + x.T")

# ---- reductions
for shape in [(1000, 1000), (10**5, 10), (256, 64, 28, 28)]:
    axes = [None, 0, 1, -1] if len(shape) == 2 else [None, 1, (0, 2, 3)]
    for axis in axes:
        where = "" if axis is None else f", axis {axis}"
        of = "x".join(map(str, shape))
        torch_axis = "" if axis is None else f", dim={axis}"
        numpy_axis = "" if axis is None else f", axis={axis}"
        for name in ("sum", "mean", "max"):
            torch_name = "amax" if name == "max" else name
            case("reductions", f"{name} of {of}{where}", {"x": shape}, hocket=f"hk.{name}(x{numpy_axis})",
                 torch=f"torch.{torch_name}(x{torch_axis})", numpy=f"lib.{name}(x{numpy_axis})")
case("reductions", "argmax of 1000x1000, axis 1", {"x": (1000, 1000)}, hocket="hk.argmax(x, axis=1)",
     torch="torch.argmax(x, dim=1)", numpy="lib.argmax(x, axis=1)")
case("reductions", "var of 1000x1000, axis 1", {"x": (1000, 1000)}, hocket="hk.var(x, axis=1)",
     torch="torch.var(x, dim=1, correction=0)", numpy="lib.var(x, axis=1)")
case("reductions", "cumulative sum of 1000x1000, axis 1", {"x": (1000, 1000)}, hocket="hk.cumulative_sum(x, axis=1)",
     torch="torch.cumsum(x, 1)", numpy="lib.cumsum(x, axis=1)")
case("reductions", "sort of 1000x1000, axis 1", {"x": (1000, 1000)}, hocket="hk.sort(x, axis=1)",
     torch="torch.sort(x, dim=1)", numpy="lib.sort(x, axis=1)")

# ---- softmax, norms, losses
for shape in [(256, 10), (256, 1000), (64, 8, 128, 128)]:
    of = "x".join(map(str, shape))
    case("rows", f"softmax of {of}", {"x": shape}, hocket="hk._core.operators['softmax'](x, -1)", torch="torch.softmax(x, -1)")
    case("rows", f"log softmax of {of}", {"x": shape}, hocket="hk._core.operators['log_softmax'](x, -1)",
         torch="torch.log_softmax(x, -1)")
for shape in [(256, 1000), (64, 128, 512)]:
    of = "x".join(map(str, shape))
    f = shape[-1]
    case("rows", f"layer norm of {of}", {"x": shape, "g": (f,), "b": (f,)}, hocket="hk._core.operators['layer_norm'](x, g, b)",
         torch=f"F.layer_norm(x, ({f},), g, b)")
case("rows", "batch norm of 64x64x28x28", {"x": (64, 64, 28, 28), "g": (64,), "b": (64,)},
     hocket="hk._core.operators['batch_norm'](x, g, b)", torch="F.batch_norm(x, None, None, g, b, training=True)")
case("rows", "cross entropy of 256x10", {"x": (256, 10), "y": ((256,), "int64", 0, 10)},
     hocket="hk._core.operators['softmax_cross_entropy'](x, y)", torch="F.cross_entropy(x, y, reduction='none')")
for shape in [(64, 4, 32, 32), (8, 8, 512, 64), (2, 8, 2048, 64)]:
    of = "x".join(map(str, shape))
    inputs = {"q": shape, "k": shape, "v": shape}
    case("attention", f"attention, {of}", inputs, hocket="hk.nn.functional.scaled_dot_product_attention(q, k, v)",
         torch="F.scaled_dot_product_attention(q, k, v)")
    case("attention", f"causal attention, {of}", inputs, hocket="hk.nn.functional.scaled_dot_product_attention(q, k, v, causal=True)",
         torch="F.scaled_dot_product_attention(q, k, v, is_causal=True)")

# ---- products
for m, k, n in [(2, 2, 2), (64, 64, 64), (256, 784, 256), (1000, 1000, 1000), (2000, 2000, 2000), (1, 1000, 1000), (256, 800, 128)]:
    case("products", f"{m}x{k} times {k}x{n}", {"x": (m, k), "y": (k, n)}, "x @ y")
case("products", "1000x1000 transposed times 1000x1000", {"x": (1000, 1000), "y": (1000, 1000)}, "x.T @ y")
case("products", "64 of 128x64 times 64x128", {"x": (64, 128, 64), "y": (64, 64, 128)}, "x @ y")
case("products", "vectors of 1e6", {"x": (10**6,), "y": (10**6,)}, hocket="hk.vecdot(x, y)", torch="torch.dot(x, y)",
     numpy="lib.dot(x, y)")
case("products", "linear, 256 by 784 to 256", {"x": (256, 784), "w": (256, 784), "b": (256,)},
     hocket="hk._core.operators['linear'](x, w, b)", torch="F.linear(x, w, b)")

# ---- copies, joins, casts
case("copies", "copy of a transposed 1000x1000", {"x": (1000, 1000)}, hocket="hk._core.operators['copy'](x.T)",
     torch="x.T.contiguous()", numpy="lib.ascontiguousarray(x.T)")
case("copies", "copy of 1e6", {"x": (10**6,)}, hocket="hk._core.operators['copy'](x)", torch="x.clone()", numpy="x.copy()")
case("copies", "permuted 64x3x64x64 to channels last", {"x": (64, 3, 64, 64)},
     hocket="hk._core.operators['copy'](hk._core.operators['permute_dims'](x, (0, 2, 3, 1)))",
     torch="x.permute(0, 2, 3, 1).contiguous()", numpy="lib.ascontiguousarray(x.transpose(0, 2, 3, 1))")
case("copies", "join of two 500x1000, axis 0", {"x": (500, 1000), "y": (500, 1000)}, hocket="hk.concat((x, y), axis=0)",
     torch="torch.cat((x, y), 0)", numpy="lib.concatenate((x, y), 0)")
case("copies", "join of two 1000x500, last axis", {"x": (1000, 500), "y": (1000, 500)}, hocket="hk.concat((x, y), axis=-1)",
     torch="torch.cat((x, y), -1)", numpy="lib.concatenate((x, y), -1)")
case("copies", "join of two 100000x5, last axis", {"x": (10**5, 5), "y": (10**5, 5)}, hocket="hk.concat((x, y), axis=-1)",
     torch="torch.cat((x, y), -1)", numpy="lib.concatenate((x, y), -1)")
case("copies", "three columns of 100000x5", {"x": (10**5, 5)}, hocket="hk._core.operators['copy'](x[:, 1:4])",
     torch="x[:, 1:4].contiguous()", numpy="x[:, 1:4].copy()")
for source, target in [("float32", "int32"), ("float32", "float64"), ("int32", "float32"), ("uint8", "float32"),
                       ("float32", "float16"), ("float32", "bool")]:
    case("copies", f"{source} to {target}, 1e6", {"x": ((10**6,), source, 0, 100)}, hocket=f"hk.astype(x, hk.{target})",
         torch=f"x.to(torch.{target})", numpy=f"x.astype('{target}')")
case("copies", "ones of 1e6", {}, hocket="hk.ones((10**6,))", torch="torch.ones(10**6)", numpy="lib.ones(10**6, 'float32')")
case("copies", "arange of 1e6", {}, hocket="hk.arange(10**6)", torch="torch.arange(10**6)", numpy="lib.arange(10**6)")

# ---- random numbers
case("random", "uniform, 1e6", {}, hocket="hk.random.uniform((10**6,))", torch="torch.rand(10**6)", numpy="lib.random.default_rng(0).random(10**6, 'float32')")
case("random", "normal, 1e6", {}, hocket="hk.random.normal((10**6,))", torch="torch.randn(10**6)",
     numpy="lib.random.default_rng(0).standard_normal(10**6, 'float32')")

# ---- by index
case("indexing", "one row of 1000x1000", {"x": (1000, 1000)}, "x[17]")
case("indexing", "slice of 1000x1000", {"x": (1000, 1000)}, "x[10:900, ::2]")
case("indexing", "256 rows of 10000x100", {"x": (10000, 100), "i": ((256,), "int64", 0, 10000)}, hocket="hk.take(x, i, axis=0)",
     torch="torch.index_select(x, 0, i)", numpy="lib.take(x, i, axis=0)")
case("indexing", "mask of 1e6", {"x": (10**6,)}, hocket="x[m]", torch="x[m]", numpy="x[m]", before=("m = x > 0",))
case("indexing", "take along axis, 1000x1000", {"x": (1000, 1000), "i": ((1000, 10), "int64", 0, 1000)},
     hocket="hk.take_along_axis(x, i, axis=1)", torch="torch.gather(x, 1, i)", numpy="lib.take_along_axis(x, i, 1)")

# ---- convolutions and pooling of the book's networks
for what, x, w, stride, padding in [
        ("LeNet 2", (32, 20, 13, 13), (50, 20, 5, 5), 1, 0), ("AlexNet 1", (8, 3, 224, 224), (96, 3, 11, 11), 4, 1),
        ("AlexNet 2", (8, 96, 26, 26), (256, 96, 5, 5), 1, 2), ("VGG 3x3", (8, 128, 56, 56), (128, 128, 3, 3), 1, 1),
        ("NiN 1x1", (8, 96, 54, 54), (96, 96, 1, 1), 1, 0), ("GoogLeNet 1x1", (8, 480, 14, 14), (192, 480, 1, 1), 1, 0),
        ("ResNet 3x3", (8, 64, 56, 56), (64, 64, 3, 3), 1, 1), ("ResNet stride 2", (8, 64, 56, 56), (128, 64, 3, 3), 2, 1)]:
    case("convolutions", what, {"x": x, "w": w},
         hocket=f"hk._core.operators['conv2d'](x, w, None, stride={stride}, padding={padding})",
         torch=f"F.conv2d(x, w, None, {stride}, {padding})")
case("convolutions", "max pooling 3x3, stride 2", {"x": (8, 64, 112, 112)},
     hocket="hk._core.operators['max_pool2d'](x, kernel=3, stride=2, padding=1)", torch="F.max_pool2d(x, 3, 2, 1)")
case("convolutions", "average pooling 2x2", {"x": (32, 20, 26, 26)},
     hocket="hk._core.operators['avg_pool2d'](x, kernel=2, stride=2)", torch="F.avg_pool2d(x, 2, 2)")


# ---- factorisations and equations of large matrices
for n in (256, 1024, 2048):
    square = {"x": (n, n), "b": (n, 16)}
    definite = [f"a = lib.matmul(x, x.T) + {n} * lib.eye({n}, dtype=x.dtype)"]
    for name, text in [("cholesky", "lib.linalg.cholesky(a)"), ("solve", "lib.linalg.solve(a, b)"), ("inv", "lib.linalg.inv(a)"),
                       ("qr", "lib.linalg.qr(a)")]:
        case("linalg", f"{name}, {n}×{n}", square, text, before=definite)
