// What a trained network is worth on each part of its split.
#pragma once

#include <memory>

#include "l2gcn/train.h"

namespace l2gcn {

class LayerPipeline;

// EvaluateTrained with the pipeline that the seed was trained with, which is let go; null: with a new one.
void Evaluate(const Context& context, const Dataset& dataset, std::shared_ptr<LayerPipeline> pipeline,
              Trained& trained);

// The name of the split and the nodes in each of its parts, to `result`.
void CountParts(const Dataset& dataset, const Split& split, SeedResult& result);

}  // namespace l2gcn
