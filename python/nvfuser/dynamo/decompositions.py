"""Which ATen ops AOTAutograd opens into smaller ones before we see the graph.

Opened is what has no node of its own here and whose parts all have one (norms, activations, losses, softmax and their
gradients). Attention, matrix products, embedding and random ops stay whole; so does everything whose parts would not
fit a fusion anyway (convolution, pooling, sorting), because eager's one kernel beats eager's many.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import get_decompositions

NORMS = """
native_layer_norm native_layer_norm_backward native_group_norm native_group_norm_backward native_batch_norm
native_batch_norm_backward _native_batch_norm_legit _native_batch_norm_legit_functional
_native_batch_norm_legit_no_training _batch_norm_with_update_functional batch_norm_backward _fused_rms_norm
_fused_rms_norm_backward linalg_vector_norm norm
"""

ACTIVATIONS = """
gelu gelu_backward silu_backward elu elu_backward celu selu relu6 hardtanh hardtanh_backward hardsigmoid
hardsigmoid_backward hardswish hardswish_backward leaky_relu leaky_relu_backward log_sigmoid_forward
log_sigmoid_backward mish mish_backward softplus softplus_backward softshrink hardshrink threshold threshold_backward
tanh_backward sigmoid_backward glu glu_backward _prelu_kernel _prelu_kernel_backward logit logit_backward
"""

SOFTMAX_AND_LOSSES = """
_softmax _softmax_backward_data _log_softmax _log_softmax_backward_data _safe_softmax logsumexp mse_loss
mse_loss_backward smooth_l1_loss smooth_l1_loss_backward huber_loss huber_loss_backward binary_cross_entropy
binary_cross_entropy_backward binary_cross_entropy_with_logits soft_margin_loss soft_margin_loss_backward
nll_loss_forward nll_loss_backward native_dropout_backward
"""

POINTWISE = """
xlogy logaddexp logaddexp2 hypot sgn deg2rad rad2deg sinc heaviside
nan_to_num special_entr special_log_ndtr special_xlog1py true_divide dist
"""

MATRIX = "addmv addr addbmm"

REDUCTIONS = "std std_mean aminmax trace count_nonzero"

SHAPES = """
stack narrow expand_copy unsafe_split unsafe_split_with_sizes slice_backward select_backward diag_embed rot90
new_full new_zeros new_ones new_empty zeros ones zeros_like ones_like full_like eye arange roll repeat
unsqueeze_copy squeeze_copy transpose_copy t_copy permute_copy view_copy fill masked_fill_ split_with_sizes_copy
pixel_shuffle pixel_unshuffle channel_shuffle unfold_copy lift copy
"""


@functools.cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """The table for AOTAutograd: ATen overload -> function that computes it with smaller ops."""
    names = " ".join([NORMS, ACTIVATIONS, SOFTMAX_AND_LOSSES, POINTWISE, MATRIX, REDUCTIONS, SHAPES]).split()
    # Ops that the installed torch does not have are skipped.
    packets = [getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name)]
    return get_decompositions(packets)
