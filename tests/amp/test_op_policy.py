"""The op policy is what torch does: probed, registered in its dispatcher, documented."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils._pytree import tree_leaves, tree_map

from ampcourse.amp import op_policy, op_samples, probing
from ampcourse.amp.composites import APPLIES, DECOMPOSED, DIFFERENCES
from ampcourse.amp.op_policy import LISTS, policy

#: The lists of the page docs.pytorch.org/docs/stable/amp.html for the CPU, without names that
#: Python cannot call or that no longer exist.
DOCUMENTED = {
    "lower_precision": "conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm addbmm linear "
    "matmul conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d prelu "
    "scaled_dot_product_attention",
    "fp32": "avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d polar "
    "prod quantile nanquantile stft cdist trace view_as_complex cholesky_inverse cholesky_solve "
    "inverse lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d "
    "adaptive_avg_pool3d mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss "
    "poisson_nll_loss cross_entropy_loss l1_loss huber_loss margin_ranking_loss soft_margin_loss "
    "triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss "
    "binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn "
    "fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond "
    "linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals linalg_eigvals "
    "linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv linalg_tensorsolve "
    "fake_quantize_per_tensor_affine geqrf _lu_with_info svd triangular_solve "
    "fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d linalg_qr "
    "linalg_cholesky_ex linalg_svd linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex",
    "promote": "cat stack index_copy",
}

#: Ops on a list of the dispatcher that no call from Python reaches by this name.
OUT_OF_REACH = {
    "_convolution",
    "_grid_sampler_2d_cpu_fallback",
    "_native_multi_head_attention",
    "mkldnn_rnn_layer",
    "multilabel_margin_loss_forward",
    "nll_loss2d",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
}

#: Ops in C++ that are on no list and do nothing but call one that is.
CALLS_A_LISTED_OP = {
    "column_stack",
    "diff",
    "dstack",
    "gradient",
    "hstack",
    "nll_loss_nd",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "vstack",
}


def registered(key: str) -> set[str]:
    """Return the ops that torch's dispatcher has autocast kernels for."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return {name.removeprefix("aten::").split(".")[0] for name in names if "aten::" in name}


def listed() -> set[str]:
    """Return the ops in C++ that the CPU's table has on a list."""
    table = policy("cpu").values()
    return {op.name for op in table if op.category != "follows_input" and not op.python}


def test_reading_a_policy_does_not_load_torch() -> None:
    code = (
        "from ampcourse.amp.op_policy import LISTS, policy; policy('cpu'), policy('cuda'); "
        "import sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_line_of_a_table_is_well_formed(device: str) -> None:
    for name, op in policy(device).items():
        assert op.name == name
        assert op.category in LISTS
        assert op.evidence
        assert len(op.types) in (0, 3)


def test_an_unknown_device_type_is_named() -> None:
    with pytest.raises(ValueError, match="'tpu'"):
        policy("tpu")


def test_a_table_cannot_be_changed_by_accident() -> None:
    with pytest.raises(TypeError):
        policy("cpu")["linear"] = None  # type: ignore[index]


@pytest.mark.parametrize("category", DOCUMENTED)
def test_the_documented_ops_of_the_cpu_are_on_their_list(category: str) -> None:
    table = policy("cpu")
    assert {name: table[name].category for name in DOCUMENTED[category].split()} == dict.fromkeys(
        DOCUMENTED[category].split(), category
    )


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "layer_norm", "group_norm", "sum", "cumsum", "exp", "norm"]
)
def test_what_cuda_runs_in_float32_mostly_follows_its_input_on_the_cpu(name: str) -> None:
    assert policy("cpu")[name].category == "follows_input"


def test_an_op_is_on_a_list_if_and_only_if_torch_has_a_kernel_for_it_or_for_its_parts() -> None:
    kernels = registered("AutocastCPU")
    parts = CALLS_A_LISTED_OP | DECOMPOSED.keys() | APPLIES.keys() | DIFFERENCES.keys()
    unseen = kernels - listed() - OUT_OF_REACH - {"nll_loss"}  # in Python by this name
    unexplained = listed() - kernels - parts
    version = torch.__version__
    assert not unseen, f"torch {version} has new kernels: {sorted(unseen)}; {REGENERATE}"
    assert not unexplained, f"torch {version} lacks kernels: {sorted(unexplained)}; {REGENERATE}"


