// Attention written out in tensor operations: takes every problem. Works in float32 (float64 for
// Double) and in pieces, so that the scores in memory stay below a fixed size however long the
// sequences are.
#include <runtime/attention/backend.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/attention/dropout.h>

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace nvfuser {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Scores in flight: 64 MB of float32.
constexpr int64_t kScoreBudget = int64_t{1} << 24;
// float32 results that agree this far describe the same rows.
constexpr double kSameLogsumexp = 1e-5;

// A block of the scores: batch rows [n0, n0 + n) and query rows [l0, l0 + l), all heads and keys.
struct Block {
  int64_t n0, n, l0, l;
};

std::vector<std::vector<Block>> blocksOf(const SdpaProblem& p) {
  const int64_t row = std::max<int64_t>(1, p.heads() * p.keyLength());
  const int64_t rows = std::max<int64_t>(1, kScoreBudget / row);
  const int64_t l = std::min(rows, p.queryLength());
  const int64_t n = std::clamp<int64_t>(rows / p.queryLength(), 1, p.batch());
  std::vector<std::vector<Block>> result;
  for (int64_t n0 = 0; n0 < p.batch(); n0 += n) {
    auto& group = result.emplace_back();
    for (int64_t l0 = 0; l0 < p.queryLength(); l0 += l) {
      group.push_back({n0, std::min(n, p.batch() - n0), l0, std::min(l, p.queryLength() - l0)});
    }
  }
  return result;
}

// The block's part of a 4-D tensor.
at::Tensor part(const at::Tensor& tensor, const Block& b) {
  // Dimensions of size 1 are broadcast (or hold the only block there is).
  const at::Tensor rows = tensor.size(0) == 1 ? tensor : tensor.narrow(0, b.n0, b.n);
  return tensor.size(2) == 1 ? rows : rows.narrow(2, b.l0, b.l);
}

class MathBackend : public SdpaBackend {
 public:
  std::string_view name() const override {
    return "math";
  }

  bool switchedOn() const override {
    return at::globalContext().userEnabledMathSDP();
  }

  bool takesMask() const override {
    return true;
  }

  std::string supports(const SdpaProblem& p, SdpaPass) const override {
    if (p.hasDropout() && isStreamCapturing(p.query.device())) {
      return "its dropout reads torch's generator on the host, which cannot be captured into a "
             "graph";
    }
    return "";
  }

  SdpaForwardResult forward(const SdpaProblem& p) const override {
    const Shapes s(p);
    SdpaForwardResult result;
    result.attn_out = emptyInOrder(
        {p.batch(), p.heads(), p.queryLength(), p.valueHeadSize()},
        memoryOrder(p.query),
        p.query.options());
    if (p.training) {
      result.logsumexp =
          at::empty({p.batch(), p.heads(), p.queryLength()}, p.query.options().dtype(at::kFloat));
    }
    std::optional<DropoutMask> dropout;
    if (p.hasDropout()) {
      dropout = DropoutMask::draw(p.dropout_p, p.query.device());
      result.rng = dropout->state();
    }
    for (const auto& group : blocksOf(p)) {
      const Side side(p, s, group.front());
      for (const Block& b : group) {
        at::Tensor x = scores(p, s, b, queryRows(p, s, b), side.key);
        const at::Tensor peak = x.amax(-1, /*keepdim=*/true);
        peak.masked_fill_(peak.eq(-kInf), 0.0); // rows without a key: exp(-inf - 0) is 0, not NaN
        x.sub_(peak).exp_();
        at::Tensor sum = x.sum(-1, /*keepdim=*/true);
        if (p.training) {
          result.logsumexp.narrow(0, b.n0, b.n)
              .narrow(2, b.l0, b.l)
              .copy_(sum.log().add_(peak).squeeze(-1));
        }
        x.div_(sum.masked_fill_(sum.eq(0.0), 1.0));
        if (dropout.has_value()) {
          x.mul_(dropout->multipliers(s.scores, b.n0, b.n, b.l0, b.l, s.type));
        }
        const at::Tensor out = at::matmul(grouped(x, s, b), side.value);
        result.attn_out.narrow(0, b.n0, b.n)
            .narrow(2, b.l0, b.l)
            .copy_(out.view({b.n, s.heads, b.l, p.valueHeadSize()}));
      }
    }
    if (dropout.has_value()) {
      dropout->finish();
    }
    return result;
  }

  SdpaBackwardResult backward(const SdpaProblem& p, const SdpaBackwardInputs& in) const override {
    const Shapes s(p);
    SdpaBackwardResult result;
    const auto like = [](const at::Tensor& t) {
      return emptyInOrder(t.sizes(), memoryOrder(t), t.options());
    };
    result.grad_query = like(p.query);
    result.grad_key = like(p.key);
    result.grad_value = like(p.value);
    at::Tensor grad_bias;
    if (p.bias_grad) {
      grad_bias = at::zeros(p.bias.sizes(), p.query.options().dtype(s.type));
    }
    std::optional<DropoutMask> dropout;
    if (p.hasDropout()) {
      dropout = DropoutMask::fromState(p.dropout_p, p.query.device(), in.rng);
    }
    for (const auto& group : blocksOf(p)) {
      const Block& first = group.front();
      const Side side(p, s, first);
      at::Tensor grad_key = at::zeros_like(side.key);
      at::Tensor grad_value = at::zeros_like(side.value);
      for (const Block& b : group) {
        const at::Tensor query = queryRows(p, s, b);
        const at::Tensor prob = probabilities(p, s, b, scores(p, s, b, query, side.key), in);
        const at::Tensor grad_out = part(in.grad_out, b).to(s.type);
        // Row sums of P dP, from the output: also right when the output covers more keys than
        // these.
        const at::Tensor delta =
            grad_out.mul(part(in.attn_out, b).to(s.type)).sum(-1, /*keepdim=*/true);
        const at::Tensor rows =
            grad_out.reshape({b.n, s.kv_heads, s.group * b.l, p.valueHeadSize()});
        at::Tensor grad = at::matmul(rows, side.value.mT()).view({b.n, s.heads, b.l, s.keys});
        at::Tensor dropped = prob;
        if (dropout.has_value()) {
          const at::Tensor m = dropout->multipliers(s.scores, b.n0, b.n, b.l0, b.l, s.type);
          dropped = prob * m;
          grad.mul_(m);
        }
        grad_value.add_(at::matmul(grouped(dropped, s, b).mT(), rows));
        grad.sub_(delta).mul_(prob);
        if (p.bias_grad) {
          part(grad_bias, b).add_(sumToShape(grad, part(grad_bias, b).sizes()));
        }
        const at::Tensor by_group = grouped(grad, s, b);
        result.grad_query.narrow(0, b.n0, b.n)
            .narrow(2, b.l0, b.l)
            .copy_(
                at::matmul(by_group, side.key)
                    .mul_(p.scale)
                    .view({b.n, s.heads, b.l, p.headSize()}));
        grad_key.add_(at::matmul(by_group.mT(), query)); // query carries the scale
      }
      result.grad_key.narrow(0, first.n0, first.n).copy_(grad_key);
      result.grad_value.narrow(0, first.n0, first.n).copy_(grad_value);
    }
    if (p.bias_grad) {
      result.grad_bias = grad_bias.to(p.bias.scalar_type());
    }
    return result;
  }

 private:
  struct Shapes {
    explicit Shapes(const SdpaProblem& p)
        : type(p.query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
          heads(p.heads()),
          kv_heads(p.kvHeads()),
          group(p.heads() / p.kvHeads()),
          keys(p.keyLength()),
          scores{p.batch(), p.heads(), p.queryLength(), p.keyLength()} {}
    at::ScalarType type;
    int64_t heads, kv_heads, group, keys;
    std::vector<int64_t> scores;
  };

  // Key and value of a block's batch rows in the working type.
  struct Side {
    Side(const SdpaProblem& p, const Shapes& s, const Block& b)
        : key(p.key.narrow(0, b.n0, b.n).to(s.type).contiguous()),
          value(p.value.narrow(0, b.n0, b.n).to(s.type).contiguous()) {}
    at::Tensor key, value;
  };

  // Scaled query rows; the heads of a group stand below each other, so that one product serves
  // them: [n, Hk, group * l, E].
  static at::Tensor queryRows(const SdpaProblem& p, const Shapes& s, const Block& b) {
    return (part(p.query, b).to(s.type) * p.scale)
        .reshape({b.n, s.kv_heads, s.group * b.l, p.headSize()});
  }

  static at::Tensor grouped(const at::Tensor& scores, const Shapes& s, const Block& b) {
    return scores.view({b.n, s.kv_heads, s.group * b.l, s.keys});
  }

  // [n, H, l, S] with bias, mask and causal rule applied.
  static at::Tensor scores(
      const SdpaProblem& p,
      const Shapes& s,
      const Block& b,
      const at::Tensor& query,
      const at::Tensor& key) {
    at::Tensor x = at::matmul(query, key.mT()).view({b.n, s.heads, b.l, s.keys});
    if (p.bias.defined()) {
      x.add_(part(p.bias, b));
    }
    if (p.mask.defined()) {
      // Added, not filled in: a NaN score stays NaN, as in torch.
      const at::Tensor mask = part(p.mask, b);
      x.add_(at::zeros(mask.sizes(), x.options()).masked_fill_(mask.logical_not(), -kInf));
    }
    if (p.is_causal) {
      const auto options = p.query.options().dtype(at::kBool);
      x.masked_fill_(
          at::ones({b.l, s.keys}, options).tril(b.l0 + p.causalShift()).logical_not(), -kInf);
    }
    return x;
  }

  // softmax of the scores, from the logsumexp of the forward.
  static at::Tensor probabilities(
      const SdpaProblem& p,
      const Shapes& s,
      const Block& b,
      at::Tensor x,
      const SdpaBackwardInputs& in) {
    at::Tensor lse =
        in.logsumexp.narrow(0, b.n0, b.n).narrow(2, b.l0, b.l).unsqueeze(-1).to(s.type);
    if (p.query.scalar_type() == at::kDouble) {
      // logsumexp is float32: sharpen it where it is that of these very scores.
      const at::Tensor own = x.logsumexp(-1, /*keepdim=*/true);
      lse =
          at::where(own.sub(lse).abs().le(lse.abs().clamp_min(1.0).mul(kSameLogsumexp)), own, lse);
    }
    lse = lse.masked_fill(lse.eq(-kInf), kInf); // rows without a key: all 0
    return x.sub_(lse).exp_();
  }

  static at::Tensor sumToShape(const at::Tensor& tensor, at::IntArrayRef shape) {
    std::vector<int64_t> dims;
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      if (shape[dim] == 1 && tensor.size(dim) != 1) {
        dims.push_back(dim);
      }
    }
    return dims.empty() ? tensor : tensor.sum(dims, /*keepdim=*/true);
  }
};

} // namespace

const SdpaBackend& mathBackend() {
  static const MathBackend backend;
  return backend;
}

} // namespace nvfuser
