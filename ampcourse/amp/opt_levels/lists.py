"""Which functions O1 casts, and how: Apex's lists, as they stood when amp was removed.

Sources in NVIDIA/apex, apex/amp/lists: functional_overrides.py (656d14b0), torch_overrides.py
(03421e87), tensor_overrides.py (8a32e428), rnn_compat.py (2445031d). The batched products are on
the FP16 list, as from CUDA 9.1 on; mean is on none, as from torch 1.1 on. A name that the
installed torch lacks is passed over. Needs no torch.
"""

from __future__ import annotations

_CONVOLUTIONS = (
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "conv_tbc",
)

FUNCTIONAL_FP16 = (*_CONVOLUTIONS, "linear")
"""Of torch.nn.functional: inputs are cast to FP16."""

FUNCTIONAL_FP32 = (
    "interpolate",
    "grid_sample",
    "softplus",
    "softmin",
    "log_softmax",
    "softmax",
    "layer_norm",
    "group_norm",
    "local_response_norm",
    "normalize",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "cross_entropy",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "multi_margin_loss",
    "nll_loss",
    "binary_cross_entropy_with_logits",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
)
"""Of torch.nn.functional: inputs are cast to FP32."""

FUNCTIONAL_BANNED = ("binary_cross_entropy",)
"""Of torch.nn.functional: an FP16 input is an error."""

TORCH_FP16 = (
    *_CONVOLUTIONS,
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "mm",
    "mv",
    "addbmm",
    "baddbmm",
    "bmm",
)
"""Of torch, and of torch.Tensor where it has a method of that name: inputs are cast to FP16."""

TORCH_FP32 = (
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow",
    "cumprod",
    "cumsum",
    "dist",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
    "renorm",
)
"""Of torch and torch.Tensor: inputs are cast to FP32; in place, on FP16, it is an error."""

TORCH_PROMOTED = (
    "addcdiv",
    "addcmul",
    "atan2",
    "cross",
    "bilinear",
    "dot",
    "add",
    "div",
    "mul",
    "eq",
    "equal",
    "ge",
    "gt",
    "le",
    "lt",
    "ne",
)
"""Of torch and torch.Tensor: FP16 beside FP32 becomes FP32; in place, what the first one is."""

TORCH_SEQUENCES = ("cat", "stack")
"""Of torch: a sequence of both types is cast to FP32."""

TENSOR_FP16 = ("__matmul__",)
"""Of torch.Tensor alone."""

TENSOR_FP32 = ("__ipow__", "__pow__", "__rpow__", "cpu")
"""Of torch.Tensor alone. A tensor that leaves the GPU leaves it in FP32."""

TENSOR_PROMOTED = (
    "__add__",
    "__div__",
    "__eq__",
    "__ge__",
    "__gt__",
    "__iadd__",
    "__idiv__",
    "__imul__",
    "__isub__",
    "__itruediv__",
    "__le__",
    "__lt__",
    "__mul__",
    "__ne__",
    "__radd__",
    "__rdiv__",
    "__rmul__",
    "__rsub__",
    "__rtruediv__",
    "__sub__",
    "__truediv__",
)
"""Of torch.Tensor alone."""

RNNS = ("rnn_relu", "rnn_tanh", "gru", "lstm")
"""What RNN layers call, and with _cell behind it their cells: inputs are cast to FP16."""
