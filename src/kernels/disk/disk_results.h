// Matrices that the verbs of a run from disk make, each found or made once.
//
// A result has an identity, which says what it is computed from (kernels/disk/tensor_identity.h). One that is alive in
// this process is handed out again. One that an earlier process of the run kept (core/kept_scratch.h) is taken up,
// whole or as far as it was made. Anything else is computed: at once, or, as long as files of that earlier process
// wait to be asked for, when it is first read, because what they were made from may never be read again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/disk_memory.h"
#include "kernels/backend.h"
#include "kernels/disk/disk_tensor.h"

namespace l2gcn {

// A matrix that a verb makes: `of` rows or columns make it whole. With identity 0 nobody will look for it.
struct DiskResult {
  size_t rows, cols;
  FeatureType type;
  size_t of;
  uint64_t identity;
};

// Writes a result, from the part of it on that is done; `rows` are those that the verb was given.
using DiskWork = std::function<void(const Context& context, std::span<const uint32_t> rows, FileTensor& out)>;

class DiskResults {
 public:
  explicit DiskResults(std::shared_ptr<DiskMemory> disk) : disk_(std::move(disk)) {}

  // `inputs` are what `work` refers to: they stay until it has run. It runs now where one of them is null.
  TensorPtr Produce(const Context& context, const DiskResult& result, std::span<const uint32_t> rows,
                    std::vector<std::shared_ptr<const void>> inputs, const DiskWork& work);

 private:
  std::shared_ptr<FileTensor> Compute(const Context& context, const DiskResult& result,
                                      std::span<const uint32_t> rows, const DiskWork& work) const;

  const std::shared_ptr<DiskMemory> disk_;
  std::map<uint64_t, std::weak_ptr<const Tensor>> live_;  // by identity
};

}  // namespace l2gcn
