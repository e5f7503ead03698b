#include "kernels/disk/disk_results.h"

#include <algorithm>
#include <utility>

#include "kernels/disk/deferred_tensor.h"
#include "kernels/disk/disk_layout.h"

namespace l2gcn {

TensorPtr DiskResults::Produce(const Context& context, const DiskResult& result,
                               std::span<const uint32_t> rows,
                               std::vector<std::shared_ptr<const void>> inputs, const DiskWork& work) {
  const uint64_t identity = result.identity;
  if (identity == 0) return Compute(context, result, rows, work);
  if (TensorPtr alive = live_[identity].lock()) return alive;
  const bool can_wait = std::find(inputs.begin(), inputs.end(), nullptr) == inputs.end();
  TensorPtr tensor;
  if (can_wait && disk_->kept()->Expects() && !disk_->kept()->Has(identity)) {
    tensor = std::make_shared<DeferredTensor>(
        result.rows, result.cols, result.type, identity,
        [this, context, result, picked = std::vector<uint32_t>(rows.begin(), rows.end()),
         inputs = std::move(inputs), work] { return Compute(context, result, picked, work); });
  } else {
    tensor = Compute(context, result, rows, work);
  }
  live_[identity] = tensor;
  return tensor;
}

std::shared_ptr<FileTensor> DiskResults::Compute(const Context& context, const DiskResult& result,
                                                 std::span<const uint32_t> rows, const DiskWork& work) const {
  const size_t block_rows = DiskBlockRows(disk_->budget(), result.cols * sizeof(float));
  std::shared_ptr<FileTensor> out;
  if (result.identity == 0) {
    out = std::make_shared<FileTensor>(*disk_, result.rows, result.cols, result.type, block_rows);
  } else {
    const KeptShape shape = {result.rows, result.cols, static_cast<uint64_t>(result.type), block_rows,
                             result.of};
    out = std::make_shared<FileTensor>(*disk_, disk_->kept()->Open(result.identity, shape));
    out->identity = result.identity;
  }
  if (out->done() < result.of) work(context, rows, *out);
  return out;
}

}  // namespace l2gcn
