// Fixture of the attention tests: nodes over given tensors, evaluated; and attention by its
// formula.
#pragma once

#include <ops/op_test.h>
#include <ops/sdpa.h>

#include <cmath>
#include <limits>

namespace nvfuser {

struct AttentionCase {
  at::Tensor query, key, value, bias, mask;
  double dropout_p = 0.0;
  bool is_causal = false;
  std::optional<double> scale;
  SdpaOptions options;
};

class AttentionTest : public OpTest {
 protected:
  void SetUp() override {
    at::manual_seed(7);
  }

  static AttentionCase makeCase(
      int64_t heads,
      int64_t kv_heads,
      int64_t length,
      int64_t keys,
      int64_t size,
      at::TensorOptions options = at::kFloat) {
    AttentionCase c;
    c.query = at::randn({2, heads, length, size}, options);
    c.key = at::randn({2, kv_heads, keys, size}, options);
    c.value = at::randn({2, kv_heads, keys, size}, options);
    return c;
  }

  /// A fusion input for `t` and its binding; concrete: the sizes are constants of the fusion.
  TensorView* inputFor(const at::Tensor& t, bool concrete) {
    if (!t.defined()) {
      return nullptr;
    }
    std::vector<int64_t> shape = t.sizes().vec();
    for (int64_t& size : shape) {
      size = concrete || size == 1 ? size : -1;
    }
    TensorView* tv = input(shape, fromAtenType(t.scalar_type()));
    bindings.emplace_back(t);
    return tv;
  }

  std::vector<at::Tensor> evaluateAll(const std::vector<Val*>& outputs) {
    ExpressionEvaluator evaluator;
    for (size_t i = 0; i < bindings.size(); ++i) {
      evaluator.bind(fusion.inputs()[i], bindings[i]);
    }
    std::vector<at::Tensor> results;
    for (Val* output : outputs) {
      results.push_back(evaluator.evaluate(output).tensor());
    }
    return results;
  }

  SdpaFwdOp::Outputs buildForward(const AttentionCase& c, bool concrete) {
    return sdpaFwd(
        {.query = inputFor(c.query, concrete),
         .key = inputFor(c.key, concrete),
         .value = inputFor(c.value, concrete),
         .bias = inputFor(c.bias, concrete),
         .mask = inputFor(c.mask, concrete),
         .dropout_p = IrBuilder::constant(c.dropout_p),
         .is_causal = IrBuilder::constant(c.is_causal),
         .scale = c.scale ? IrBuilder::constant(*c.scale) : nullptr},
        c.options);
  }

  /// attn_out, logsumexp, philox_seed, philox_offset.
  std::vector<at::Tensor> forward(const AttentionCase& c, bool concrete) {
    const auto out = buildForward(c, concrete);
    return evaluateAll({out.attn_out, out.logsumexp, out.philox_seed, out.philox_offset});
  }

  /// Forward and backward in one fusion: attn_out, grad_query, grad_key, grad_value[, grad_bias].
  std::vector<at::Tensor> forwardAndBackward(
      const AttentionCase& c,
      const at::Tensor& grad,
      bool concrete) {
    const auto out = buildForward(c, concrete);
    const auto* node = out.attn_out->definition()->as<SdpaFwdOp>();
    const auto grads = sdpaBwd(
        {.grad_out = inputFor(grad, concrete),
         .query = node->query(),
         .key = node->key(),
         .value = node->value(),
         .attn_out = out.attn_out,
         .logsumexp = out.logsumexp,
         .dropout_p = node->operand("dropout_p"),
         .is_causal = node->operand("is_causal"),
         .philox_seed = out.philox_seed,
         .philox_offset = out.philox_offset,
         .scale = node->operand("scale"),
         .bias = node->bias(),
         .mask = node->mask()},
        c.options);
    std::vector<Val*> outputs = {out.attn_out, grads.grad_query, grads.grad_key, grads.grad_value};
    if (grads.grad_bias != nullptr) {
      outputs.push_back(grads.grad_bias);
    }
    return evaluateAll(outputs);
  }

  static at::Tensor repeated(const at::Tensor& t, const at::Tensor& query) {
    return t.repeat_interleave(query.size(1) / t.size(1), 1);
  }

  /// The scores in float64 with everything applied.
  static at::Tensor scores(const AttentionCase& c) {
    const double inf = std::numeric_limits<double>::infinity();
    const double scale = c.scale.value_or(1.0 / std::sqrt(static_cast<double>(c.query.size(3))));
    at::Tensor s =
        at::matmul(c.query.to(at::kDouble), repeated(c.key, c.query).to(at::kDouble).mT()) * scale;
    if (c.bias.defined()) {
      s = s + c.bias.to(at::kDouble);
    }
    if (c.mask.defined()) {
      s = s.masked_fill(c.mask.logical_not(), -inf);
    }
    if (c.is_causal) {
      const int64_t shift =
          c.options.alignment == CausalAlignment::BottomRight ? c.key.size(2) - c.query.size(2) : 0;
      s = s.masked_fill(at::ones_like(s, at::kBool).tril(shift).logical_not(), -inf);
    }
    return s;
  }

  /// softmax of the scores, 0 in rows without a key.
  static at::Tensor probabilities(const AttentionCase& c) {
    return scores(c).softmax(-1).nan_to_num(0.0);
  }

  static at::Tensor expectedOut(const AttentionCase& c) {
    return at::matmul(probabilities(c), repeated(c.value, c.query).to(at::kDouble));
  }

  static at::Tensor sumGroups(const at::Tensor& grad, const at::Tensor& like) {
    return grad.unflatten(1, {like.size(1), grad.size(1) / like.size(1)}).sum(2);
  }

  /// grad_query, grad_key, grad_value and the gradient of the scores, in float64, by the formula.
  static std::vector<at::Tensor> expectedGrads(const AttentionCase& c, const at::Tensor& grad_out) {
    const double scale = c.scale.value_or(1.0 / std::sqrt(static_cast<double>(c.query.size(3))));
    const at::Tensor grad = grad_out.to(at::kDouble);
    const at::Tensor key = repeated(c.key, c.query).to(at::kDouble);
    const at::Tensor value = repeated(c.value, c.query).to(at::kDouble);
    const at::Tensor p = probabilities(c);
    const at::Tensor dp = at::matmul(grad, value.mT());
    const at::Tensor ds = p * (dp - (p * dp).sum(-1, true));
    return {
        at::matmul(ds, key) * scale,
        sumGroups(at::matmul(ds.mT(), c.query.to(at::kDouble)) * scale, c.key),
        sumGroups(at::matmul(p.mT(), grad), c.value),
        ds};
  }

  static void expectNear(const at::Tensor& result, const at::Tensor& expected, double tolerance) {
    ASSERT_EQ(result.sizes(), expected.sizes());
    EXPECT_TRUE(at::allclose(result.to(at::kDouble), expected.to(at::kDouble), 0.0, tolerance))
        << (result.to(at::kDouble) - expected.to(at::kDouble)).abs().max();
  }

  std::vector<EvalValue> bindings;
};

} // namespace nvfuser
