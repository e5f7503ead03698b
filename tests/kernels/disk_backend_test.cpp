// The backend whose matrices lie on disk against the CPU backend, bit by bit.
#include <fmt/format.h>

#include <numeric>

#include "core/disk_memory.h"
#include "core/memory_meter.h"
#include "core/row_preparation.h"
#include "data/fixtures.h"
#include "graph/needed_rows.h"
#include "kernels/backend_cases.h"

namespace l2gcn {
namespace {

using backend_cases::FiveClassStart;
using backend_cases::FiveClassTargets;
using backend_cases::RandomMatrix;

// Rows that fill several blocks, and widths of one panel, of several, and of a last one narrower than a vector.
constexpr uint32_t kNodes = 333;
constexpr size_t kWidths[] = {5, 40, 132, 300};

struct Twins {
  TemporaryFolder folder;
  Context context = MakeContext(2);
  Context from_disk = context;
  std::unique_ptr<Backend> memory, disk;

  explicit Twins(const BackendOptions& options, uint64_t budget = uint64_t{4} << 30) {
    from_disk.disk = std::make_shared<DiskMemory>(budget, folder.path());
    memory = MakeBackend(context, options);
    disk = MakeBackend(from_disk, options);
  }
  void ExpectEqual(const Tensor& ours, const Tensor& theirs, const std::string& what) {
    ExpectEqual(memory->Download(context, ours), disk->Download(from_disk, theirs), what);
  }
  static void ExpectEqual(const Matrix& a, const Matrix& b, const std::string& what) {
    ASSERT_EQ(a.rows, b.rows) << what;
    ASSERT_EQ(a.cols, b.cols) << what;
    for (size_t i = 0; i < a.values.size(); ++i) ASSERT_EQ(a.values[i], b.values[i]) << what << " " << i;
  }
};

Graph RandomGraph(bool weighted) {
  Graph graph;
  graph.nodes = kNodes;
  const RandomStream stream(3, RandomUse::kGenerator, 78);
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> weights;
  for (uint32_t i = 0; i < kNodes; ++i) {
    for (uint32_t j = 0; j < kNodes; ++j) {
      if (i == j || stream.Uniform(uint64_t{i} * kNodes + j) > (i == 7 ? 0.9f : 0.02f)) continue;
      indices.push_back(j);
      weights.push_back(0.5f + stream.Uniform(indices.size()));
    }
    indptr.push_back(indices.size());
  }
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = Array<uint32_t>::CopyOf(indices);
  if (weighted) graph.weights = Array<float>::CopyOf(weights);
  return graph;
}

Features SparseFeatures(size_t cols) {
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  const RandomStream stream(4, RandomUse::kGenerator, 79);
  for (uint64_t at = 0; at < kNodes * cols; ++at) {
    if (at > 0 && at % cols == 0) indptr.push_back(indices.size());
    if (stream.Uniform(at) > 0.03f) continue;
    indices.push_back(static_cast<uint32_t>(at % cols));
    values.push_back(stream.Uniform(at) * 30);
  }
  indptr.push_back(indices.size());
  return Features::Sparse({kNodes, cols, Array<uint64_t>::CopyOf(indptr), Array<uint32_t>::CopyOf(indices),
                           Array<float>::CopyOf(values)});
}

std::vector<uint32_t> EveryThird() {
  std::vector<uint32_t> rows;
  for (uint32_t row = 1; row < kNodes; row += 3) rows.push_back(row);
  return rows;
}

class DiskBackendTest : public ::testing::TestWithParam<FeatureType> {
 protected:
  BackendOptions options_ = {.features_as = GetParam()};
};

TEST_P(DiskBackendTest, AggregationAndProductsHaveTheBitsOfMemory) {
  Twins twins(options_);
  for (const bool weighted : {false, true}) {
    const Graph graph = RandomGraph(weighted);
    const Propagation a =
        MakePropagation(twins.context, graph, weighted ? Adjacency::kSym : Adjacency::kRowPlusI);
    const DeviceGraphPtr ours = twins.memory->Upload(twins.context, a);
    const DeviceGraphPtr theirs = twins.disk->Upload(twins.from_disk, a);
    for (const size_t cols : kWidths) {
      const Features features = Features::Dense(RandomMatrix(kNodes, cols, cols));
      const TensorPtr x = twins.memory->Upload(twins.context, features);
      const TensorPtr y = twins.disk->Upload(twins.from_disk, features);
      const TensorPtr xhat = twins.memory->Aggregate(twins.context, *ours, *x, {});
      const TensorPtr yhat = twins.disk->Aggregate(twins.from_disk, *theirs, *y, {});
      twins.ExpectEqual(*xhat, *yhat, "aggregated");
      const Matrix w = RandomMatrix(cols, 24, 9);
      HiddenParameters normed(w);
      normed.norm_weight = RandomMatrix(1, 24, 10), normed.norm_bias = RandomMatrix(1, 24, 12);
      for (const HiddenParameters& block : {HiddenParameters(w), normed}) {
        twins.ExpectEqual(*twins.memory->Transform(twins.context, xhat, block),
                          *twins.disk->Transform(twins.from_disk, yhat, block), "transformed");
      }
      twins.ExpectEqual(*twins.memory->Forward(twins.context, *ours, *x, w),
                        *twins.disk->Forward(twins.from_disk, *theirs, *y, w), "forward");
      const std::vector<uint32_t> rows = {300, 2, 2, 70, 332, 0};
      Twins::ExpectEqual(twins.memory->Logits(twins.context, *xhat, w, rows),
                         twins.disk->Logits(twins.from_disk, *yhat, w, rows), "logits of rows");
      const LayerInput joined(std::vector<TensorPtr>{x, xhat});
      const LayerInput joined_too(std::vector<TensorPtr>{y, yhat});
      const HiddenParameters wide(RandomMatrix(2 * cols, 17, 11));
      twins.ExpectEqual(*twins.memory->Transform(twins.context, joined, wide, rows),
                        *twins.disk->Transform(twins.from_disk, joined_too, wide, rows), "joined");
    }
  }
}

TEST_P(DiskBackendTest, RowsOfASubgraphHaveTheBitsOfMemory) {
  Twins twins(options_);
  const std::vector<uint32_t> nodes = EveryThird();
  Graph graph = RandomGraph(false);
  graph.nodes =
      static_cast<uint32_t>(nodes.size());  // rows 0 … of it, whose neighbours are cut to those nodes
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < graph.nodes; ++i) {
    for (uint64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
      if (graph.indices[e] < graph.nodes) indices.push_back(graph.indices[e]);
    }
    indptr.push_back(indices.size());
  }
  graph.indptr = Array<uint64_t>::CopyOf(indptr);
  graph.indices = Array<uint32_t>::CopyOf(indices);
  const Propagation a = MakePropagation(twins.context, graph, Adjacency::kRow);
  const Features features = Features::Dense(RandomMatrix(kNodes, 132, 1));
  const TensorPtr x = twins.memory->Upload(twins.context, features);
  const TensorPtr y = twins.disk->Upload(twins.from_disk, features);
  twins.ExpectEqual(
      *twins.memory->Aggregate(twins.context, *twins.memory->Upload(twins.context, a), *x, nodes),
      *twins.disk->Aggregate(twins.from_disk, *twins.disk->Upload(twins.from_disk, a), *y, nodes),
      "subgraph");
  twins.ExpectEqual(*twins.memory->PickRows(twins.context, *x, nodes),
                    *twins.disk->PickRows(twins.from_disk, *y, nodes), "picked");
}

TEST_P(DiskBackendTest, SparseAndPreparedFeaturesHaveTheBitsOfMemory) {
  Twins twins(options_);
  const Propagation a = MakePropagation(twins.context, RandomGraph(false), Adjacency::kSym);
  RowPreparation scaled;
  const Matrix numbers = RandomMatrix(2, 40, 5);
  scaled.shift = Array<float>::CopyOf({numbers.row(0), 40});
  scaled.factor = Array<float>::CopyOf({numbers.row(1), 40});
  RowPreparation normalised;
  normalised.row_factor = Array<float>::CopyOf(RandomMatrix(1, kNodes, 6).values.span());
  RowPreparation projected;
  projected.projection = RandomMatrix(40, 20, 7);
  projected.offset = Array<float>::CopyOf(RandomMatrix(1, 20, 8).values.span());
  const Features dense = Features::Dense(RandomMatrix(kNodes, 40, 1)), sparse = SparseFeatures(40);
  for (const Features& features :
       {dense.WithPreparation(scaled), dense.WithPreparation(normalised), dense.WithPreparation(projected),
        sparse, sparse.WithPreparation(normalised), sparse.WithPreparation(projected)}) {
    const TensorPtr x = twins.memory->Upload(twins.context, features);
    const TensorPtr y = twins.disk->Upload(twins.from_disk, features);
    const TensorPtr xhat =
        twins.memory->Aggregate(twins.context, *twins.memory->Upload(twins.context, a), *x, {});
    const TensorPtr yhat =
        twins.disk->Aggregate(twins.from_disk, *twins.disk->Upload(twins.from_disk, a), *y, {});
    EXPECT_EQ(xhat->sparse, yhat->sparse);
    twins.ExpectEqual(*xhat, *yhat, "aggregated");
    const HiddenParameters block(RandomMatrix(x->cols, 12, 9));
    twins.ExpectEqual(*twins.memory->Transform(twins.context, xhat, block),
                      *twins.disk->Transform(twins.from_disk, yhat, block), "transformed");
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DiskBackendTest,
                         ::testing::Values(FeatureType::kF32, FeatureType::kF16, FeatureType::kBf16));

// ---- training -------------------------------------------------------------------------------------------------

// Weights after `epochs` epochs from `first` on.
LayerState TrainedBy(Backend& backend, const Context& context, std::vector<Features> parts,
                     const LayerSpec& spec, const std::vector<uint32_t>& samples, uint32_t first,
                     uint32_t epochs) {
  std::vector<TensorPtr> tensors;
  size_t inputs = 0, rows = 0;
  for (const Features& part : parts) {
    tensors.push_back(backend.Upload(context, part));
    inputs += part.cols();
    rows = part.rows();
  }
  const LayerInput x(tensors);
  const auto count = static_cast<uint32_t>(samples.empty() ? rows : samples.size());
  auto training = backend.BeginLayer(context, x, Array<uint32_t>::CopyOf(samples), FiveClassTargets(count),
                                     spec, FiveClassStart(inputs));
  std::vector<double> losses(epochs);
  training->RunEpochs(context, first, epochs, losses);
  return training->Read();
}

// 64 MiB of rows are taken by windows; a budget far below what the process holds keeps them on disk.
TEST(DiskTrainingTest, RowsThatComeByWindowsTrainToTheBitsOfMemory) {
  constexpr uint32_t kRows = 17003;
  constexpr size_t kCols = 1000;
  const Features whole = Features::Dense(RandomMatrix(kRows + 50, kCols, 3));
  std::vector<uint32_t> samples(kRows);
  std::iota(samples.begin(), samples.end(), 20u);
  for (const bool drop_last : {false, true}) {
    Twins twins({}, uint64_t{8} << 20);
    LayerSpec spec;
    spec.batch = 1500;
    spec.drop_last = drop_last;
    const LayerState ours = TrainedBy(*twins.memory, twins.context, {whole}, spec, samples, 3, 2);
    const LayerState theirs = TrainedBy(*twins.disk, twins.from_disk, {whole}, spec, samples, 3, 2);
    Twins::ExpectEqual(ours["weight"].value, theirs["weight"].value, "W");
    Twins::ExpectEqual(ours["classifier"].value, theirs["classifier"].value, "Θ");
  }
}

TEST(DiskTrainingTest, SeveralPartsByWindowsAndInMemory) {
  for (const uint32_t rows : {100u, 17003u}) {
    const std::vector<Features> parts = {Features::Dense(RandomMatrix(rows, 600, 3)),
                                         Features::Dense(RandomMatrix(rows, 400, 4))};
    Twins twins({}, rows == 100 ? uint64_t{4} << 30 : uint64_t{8} << 20);
    LayerSpec spec;
    spec.batch = 700;
    const LayerState ours = TrainedBy(*twins.memory, twins.context, parts, spec, {}, 0, 1);
    const LayerState theirs = TrainedBy(*twins.disk, twins.from_disk, parts, spec, {}, 0, 1);
    Twins::ExpectEqual(ours["weight"].value, theirs["weight"].value, "W");
  }
}

TEST(DiskTrainingTest, ScoresOfRowsHaveTheBitsOfMemory) {
  Twins twins({});
  const Features features = Features::Dense(RandomMatrix(kNodes, 40, 3));
  const std::vector<uint32_t> rows = EveryThird();
  const Targets targets = FiveClassTargets(static_cast<uint32_t>(rows.size()));
  const auto score = [&](Backend& backend, const Context& context) {
    const TensorPtr x = backend.Upload(context, features);
    auto training = backend.BeginLayer(context, x, {}, FiveClassTargets(kNodes), {}, FiveClassStart(40));
    return backend.Score(context, *training,
                         *backend.PrepareScoring(context, x, Array<uint32_t>::CopyOf(rows), targets, true));
  };
  const RowScores ours = score(*twins.memory, twins.context), theirs = score(*twins.disk, twins.from_disk);
  EXPECT_EQ(ours.losses, theirs.losses);
  EXPECT_EQ(ours.loss, theirs.loss);
  Twins::ExpectEqual(ours.margins, theirs.margins, "margins");
  EXPECT_EQ(ours.true_positive, theirs.true_positive);
}

TEST(DiskBackend, SomeRowsOfAnOperatorHaveTheSumsOfAll) {
  Twins twins({});
  const std::vector<uint32_t> rows = EveryThird();
  for (const bool weighted : {false, true}) {
    const Propagation all = MakePropagation(twins.context, RandomGraph(weighted), Adjacency::kSym);
    for (const size_t width : kWidths) {
      const Features features = Features::Dense(RandomMatrix(kNodes, width, 8));
      const Matrix expected = twins.memory->Download(
          twins.context,
          *twins.memory->Aggregate(twins.context, *twins.memory->Upload(twins.context, all),
                                   *twins.memory->Upload(twins.context, features), {}),
          rows);
      for (const bool disk : {false, true}) {
        const Context& context = disk ? twins.from_disk : twins.context;
        Backend& backend = disk ? *twins.disk : *twins.memory;
        const auto some = backend.Upload(context, FindNeededRows(context, all, rows, 1).front().a);
        Twins::ExpectEqual(
            expected,
            backend.Download(context,
                             *backend.Aggregate(context, *some, *backend.Upload(context, features), {})),
            "some rows");
      }
    }
  }
}

// A sanitiser's own memory would be counted.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Many nodes with neighbours far apart, and a budget that leaves room for one panel and a part of the next one.
class PanelsAheadTest : public ::testing::TestWithParam<size_t> {
 protected:
  static constexpr uint32_t kMany = 200000, kDegree = 20;

  static Graph ManyNodes() {
    Graph graph;
    graph.nodes = kMany;
    std::vector<uint64_t> indptr = {0};
    std::vector<uint32_t> indices;
    for (uint32_t i = 0; i < kMany; ++i) {
      for (uint32_t j = 0; j < kDegree; ++j) indices.push_back((i + 1 + j * (kMany / kDegree - 1)) % kMany);
      std::sort(indices.end() - kDegree, indices.end());
      indptr.push_back(indices.size());
    }
    graph.indptr = Array<uint64_t>::CopyOf(indptr);
    graph.indices = Array<uint32_t>::CopyOf(indices);
    return graph;
  }
};

TEST_P(PanelsAheadTest, HaveTheBitsOfMemory) {
  constexpr uint64_t kFree = uint64_t{38} << 20;
  const size_t cols = GetParam();
  const Features features = Features::Dense(RandomMatrix(kMany, cols, 12));
  const Context context = MakeContext(2);
  const Propagation a = MakePropagation(context, ManyNodes(), Adjacency::kSym);
  const std::unique_ptr<Backend> memory = MakeBackend(context, {});
  const Matrix expected = memory->Download(
      context,
      *memory->Aggregate(context, *memory->Upload(context, a), *memory->Upload(context, features), {}));

  TemporaryFolder folder;
  Context from_disk = context;
  ReturnFreeMemory();
  // The reserve is an eighth of such a budget.
  from_disk.disk = std::make_shared<DiskMemory>((AnonymousBytes() + kFree) * 8 / 7, folder.path());
  const std::unique_ptr<Backend> disk = MakeBackend(from_disk, {});
  const TensorPtr made =
      disk->Aggregate(from_disk, *disk->Upload(from_disk, a), *disk->Upload(from_disk, features), {});
  const Matrix found = disk->Download(from_disk, *made);
  const std::string words = disk->Explain();
  EXPECT_NE(words.find(fmt::format("{} panels of 16 columns a pass", (cols + 15) / 16)), std::string::npos)
      << words;
  EXPECT_NE(words.find("% of the next one read ahead"), std::string::npos) << words;
  EXPECT_EQ(words.find(", 0 %"), std::string::npos) << words;
  EXPECT_EQ(words.find(", 100 %"), std::string::npos) << words;
  EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), found.values.begin()));
}

// Two panels, the second narrower; and more, of which all after the first are written to scratch but what comes along.
INSTANTIATE_TEST_SUITE_P(Columns, PanelsAheadTest, ::testing::Values(19, 40, 64));
#endif

}  // namespace
}  // namespace l2gcn
