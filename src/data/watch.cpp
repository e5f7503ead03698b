#include "data/watch.h"

#include <algorithm>

#include "core/error_format.h"
#include "core/mapping.h"
#include "core/memory_meter.h"
#include "data/relations.h"

namespace l2gcn {
namespace {

// Calls visit(array) for every array of the data set.
template <class Visit>
void VisitArrays(const Dataset& dataset, const Visit& visit) {
  VisitGraphArrays(dataset, visit);
  const Features& features = dataset.features;
  if (features.stores_sparse()) {
    visit(features.csr().indptr);
    visit(features.csr().indices);
    visit(features.csr().values);
  } else if (features.type() == FeatureType::kF32) {
    visit(features.matrix().values);
  } else {
    visit(features.halves());
  }
  visit(dataset.labels.classes_of);
  visit(dataset.labels.matrix);
  visit(dataset.labels.labelled);
  visit(dataset.labels.targets.values);
  visit(dataset.labels.node_weights);
  for (const Split& split : dataset.splits) visit(split.roles);
  visit(dataset.node_names.offsets);
  visit(dataset.node_names.text);
  visit(dataset.node_ids);
}

}  // namespace

void WatchDataset(const Dataset& dataset, DiskMemory& disk) {
  VisitArrays(dataset, [&](const auto& array) { disk.Watch(array); });
}

uint64_t BytesInMemoryAlone(const Dataset& dataset) {
  constexpr uint64_t kSmallArray = uint64_t{1} << 20;  // asking the system would cost more than it tells
  uint64_t bytes = 0;
  VisitArrays(dataset, [&](const auto& array) {
    if (array.bytes() > kSmallArray && !IsMappedFromFile(array.data())) bytes += array.bytes();
  });
  return bytes;
}

uint64_t HeldBytes() {
  constexpr uint64_t kProgram = uint64_t{16} << 20;  // code, tables and the heap's own
  return std::max(kProgram, AnonymousBytes());
}

void RefuseBudgetBelow(const Context& context, const std::string& name, uint64_t least) {
  constexpr uint64_t kUnit = uint64_t{1} << 20;
  if (context.host_memory == 0 || context.host_memory >= least) return;
  ThrowUsage("--memory: {} needs at least {} MiB; give it that", name, (least + kUnit - 1) / kUnit);
}

void RefuseSmallBudget(const Context& context, const std::string& name) {
  constexpr uint64_t kOfAThread = uint64_t{2} << 20;  // buffers
  if (context.host_memory == 0) return;
  const uint64_t held = HeldBytes() + context.threads * kOfAThread;
  RefuseBudgetBelow(context, name, held + DiskMemory::Reserve(std::max(held, context.host_memory)));
}

std::shared_ptr<DiskMemory> WatchWithin(const Context& context, const Dataset& dataset) {
  if (context.host_memory == 0) return nullptr;
  auto disk = std::make_shared<DiskMemory>(context.host_memory, ScratchDirectory(context));
  WatchDataset(dataset, *disk);
  return disk;
}

}  // namespace l2gcn
