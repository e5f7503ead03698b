// Cases for backends whose matrices are shared out over ranks, against a backend of one process, bit by bit. Threads
// stand for ranks. ranks_backend_test.cpp runs them on the CPU, ranks_cuda_test.cpp on a GPU.
#pragma once

#include <bit>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend_cases.h"
#include "kernels/form_cases.h"
#include "ranks/thread_ranks.h"

namespace l2gcn::ranks_cases {

using backend_cases::FiveClassStart;
using backend_cases::FiveClassTargets;
using backend_cases::RandomMatrix;

inline constexpr uint32_t kRankNodes = 207;
// Of one panel, of several, and with a last one narrower than a vector.
inline constexpr size_t kRankWidths[] = {5, 40, 132, 300};
inline constexpr uint32_t kSizes[] = {2, 3, 8};

// What a rank found is compared with what one process finds; the first difference fails the test.
inline void ExpectSame(const Matrix& ours, const Matrix& theirs, const std::string& what) {
  static std::mutex mutex;  // a failure may be reported by one thread at a time
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(ours.rows, theirs.rows) << what;
  ASSERT_EQ(ours.cols, theirs.cols) << what;
  for (size_t i = 0; i < ours.values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(ours.values[i]), std::bit_cast<uint32_t>(theirs.values[i]))
        << what << " " << i << ": " << ours.values[i] << " and " << theirs.values[i];
  }
}

// The bits of numbers as those of floats, so that nothing is rounded away.
template <class Number>
Matrix BitsOf(std::span<const Number> numbers) {
  static_assert(sizeof(Number) % sizeof(float) == 0);
  Matrix bits = Matrix::Allocate(1, numbers.size_bytes() / sizeof(float));
  std::memcpy(bits.values.mutable_data(), numbers.data(), numbers.size_bytes());
  return bits;
}

inline Graph SomeGraph(uint32_t nodes, uint32_t most, float share = 0.03f) {
  Graph graph;
  graph.nodes = nodes;
  const RandomStream stream(3, RandomUse::kGenerator, 78);
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t j = 0; j < most; ++j) {
      if (i != j && stream.Uniform(uint64_t{i} * most + j) < (i == 7 ? 0.9f : share)) indices.push_back(j);
    }
    indptr.push_back(indices.size());
  }
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = Array<uint32_t>::CopyOf(indices);
  return graph;
}

inline Features SomeSparse(size_t cols, float share) {
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  const RandomStream stream(4, RandomUse::kGenerator, 79);
  for (uint64_t row = 0; row < kRankNodes; ++row) {
    for (uint64_t c = 0; c < cols; ++c) {
      if (stream.Uniform(row * cols + c) > share) continue;
      indices.push_back(static_cast<uint32_t>(c));
      values.push_back(stream.Uniform(row * cols + c) + 1);
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({kRankNodes, cols, Array<uint64_t>::CopyOf(indptr),
                           Array<uint32_t>::CopyOf(indices), Array<float>::CopyOf(values)});
}

// `see` is given results, in the same order by one process and by every rank.
using See = std::function<void(const Matrix&, const std::string&)>;
using Body = std::function<void(Backend& backend, const Context& context, const See& see)>;
// Runs a body in one process and on ranks, and compares what they see.
using Compare = std::function<void(const Body& body)>;
using MakeRankBackend = std::function<std::unique_ptr<Backend>(const Context& context)>;

// What one process sees, with the backend of `alone`.
inline std::vector<Matrix> SeenAlone(const Context& alone, const BackendOptions& options, const Body& body) {
  std::vector<Matrix> seen;
  const auto backend = MakeBackend(alone, options);
  body(*backend, alone, [&](const Matrix& result, const std::string&) { seen.push_back(result); });
  return seen;
}

// `size` ranks on `device`, with the backend that `make` gives each of them, must see the same.
inline void ExpectSeen(const std::vector<Matrix>& expected, uint32_t size, DeviceKind device,
                       const std::string& exchange, const MakeRankBackend& make, const Body& body) {
  const auto run = [&](const Context& given) {
    Context context = given;
    context.device = device;
    size_t at = 0;
    const auto backend = make(context);
    body(*backend, context, [&](const Matrix& seen, const std::string& what) {
      ExpectSame(expected.at(at++), seen, what + ", " + std::to_string(size) + " ranks, " + exchange);
    });
  };
  RunAsRanks(size, 1 + size % 2, run, exchange);
}

inline void CompareOperations(const Compare& compare) {
  compare([](Backend& backend, const Context& context, const See& see) {
    const Propagation a = MakePropagation(context, SomeGraph(kRankNodes, kRankNodes), Adjacency::kSym);
    const DeviceGraphPtr graph = backend.Upload(context, a);
    const std::vector<uint32_t> rows = {200, 2, 2, 70, 206, 0};
    for (const size_t cols : kRankWidths) {
      const TensorPtr x = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, cols, cols)));
      const TensorPtr xhat = backend.Aggregate(context, *graph, *x, {});
      see(backend.Download(context, *xhat), "aggregated");
      const Matrix w = RandomMatrix(cols, 24, 9);
      see(backend.Download(context,
                           *backend.Transform(context, xhat, DenseBlock(w, RandomMatrix(2, 24, 10)))),
          "transformed");
      see(backend.Download(context, *backend.Forward(context, *graph, *x, w)), "forward");
      see(backend.Logits(context, *xhat, w, rows), "logits of rows");
      see(backend.Download(context, *backend.PickRows(context, *xhat, rows)), "picked");
      see(backend.Download(context, *xhat, rows), "downloaded rows");
      const LayerInput joined(std::vector<TensorPtr>{x, xhat});
      see(backend.Download(context,
                           *backend.Transform(context, joined, RandomMatrix(2 * cols, 17, 11), rows)),
          "joined");
    }
  });
}

