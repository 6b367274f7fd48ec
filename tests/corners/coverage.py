"""Where each operator and each public name is tried at its corners: every one has to be somewhere."""

import hocket as hk

from . import check_elementwise, check_lines

# By name of a table in others.py, or of a test that says more than a table could.
IN_TABLES = {
    "moves": "where copy to_device full_like zeros_like ones_like reshape flip expand_dims squeeze swapaxes moveaxis permute_dims diagonal concat stack "
             "roll repeat tile pad tril triu slice_step clip isin searchsorted topk index_select take_along_axis",
    "products": "matmul tensordot vecdot outer",
    "linear": "linear",
    "places": "scatter_add",
    "losses": "softmax_cross_entropy cross_entropy_loss nll_loss binary_cross_entropy_with_logits cosine_similarity vector_norm matrix_norm",
    "attention": "scaled_dot_product_attention",
    "images": "conv2d avg_pool2d max_pool2d adaptive_avg_pool2d batch_norm group_norm",
    "creation": "full zeros ones arange sequence",
    "casts": "cast",
    "products, which sum told a dtype is of": "wrap",
}
ELSEWHERE = {
    "src/op/*/*_test.c and tests/conformance.c": "conv1d conv2d_transpose conv3d conv3d_transpose ctc_loss roi_align nanquantile nanmedian max_pool1d avg_pool1d adaptive_max_pool2d adaptive_avg_pool1d "
        "adaptive_max_pool1d mse_loss l1_loss huber_loss hinge_loss kl_divergence_loss binary_cross_entropy cosine_embedding_loss "
        "triplet_margin_loss scatter one_hot histogram sliding_window var_mean pin "
        "cumulative_max cumulative_min quantile median interpolate grid_sample depth_to_space space_to_depth",
    "python/tests/test_array_api_special.py and test_array_api_strict.py": "linspace eye diff cross matrix_trace",
    "python/tests/test_linalg.py": "cholesky solve solve_triangular addmm syrk lu_factor lu_solve qr_factor qr_multiply inv det slogdet eigvalsh svdvals pinv matrix_rank eigh eig eigvals svd qr matrix_power kron",
    "python/tests/test_complex.py": "real imag conj angle complex_of fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fftfreq rfftfreq fftshift "
        "ifftshift",
}


def cases():
    yield "coverage", _check


def _check(report):
    covered = check_elementwise.COVERED | check_lines.COVERED
    for names in list(IN_TABLES.values()) + list(ELSEWHERE.values()):
        covered |= set(names.split())
    for name in hk._core.operators:
        report.check(name in covered, f"coverage of {name}", "no table of tests/corners has this operator, nor does coverage.py say which test does")
    for name in covered:
        report.check(name in hk._core.operators, f"coverage of {name}", "there is no such operator")
