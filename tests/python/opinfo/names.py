"""The operator names that `fd.ops` must offer, grouped by the test file that covers them."""

UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf erfc erfcinv erfinv exp exp2 expm1 floor frac imag "
    "isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not neg real reciprocal relu round "
    "rsqrt segment_set set sigmoid sign signbit silu sin sinh sqrt tan tanh trunc"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod gcd ge gt le "
    "logical_and logical_or logical_right_shift lt maximum minimum mod mul ne nextafter pow remainder sub truediv complex"
).split()
TERNARY = "where lerp threshold clamp addcmul".split()

# Operators outside the pointwise table, by the file that tests them.
OTHERS = {
    "test_ops_cast": "cast",
    "test_ops_reductions": "sum prod max min var var_mean welford",
    "test_ops_scans": "cumsum cumprod cummin cummax triu",
    "test_ops_matmul": "matmul linear",
    "test_ops_grouped_scaled_mm": "grouped_mm scaled_mm cutlass_nvfp4_grouped_mm",
    "test_ops_shape": "broadcast broadcast_in_dim expand reshape permute squeeze stride_order size shape",
    "test_ops_slice_pad_cat": "slice cat pad",
    "test_ops_indexing": "index_select select gather take_along_axis scatter",
    "test_ops_search": "topk argsort",
    "test_ops_embedding": "embedding_fwd",
    "test_ops_factories": "full iota",
    "test_ops_random": "rand_like randn_like uniform normal",
    "test_ops_quantize": "nv_block_quantize nv_grouped_block_quantize preprocess_grouped_matmul_input_sf",
}
ATTENTION = "sdpfa_fwd sdpfa_bwd".split()


def all_names() -> list[str]:
    """Every required name of `fd.ops`."""
    others = [name for names in OTHERS.values() for name in names.split()]
    return UNARY + BINARY + TERNARY + others + ATTENTION