def test_every_op_that_casts_inside_is_dealt_with_or_named() -> None:
    inside = {op.name for op in policy("cpu").values() if op.casts_inside and not op.python}
    promotes_by_itself = {"gradient"}  # without casts it comes to the same
    known = DECOMPOSED.keys() | APPLIES.keys() | DIFFERENCES.keys() | promotes_by_itself
    assert inside <= known


def test_binary_cross_entropy_runs_on_the_cpu_and_is_refused_on_cuda() -> None:
    assert policy("cpu")["binary_cross_entropy"].category == "fp32"
    assert policy("cuda")["binary_cross_entropy"].category == "error"


# --- probing -------------------------------------------------------------------------------------

REGENERATE = f"regenerate with {json.loads(probing.TABLE.read_text('utf-8'))['regenerate']}"
PROBED_WITH = policy("cpu")["linear"].evidence


def report(new: dict[str, Any]) -> None:
    """Fail if this torch differs from the table; expect it from another release."""
    old = json.loads(probing.TABLE.read_text("utf-8"))
    changed = probing.differences(old, new)
    text = f"torch {torch.__version__}, table {PROBED_WITH}:\n" + "\n".join(changed)
    if changed and new["evidence"] != PROBED_WITH:
        pytest.xfail(f"{text}\n{REGENERATE}")
    assert not changed, text


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=str)
def test_probing_again_gives_the_table_for_both_lower_precisions(low: torch.dtype) -> None:
    new = probing.table(low)
    if low == torch.float16:  # fewer kernels in float16: compare what autocast does, not what runs
        old = json.loads(probing.TABLE.read_text("utf-8"))
        for name, op in old["ops"].items():
            if name in new["ops"]:
                new["ops"][name]["types"] = op["types"]
    report(new)


PROBES = {
    "mm": (torch.mm, (torch.rand(2, 2), torch.rand(2, 2))),
    "mse_loss": (torch._C._nn.mse_loss, (torch.rand(3), torch.rand(3))),
    "cat": (torch.cat, ([torch.rand(2), torch.rand(2)],)),
    "softmax": (torch.softmax, (torch.rand(3), 0)),
    "mul": (torch.mul, (torch.rand(3), torch.rand(3))),
    "fft_fft": (torch.fft.fft, (torch.rand(4),)),
    "linalg_inv": (torch.linalg.inv, (torch.eye(2),)),
    "dot": (torch.dot, (torch.rand(3), torch.rand(3))),
    "chain_matmul": (torch._C._VariableFunctions.chain_matmul, ([torch.eye(2)] * 3,)),
    "cross_entropy": (functional.cross_entropy, (torch.rand(2, 3), torch.tensor([0, 2]))),
}


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=str)
def test_a_few_ops_probed_here_and_now_are_as_in_the_table(name: str, low: torch.dtype) -> None:
    entry = probing.probe([op_samples.Call(*PROBES[name], {})], low)
    old = json.loads(probing.TABLE.read_text("utf-8"))["ops"][name]
    report({"evidence": PROBED_WITH, "ops": {**_ops(), name: {**old, **entry}}})


def _ops() -> dict[str, Any]:
    return dict(json.loads(probing.TABLE.read_text("utf-8"))["ops"])


def test_a_release_that_changes_an_op_is_reported_by_its_name_and_both_lists() -> None:
    old = {"ops": {"mm": {"category": "lower_precision", "types": ["lower"] * 3}}}
    new = {"ops": {"mm": {"category": "fp32", "types": ["float32"] * 3}, "bmm": old["ops"]["mm"]}}
    assert probing.differences(old, new) == [
        "bmm: not there -> lower_precision, lower, lower, lower",
        "mm: lower_precision, lower, lower, lower -> fp32, float32, float32, float32",
    ]
    assert probing.differences(old, old) == []


def test_the_table_on_disk_is_as_probing_writes_it() -> None:
    text = probing.TABLE.read_text("utf-8")
    assert probing.as_text(json.loads(text)) == text


# --- CUDA ----------------------------------------------------------------------------------------

#: Documented names that stand for others: methods of tensors, modules, functions in Python.
STANDS_FOR = {
    "GRUCell": "gru_cell",
    "LSTMCell": "lstm_cell",
    "RNNCell": "rnn_tanh_cell",
    "__matmul__": "matmul",
    "__pow__": "pow",
    "__rdiv__": "reciprocal",
    "__rpow__": "pow",
    "__rtruediv__": "reciprocal",
    "cross_entropy": "nll_loss",
    "grid_sample": "grid_sampler",
    "multi_dot": "linalg_multi_dot",
    "normalize": "norm",
    "softmin": "softmax",
}


