// A small data set through the public headers alone: a ring of nodes in three classes whose features tell the
// class.
#pragma once

#include <cstdint>
#include <vector>

#include "l2gcn/make_dataset.h"

namespace l2gcn {

struct Ring {
  static constexpr uint32_t kNodes = 90, kColumns = 6, kClasses = 3;
  std::vector<int64_t> source, target, classes_of, train, val, test;
  std::vector<float> values = std::vector<float>(kNodes * kColumns);

  Ring() {
    for (uint32_t node = 0; node < kNodes; ++node) {
      source.push_back(node);
      target.push_back((node + kClasses) % kNodes);
      classes_of.push_back(node % kClasses);
      (node % 10 < 6 ? train : node % 10 < 8 ? val : test).push_back(node);
      for (uint32_t column = 0; column < kColumns; ++column) {
        values[node * kColumns + column] =
            (column % kClasses == node % kClasses ? 1.0f : 0.0f) + 0.01f * static_cast<float>(node % 7);
      }
    }
  }

  DatasetArrays Arrays() const {
    DatasetArrays arrays;
    arrays.name = "ring";
    arrays.features = Features::Dense({Array<float>::CopyOf(values), kNodes, kColumns});
    arrays.source = source;
    arrays.target = target;
    arrays.classes_of = classes_of;
    arrays.train = train;
    arrays.val = val;
    arrays.test = test;
    return arrays;
  }
  Dataset Make(const Context& context) const { return MakeDataset(context, Arrays()); }
};

}  // namespace l2gcn