inline void CompareSubgraph(const Compare& compare) {
  std::vector<uint32_t> nodes;
  for (uint32_t row = 1; row < kRankNodes; row += 3) nodes.push_back(row);
  const auto count = static_cast<uint32_t>(nodes.size());
  compare([&](Backend& backend, const Context& context, const See& see) {
    const Propagation a = MakePropagation(context, SomeGraph(count, count), Adjacency::kRow);
    const TensorPtr x = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, 132, 1)));
    see(backend.Download(context, *backend.Aggregate(context, *backend.Upload(context, a), *x, nodes)),
        "subgraph");
  });
}

// Many neighbours and many columns: tiles are copied before they are summed, and ranks that see one memory copy them
// together.
inline void CompareFullGraph(const Compare& compare) {
  RowPreparation scaled;
  scaled.row_factor = Array<float>::CopyOf(RandomMatrix(1, kRankNodes, 6).values.span());
  const Features plain = Features::Dense(RandomMatrix(kRankNodes, 300, 1));
  for (const Features& features : {plain, plain.WithPreparation(scaled)}) {
    compare([&](Backend& backend, const Context& context, const See& see) {
      const Propagation a =
          MakePropagation(context, SomeGraph(kRankNodes, kRankNodes, 0.3f), Adjacency::kSym);
      const DeviceGraphPtr graph = backend.Upload(context, a);
      const TensorPtr xhat = backend.Aggregate(context, *graph, *backend.Upload(context, features), {});
      see(backend.Download(context, *xhat), "aggregated");
      see(backend.Download(context, *backend.Aggregate(context, *graph, *xhat, {})), "aggregated again");
    });
  }
}

inline void CompareFeatures(const Compare& compare) {
  RowPreparation scaled, normalised, projected;
  const Matrix numbers = RandomMatrix(2, 40, 5);
  scaled.shift = Array<float>::CopyOf({numbers.row(0), 40});
  scaled.factor = Array<float>::CopyOf({numbers.row(1), 40});
  normalised.row_factor = Array<float>::CopyOf(RandomMatrix(1, kRankNodes, 6).values.span());
  projected.projection = RandomMatrix(40, 20, 7);
  projected.offset = Array<float>::CopyOf(RandomMatrix(1, 20, 8).values.span());
  const Features dense = Features::Dense(RandomMatrix(kRankNodes, 40, 1)), sparse = SomeSparse(40, 0.03f),
                 fuller = SomeSparse(40, 0.4f);
  for (const Features& features :
       {dense.WithPreparation(scaled), dense.WithPreparation(normalised), dense.WithPreparation(projected),
        sparse, fuller, sparse.WithPreparation(normalised), sparse.WithPreparation(projected)}) {
    compare([&](Backend& backend, const Context& context, const See& see) {
      const Propagation a = MakePropagation(context, SomeGraph(kRankNodes, kRankNodes), Adjacency::kRowPlusI);
      const DeviceGraphPtr graph = backend.Upload(context, a);
      const TensorPtr x = backend.Upload(context, features);
      const TensorPtr xhat = backend.Aggregate(context, *graph, *x, {});
      see(backend.Download(context, *xhat), "aggregated");
      see(backend.Download(context, *backend.Aggregate(context, *graph, *xhat, {})), "aggregated again");
      see(backend.Download(context, *backend.Transform(context, xhat, RandomMatrix(x->cols, 12, 9))),
          "transformed");
    });
  }
}