def test_every_op_that_is_documented_for_cuda_has_a_kernel_and_the_other_way_round() -> None:
    kernels, table = registered("AutocastCUDA"), policy("cuda")
    assert {STANDS_FOR.get(name, name) for name in table} <= kernels
    internal = {"_cudnn_rnn", "cudnn_convolution", "cudnn_convolution_transpose"}
    new = kernels - table.keys() - internal - {"linalg_matrix_sqrth"}
    assert not new, f"torch {torch.__version__} casts more on CUDA: {sorted(new)}"


@contextmanager
def cuda_autocast(enabled: bool) -> Iterator[None]:
    """Switch torch's autocast for CUDA on, which torch.autocast refuses without a GPU."""
    torch.set_autocast_enabled("cuda", enabled)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)
        torch.clear_autocast_cache()


def cuda_category(call: op_samples.Call) -> str:
    """Return the list that a call's output types on CUDA point to."""
    half, single = torch.float16, torch.float32

    def types(*inputs: torch.dtype, enabled: bool = True) -> Any:
        variant = probing.with_types(call, *inputs)
        args, kwargs = tree_map(
            lambda x: x.to("cuda") if isinstance(x, torch.Tensor) else x,
            (variant.args, variant.kwargs),
        )
        try:
            with cuda_autocast(enabled):
                output = call.func(*args, **kwargs)
        except RuntimeError:
            return "error"
        return next((x.dtype for x in tree_leaves(output) if isinstance(x, torch.Tensor)), None)

    if types(single) == half:
        return "lower_precision"
    if types(half) == single and types(half, enabled=False) in (half, "error"):
        return "fp32"
    if types(single) == "error" and types(single, enabled=False) == single:
        return "error"
    mixed, plain = types(single, half), types(single, half, enabled=False)
    if (mixed, types(half)) == (single, half) and plain in ("error", single):
        return "promote" if plain == "error" else "promote or follows_input"
    return "follows_input"


CUDA_CALLS: dict[str, Any] = {
    "mm": (torch.mm, (torch.rand(2, 2), torch.rand(2, 2))),
    "mv": (torch.mv, (torch.rand(2, 2), torch.rand(2))),
    "addr": (torch.addr, (torch.rand(2, 2), torch.rand(2), torch.rand(2))),
    "prelu": (torch.prelu, (torch.rand(2), torch.rand(1))),
    "linear": (functional.linear, (torch.rand(2, 2), torch.rand(2, 2))),
    "conv2d": (torch.conv2d, (torch.rand(1, 1, 4, 4), torch.rand(1, 1, 2, 2))),
    "softmax": (torch.softmax, (torch.rand(3), 0)),
    "layer_norm": (functional.layer_norm, (torch.rand(3, 4), (4,))),
    "sum": (torch.sum, (torch.rand(3),)),
    "cumsum": (torch.cumsum, (torch.rand(3), 0)),
    "exp": (torch.exp, (torch.rand(3),)),
    "pow": (torch.pow, (torch.rand(3), 2)),
    "norm": (torch.norm, (torch.rand(3),)),
    "mse_loss": (functional.mse_loss, (torch.rand(3), torch.rand(3))),
    "cross_entropy": (functional.cross_entropy, (torch.rand(2, 3), torch.tensor([0, 2]))),
    "logsumexp": (torch.logsumexp, (torch.rand(3), 0)),
    "binary_cross_entropy": (functional.binary_cross_entropy, (torch.rand(3), torch.rand(3))),
    "dot": (torch.dot, (torch.rand(3), torch.rand(3))),
    "index_put": (torch.index_put, (torch.rand(3), (torch.tensor([1]),), torch.rand(1))),
    "scatter_add": (torch.scatter_add, (torch.rand(3), 0, torch.tensor([1]), torch.rand(1))),
}


@pytest.mark.parametrize("name", CUDA_CALLS)
def test_tensors_that_pretend_to_be_on_cuda_are_cast_as_documented(name: str) -> None:
    function, args = CUDA_CALLS[name]
    call = op_samples.Call(function, args, {})
    with FakeTensorMode(allow_non_fake_inputs=True):
        found = cuda_category(call)
    assert policy("cuda")[name].category in found


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", CUDA_CALLS)
def test_a_gpu_confirms_what_is_documented(name: str) -> None:
    function, args = CUDA_CALLS[name]
    assert policy("cuda")[name].category in cuda_category(op_samples.Call(function, args, {}))


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(op_policy)
    assert result.attempted > 0
    assert result.failed == 0
