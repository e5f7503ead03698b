#include "data/watch.h"

namespace l2gcn {
namespace {

void WatchFeatures(const Features& features, DiskMemory& disk) {
  if (features.stores_sparse()) {
    disk.Watch(features.csr().indptr);
    disk.Watch(features.csr().indices);
    disk.Watch(features.csr().values);
  } else if (features.type() == FeatureType::kF32) {
    disk.Watch(features.matrix().values);
  } else {
    disk.Watch(features.halves());
  }
}

}  // namespace

void WatchDataset(const Dataset& dataset, DiskMemory& disk) {
  disk.Watch(dataset.graph.indptr);
  disk.Watch(dataset.graph.indices);
  disk.Watch(dataset.graph.weights);
  WatchFeatures(dataset.features, disk);
  disk.Watch(dataset.labels.classes_of);
  disk.Watch(dataset.labels.matrix);
  disk.Watch(dataset.labels.labelled);
  for (const Split& split : dataset.splits) disk.Watch(split.roles);
  disk.Watch(dataset.node_names.offsets);
  disk.Watch(dataset.node_names.text);
  disk.Watch(dataset.node_ids);
}

std::shared_ptr<DiskMemory> WatchWithin(const Context& context, const Dataset& dataset) {
  if (context.host_memory == 0) return nullptr;
  auto disk = std::make_shared<DiskMemory>(context.host_memory, ScratchDirectory(context));
  WatchDataset(dataset, *disk);
  return disk;
}

}  // namespace l2gcn
