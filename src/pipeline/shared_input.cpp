#include "pipeline/shared_input.h"

#include <algorithm>

namespace l2gcn {

SharedInput::SharedInput(TensorPtr input) : input_(std::move(input)) {}

Graph SharedInput::Subgraph(const std::string& relation, const std::function<Graph()>& make) {
  const std::lock_guard lock(mutex_);
  const auto found = subgraphs_.find(relation);
  return found != subgraphs_.end() ? found->second : subgraphs_[relation] = make();
}

DeviceGraphPtr SharedInput::Operator(const OperatorKey& key, const std::function<DeviceGraphPtr()>& make) {
  const std::lock_guard lock(mutex_);
  DeviceGraphPtr& made = operators_[key];
  if (made == nullptr) made = make();
  return made;
}

bool SharedInput::Knows(const Tensor& x) const {
  return &x == input_.get() || std::any_of(products_.begin(), products_.end(),
                                           [&](const auto& product) { return product.second.get() == &x; });
}

TensorPtr SharedInput::Product(const DeviceGraph* a, const Tensor& x,
                               const std::function<TensorPtr()>& make) {
  std::unique_lock lock(mutex_);
  const bool known = a == nullptr || std::any_of(operators_.begin(), operators_.end(),
                                                 [&](const auto& made) { return made.second.get() == a; });
  if (!known || !Knows(x)) {
    lock.unlock();
    return make();
  }
  if (const auto found = products_.find({a, &x}); found != products_.end()) return found->second;
  return products_[{a, &x}] = make();
}

LayerInput SharedInput::Merged(const LayerInput& blocks, const std::function<LayerInput()>& make) {
  std::unique_lock lock(mutex_);
  const bool known = std::all_of(blocks.blocks.begin(), blocks.blocks.end(),
                                 [&](const TensorPtr& block) { return Knows(*block); });
  if (!known) {
    lock.unlock();
    return make();
  }
  if (merged_of_.blocks == blocks.blocks) return merged_;
  merged_ = {};
  merged_ = make();
  merged_of_ = blocks;
  return merged_;
}

void SharedInput::KeepOnly(std::span<const std::string> relations, std::span<const Adjacency> adjacency) {
  const std::lock_guard lock(mutex_);
  const auto has = [](const auto& all, const auto& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  std::erase_if(subgraphs_, [&](const auto& made) { return !has(relations, made.first); });
  std::erase_if(operators_, [&](const auto& made) {
    if (has(relations, made.first.relation) && has(adjacency, made.first.adjacency)) return false;
    std::erase_if(products_, [&](const auto& product) { return product.first.first == made.second.get(); });
    return true;
  });
  const bool whole = std::all_of(merged_of_.blocks.begin(), merged_of_.blocks.end(),
                                 [&](const TensorPtr& block) { return Knows(*block); });
  if (!whole) merged_ = merged_of_ = {};
}

}  // namespace l2gcn
