#include "problems.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "core/threads.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "train/layerwise_trainer.h"

namespace l2gcn::bench {
namespace {

Matrix RandomMatrix(size_t rows, size_t cols, uint32_t name, float scale) {
  Matrix out = Matrix::Allocate(rows, cols);
  const RandomStream stream(1, RandomUse::kGenerator, name);
  for (size_t i = 0; i < rows * cols; ++i) out.values.mutable_data()[i] = scale * (2 * stream.Uniform(i) - 1);
  return out;
}

}  // namespace

const std::vector<LayerProblem>& LayerProblems() {
  static const std::vector<LayerProblem> problems = {
      {"cora/1", 1208, 1433, 16, 7, 256, 0.045, false},
      {"cora/2", 1208, 16, 16, 7, 256, 1, false},
      {"pubmed/1", 17717, 500, 16, 3, 1024, 1, false},
      {"pubmed/1 sparse", 17717, 500, 16, 3, 1024, 0.26, false},
      {"pubmed/2", 17717, 16, 16, 3, 1024, 1, false},
      {"ppi/1", 44906, 50, 512, 121, 1024, 1, true},
      {"ppi/2", 44906, 512, 512, 121, 1024, 1, true},
      {"reddit/1", 153932, 602, 128, 41, 1024, 1, false},
      {"reddit/2", 153932, 128, 128, 41, 1024, 1, false},
      {"amazon670k/1", 420449, 100, 128, 32, 1024, 1, false},
      {"amazon670k/2", 420449, 128, 128, 32, 1024, 1, false},
      // Layers of preset `best`: three hops beside the self features. Fewer samples suffice where nothing depends on their number.
      {"best pubmed/1", 17717, 1500, 256, 3, 512, 1, false, 256},
      {"best reddit/1", 32768, 1806, 256, 41, 4096, 1, false, 256},
      {"best reddit/2", 65536, 768, 256, 41, 4096, 1, false, 256},
      {"best ppi/2", 44906, 768, 256, 121, 1024, 1, true, 256},
  };
  return problems;
}

Features RandomFeatures(const Context& context, size_t rows, size_t cols, double density) {
  const RandomStream stream(1, RandomUse::kGenerator, 100);
  if (density >= 1) {
    Matrix dense = Matrix::Allocate(rows, cols);
    float* values = dense.values.mutable_data();
    ParallelFor(context, rows * cols / 4 + 1, 1 << 14, [&](size_t begin, size_t end) {
      for (size_t block = begin; block < end; ++block) {
        const Philox4 words = stream.Block(block);
        for (size_t i = 0; i < 4 && 4 * block + i < rows * cols; ++i) {
          values[4 * block + i] = 2 * UniformFloat(words.v[i]) - 1;
        }
      }
    });
    return Features::Dense(std::move(dense));
  }
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < cols; ++j) {
      const Philox4 words = stream.Block(i * cols + j);
      if (UniformFloat(words.v[0]) >= density) continue;
      indices.push_back(static_cast<uint32_t>(j));
      values.push_back(UniformFloat(words.v[1]));
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({rows, cols, Array<uint64_t>::CopyOf(indptr), Array<uint32_t>::CopyOf(indices),
                           Array<float>::CopyOf(values)});
}

Targets RandomTargets(const LayerProblem& problem) {
  const RandomStream stream(1, RandomUse::kGenerator, 101);
  Targets targets;
  targets.multilabel = problem.multilabel;
  targets.classes = problem.classes;
  if (problem.multilabel) {
    targets.matrix = Array<uint8_t>::Allocate(size_t{problem.samples} * problem.classes);
    for (size_t i = 0; i < targets.matrix.size(); ++i) {
      targets.matrix.mutable_data()[i] = stream.Uniform(i) < 0.3f;
    }
  } else {
    targets.classes_of = Array<int32_t>::Allocate(problem.samples);
    for (size_t i = 0; i < problem.samples; ++i) {
      targets.classes_of.mutable_data()[i] = static_cast<int32_t>(stream.Below(i, problem.classes));
    }
  }
  return targets;
}

LayerState RandomState(const LayerProblem& problem) {
  LayerState state;
  const auto fan_in = [](size_t rows) { return 1.0f / std::sqrt(static_cast<float>(rows)); };
  const uint32_t last = problem.head > 0 ? problem.head : problem.hidden;
  state.Add("weight", RandomMatrix(problem.features, problem.hidden, 102, fan_in(problem.features)));
  state.Add("classifier", RandomMatrix(last, problem.classes, 103, fan_in(last)));
  if (problem.head == 0) return state;
  const auto add_norm = [&](const std::string& prefix, size_t width) {
    state.Add(prefix + "norm.weight", {Array<float>::Filled(width, 1.0f), 1, width});
    state.Add(prefix + "norm.bias", Matrix::Zeros(1, width));
  };
  add_norm("", problem.hidden);
  state.Add("head.weight", RandomMatrix(problem.hidden, problem.head, 104, fan_in(problem.hidden)));
  add_norm("head.", problem.head);
  state.Add("classifier.bias", Matrix::Zeros(1, problem.classes));
  return state;
}

LayerSpec SpecOf(const LayerProblem& problem) {
  LayerSpec spec;
  spec.batch = problem.batch;
  spec.drop_last = true;
  spec.lr = 1e-4f;
  if (problem.head == 0) return spec;
  spec.dropout = 0.5f;
  spec.architecture.norm = HiddenNorm::kLayer;
  spec.architecture.head = problem.head;
  spec.architecture.input_dropout = 0.3f;
  return spec;
}

Propagation TrainPropagation(const Context& context, const GenerateOptions& options) {
  const Dataset dataset = GenerateDataset(context, options);
  const std::vector<uint32_t> train = NodesWithRole(ResolveSplit(dataset, "", 0), Role::kTrain);
  return MakePropagation(context, InducedSubgraph(context, dataset.graph, train), Adjacency::kRowPlusI);
}

}  // namespace l2gcn::bench
