#include <ir/domain_mapper.h>
#include <ir/iter_domain.h>
#include <ir/tensor_view.h>

namespace nvfuser {

void DomainMapper::allSame(const Expr* expr) {
  for (const Val* in : expr->inputs()) {
    if (!in->isTensor()) {
      continue;
    }
    const auto rank =
        static_cast<int64_t>(noReductions(in->as<TensorView>()->getLogicalDomain()).size());
    for (const Val* out : expr->outputs()) {
      if (!out->isTensor()) {
        continue;
      }
      for (int64_t dim = 0; dim < rank; ++dim) {
        same(in, dim, out, dim);
      }
    }
  }
}

} // namespace nvfuser