inline void TrainAndScore(Backend& backend, const Context& context, const LayerInput& x,
                          const std::vector<uint32_t>& samples, uint32_t batch, const See& see) {
  LayerSpec spec;
  spec.batch = batch;
  const auto count = static_cast<uint32_t>(samples.empty() ? x.rows() : samples.size());
  auto training = backend.BeginLayer(context, x, Array<uint32_t>::CopyOf(samples), FiveClassTargets(count),
                                     spec, FiveClassStart(x.cols()));
  std::vector<double> losses(2), steps;
  training->RunEpochs(context, 1, 2, losses, &steps);
  see(BitsOf<double>(losses), "losses");
  see(BitsOf<double>(steps), "losses of steps");
  see(training->Read().w, "W");
  const std::vector<uint32_t> rows = {90, 5, 17, 201, 6};
  const RowScores scores = backend.Score(
      context, *training,
      *backend.PrepareScoring(context, x, Array<uint32_t>::CopyOf(rows), FiveClassTargets(5), true));
  see(BitsOf<float>(scores.losses), "losses of rows");
  see(BitsOf<double>({&scores.loss, 1}), "loss");
  const std::vector<uint64_t> counts = {scores.true_positive, scores.false_positive, scores.false_negative};
  see(BitsOf<uint64_t>(counts), "counts");
  see(BitsOf<float>(scores.misses), "misses");
  see(scores.margins, "margins");
}

inline void CompareTraining(const Compare& compare) {
  compare([](Backend& backend, const Context& context, const See& see) {
    const TensorPtr dense = backend.Upload(context, Features::Dense(RandomMatrix(kRankNodes, 40, 3)));
    const TensorPtr sparse = backend.Upload(context, SomeSparse(30, 0.05f));
    TrainAndScore(backend, context, dense, {}, 50, see);
    TrainAndScore(backend, context, sparse, {1, 5, 9, 100, 150, 160, 206}, 3, see);
    TrainAndScore(backend, context, LayerInput(std::vector<TensorPtr>{sparse, dense}), {}, 64, see);
  });
}

// Layers that are not plain, of inputs side by side.
inline void CompareForms(const Compare& compare) {
  for (const backend_cases::FormCase& one : backend_cases::FormCases()) {
    compare([&](Backend& backend, const Context& context, const See& see) {
      const LayerInput x = backend_cases::InputOf(context, backend, one).device;
      const LayerState start = backend_cases::FormState(one, x.cols());
      const Targets targets = backend_cases::RandomTargets(one.shape, one.shape.nodes, 3);
      const auto training = backend.BeginLayer(context, x, {}, targets, backend_cases::FormSpec(one), start);
      std::vector<double> losses(2);
      training->RunEpochs(context, 0, 2, losses);
      const LayerState state = training->Read();
      see(state.w, "W");
      see(state.theta, "theta");
      const RowScores scores =
          backend.Score(context, *training, *backend.PrepareScoring(context, x, {}, targets));
      see(BitsOf<double>(losses), "losses");
      see(BitsOf<float>(scores.losses), "scores");
      const TensorPtr h = backend.Transform(context, x, state.block());
      see(backend.Download(context, *h), "transformed");
      const std::vector<uint32_t> rows = {30, 2, 2, 17};
      see(backend.Download(context, *backend.Transform(context, x, state.block(), rows)), "some transformed");
    });
  }
}

}  // namespace l2gcn::ranks_cases
