// Synthetic graphs: exact counts, simple and symmetric graphs, the same bytes for any thread count and for
// the streamed directory, and classes that the graph reveals while raw features do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "data/fixtures.h"
#include "data/generator_graph.h"
#include "data/generator_nodes.h"
#include "data/generator_shapes.h"
#include "l2gcn/generate.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

GenerateOptions Shape(const std::string& shape, double scale = 1) {
  GenerateOptions options;
  options.shape = shape;
  options.scale = scale;
  return options;
}

void ExpectSimpleAndSymmetric(const Graph& graph) {
  ASSERT_EQ(graph.indptr.size(), graph.nodes + 1u);
  ASSERT_EQ(graph.indptr[0], 0u);
  ASSERT_EQ(graph.indptr[graph.nodes], graph.entries());
  for (uint32_t u = 0; u < graph.nodes; ++u) {
    for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
      const uint32_t v = graph.indices[e];
      ASSERT_LT(v, graph.nodes);
      ASSERT_NE(v, u) << "self loop";
      if (e > graph.indptr[u]) {
        ASSERT_LT(graph.indices[e - 1], v) << "row " << u << " does not ascend";
      }
      ASSERT_TRUE(std::binary_search(graph.indices.begin() + graph.indptr[v],
                                     graph.indices.begin() + graph.indptr[v + 1], u))
          << u << " → " << v << " has no reverse";
    }
  }
}

template <class T>
void ExpectSameBytes(const Array<T>& a, const Array<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

void ExpectSameDataset(const Dataset& a, const Dataset& b) {
  ExpectSameBytes(a.graph.indptr, b.graph.indptr);
  ExpectSameBytes(a.graph.indices, b.graph.indices);
  ASSERT_EQ(a.features.stores_sparse(), b.features.stores_sparse());
  if (a.features.stores_sparse()) {
    ExpectSameBytes(a.features.csr().indptr, b.features.csr().indptr);
    ExpectSameBytes(a.features.csr().indices, b.features.csr().indices);
    ExpectSameBytes(a.features.csr().values, b.features.csr().values);
  } else {
    ExpectSameBytes(a.features.matrix().values, b.features.matrix().values);
  }
  ExpectSameBytes(a.labels.classes_of, b.labels.classes_of);
  ExpectSameBytes(a.labels.matrix, b.labels.matrix);
  ExpectSameBytes(a.splits[0].roles, b.splits[0].roles);
}

std::map<Role, uint64_t> RoleCounts(const GeneratorPlan& plan) {
  const GeneratorLayout layout(plan);
  const GeneratorNodes nodes(plan, layout);
  std::vector<uint8_t> roles(plan.nodes);
  nodes.FillRoles(0, plan.nodes, roles.data());
  std::map<Role, uint64_t> counts;
  for (uint8_t role : roles) ++counts[static_cast<Role>(role)];
  return counts;
}

struct Expected {
  const char* shape;
  const char* preset_row;
  uint32_t nodes;
  uint64_t edges;
  uint32_t features, classes;
  uint64_t train, val, test;
};
constexpr Expected kExpected[] = {
    {"cora", "cora", 2708, 5278, 1433, 7, 1208, 500, 1000},
    {"pubmed", "pubmed", 19717, 44324, 500, 3, 17717, 500, 1000},
    {"ppi", "ppi", 56944, 818716, 50, 121, 44906, 6514, 5524},
    {"reddit", "reddit", 232965, 11606919, 602, 41, 153932, 23699, 55334},
    {"reddit-dgl", "reddit", 232965, 57307946, 602, 41, 153431, 23831, 55703},
    {"amazon670k", "amazon670k", 643474, 16800000, 100, 32, 420449, 70000, 153025},
    {"amazon3m", "amazon3m", 2460406, 61859140, 100, 38, 1417899, 300000, 742507},
    {"papers100m", "papers100m", 111059956, 1615685872, 128, 172, 1207179, 125265, 214338},
};

TEST(Generator, EveryShapeHasTheCountsOfTheRealSet) {
  ASSERT_EQ(GeneratorShapes().size(), std::size(kExpected));
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.shape);
    const GeneratorPlan plan = ResolveGeneratorPlan(Shape(expected.shape));
    EXPECT_EQ(plan.nodes, expected.nodes);
    EXPECT_EQ(plan.edges, expected.edges);
    EXPECT_EQ(plan.features, expected.features);
    EXPECT_EQ(plan.classes, expected.classes);
    EXPECT_EQ(plan.preset_row, expected.preset_row);
    const GeneratorLayout layout(plan);
    uint64_t entries = 0, rows = 0;
    for (uint32_t block = 0; block < layout.blocks(); ++block) {
      entries += layout.BlockEntries(block);
      rows += layout.BlockRows(block);
    }
    EXPECT_EQ(entries, 2 * expected.edges);
    EXPECT_EQ(rows, expected.nodes);
    if (expected.nodes > 10000000) continue;  // its roles take seconds: the stretches are checked below
    std::map<Role, uint64_t> counts = RoleCounts(plan);
    EXPECT_EQ(counts[Role::kTrain], expected.train);
    EXPECT_EQ(counts[Role::kVal], expected.val);
    EXPECT_EQ(counts[Role::kTest], expected.test);
  }
  const GeneratorPlan papers = ResolveGeneratorPlan(Shape("papers100m"));
  EXPECT_EQ(papers.split[0].end, 1207179u);
  EXPECT_EQ(papers.split[1].end - papers.split[0].end, 125265u);
  EXPECT_EQ(papers.split[2].end - papers.split[1].end, 214338u);
  EXPECT_EQ(papers.split[3].end, papers.nodes);
}

TEST(Generator, CoraAndPubmedTakeTheirSplitsByIndexAsTheRealSets) {
  const Dataset cora = GenerateDataset(MakeContext(2), Shape("cora"));
  const auto role = [&](uint32_t node) { return static_cast<Role>(cora.splits[0].roles[node]); };
  EXPECT_EQ(cora.splits[0].name, "paper");
  EXPECT_EQ(role(139), Role::kTrain);
  EXPECT_EQ(role(140), Role::kVal);
  EXPECT_EQ(role(639), Role::kVal);
  EXPECT_EQ(role(640), Role::kTrain);
  EXPECT_EQ(role(1708), Role::kTest);
  std::map<Role, uint64_t> pubmed = RoleCounts(ResolveGeneratorPlan(Shape("pubmed")));
  EXPECT_EQ(pubmed[Role::kNone], 500u);
}

TEST(Generator, GraphsAreSimpleSymmetricExactAndHeavyTailed) {
  const Context context = MakeContext(2);
  // The last asks for a fifth of all pairs: cells that the power law cannot fill.
  for (const GenerateOptions& options : {Shape("cora"), Shape("pubmed"), Shape("ppi"), Shape("reddit", 0.04),
                                         Shape("amazon3m", 0.01), Shape("reddit", 0.0022)}) {
    SCOPED_TRACE(options.shape);
    const Dataset dataset = GenerateDataset(context, options);
    EXPECT_EQ(dataset.graph.entries(), 2 * dataset.edges);
    EXPECT_EQ(dataset.edges, ResolveGeneratorPlan(options).edges);
    EXPECT_EQ(dataset.name, "synthetic:" + options.shape);
    EXPECT_EQ(dataset.format, "synthetic");
    ExpectSimpleAndSymmetric(dataset.graph);
    uint64_t largest = 0, smallest = dataset.graph.entries();
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      largest = std::max(largest, dataset.graph.degree(node));
      smallest = std::min(smallest, dataset.graph.degree(node));
    }
    const double mean = 2.0 * static_cast<double>(dataset.edges) / dataset.nodes();
    EXPECT_GE(smallest, 1u) << "a node without an edge";
    if (options.scale > 0.003) {
      EXPECT_GT(static_cast<double>(largest), 8 * mean);
    }
  }
}

TEST(Generator, BytesDoNotDependOnTheNumberOfThreads) {
  for (const GenerateOptions& options : {Shape("pubmed"), Shape("ppi", 0.2), Shape("reddit", 0.1)}) {
    SCOPED_TRACE(options.shape);
    const Dataset one = GenerateDataset(MakeContext(1), options);
    ExpectSameDataset(one, GenerateDataset(MakeContext(2), options));
    ExpectSameDataset(one, GenerateDataset(MakeContext(5), options));
  }
}

TEST(Generator, SeedsDiffer) {
  const Context context = MakeContext(2);
  GenerateOptions options = Shape("cora");
  const Dataset zero = GenerateDataset(context, options);
  options.seed = 1;
  const Dataset one = GenerateDataset(context, options);
  EXPECT_FALSE(std::equal(zero.graph.indices.begin(), zero.graph.indices.end(), one.graph.indices.begin()));
  EXPECT_FALSE(std::equal(zero.labels.classes_of.begin(), zero.labels.classes_of.end(),
                          one.labels.classes_of.begin()));
  EXPECT_NE(zero.features.csr().nnz(), one.features.csr().nnz());
}

TEST(Generator, StreamedDirectoryEqualsWhatIsSavedFromMemory) {
  const TemporaryFolder folder;
  const Context context = MakeContext(3);
  for (const GenerateOptions& options : {Shape("cora"), Shape("pubmed", 0.5), Shape("ppi", 0.2),
                                         Shape("reddit", 0.07), Shape("papers100m", 0.0003)}) {
    SCOPED_TRACE(options.shape);
    const fs::path saved = folder.path() / "saved", streamed = folder.path() / "streamed";
    SaveDataset(context, GenerateDataset(context, options), saved, true);
    GenerateToDirectory(context, options, streamed, true);
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(saved)) {
      ++files;
      EXPECT_EQ(ReadTextFile(entry.path()), ReadTextFile(streamed / entry.path().filename())) << entry.path();
    }
    EXPECT_EQ(files,
              static_cast<size_t>(std::distance(fs::directory_iterator(streamed), fs::directory_iterator())));
    EXPECT_GE(files, 6u);
  }
}

TEST(Generator, RowsOfALargeGraphAgreeAcrossBlocksMadeAlone) {
  const GeneratorLayout layout(ResolveGeneratorPlan(Shape("papers100m")));
  const uint32_t near = 3, far = 1500;
  const auto rows_of = [&](uint32_t block) {
    std::vector<uint64_t> ends(layout.BlockRows(block));
    std::vector<uint32_t> indices(layout.BlockEntries(block));
    layout.FillRows(block, ends, indices);
    return std::pair(std::move(ends), std::move(indices));
  };
  // Edges between the two blocks as (near node, far node), read off either block's rows.
  const auto between = [&](uint32_t block, uint32_t other) {
    const auto [ends, indices] = rows_of(block);
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    for (uint32_t row = 0; row < ends.size(); ++row) {
      for (uint64_t e = row == 0 ? 0 : ends[row - 1]; e < ends[row]; ++e) {
        if (layout.BlockOf(indices[e]) != other) continue;
        const uint32_t node = layout.BlockBegin(block) + row;
        edges.emplace_back(block == near ? node : indices[e], block == near ? indices[e] : node);
      }
    }
    std::sort(edges.begin(), edges.end());
    return edges;
  };
  const auto forward = between(near, far);
  EXPECT_GT(forward.size(), 500u);
  EXPECT_EQ(forward, between(far, near));
}

TEST(Generator, WordFeaturesHaveTheDensityAndValuesOfTheRealSets) {
  const Context context = MakeContext(2);
  const Dataset cora = GenerateDataset(context, Shape("cora"));
  ASSERT_TRUE(cora.features.is_sparse());
  EXPECT_NEAR(static_cast<double>(cora.features.csr().nnz()) / cora.nodes(), 18.2, 0.5);
  EXPECT_TRUE(std::all_of(cora.features.csr().values.begin(), cora.features.csr().values.end(),
                          [](float value) { return value == 1.0f; }));
  const Dataset pubmed = GenerateDataset(context, Shape("pubmed"));
  const CsrMatrix& words = pubmed.features.csr();
  EXPECT_NEAR(static_cast<double>(words.nnz()) / pubmed.nodes(), 50.1, 1.0);
  double sum = 0;
  for (float value : words.values) {
    ASSERT_GE(value, 0.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / static_cast<double>(words.nnz()), 0.039, 0.01);  // the real set's mean
  for (uint32_t node = 0; node < pubmed.nodes(); ++node) {
    for (uint64_t k = words.indptr[node] + 1; k < words.indptr[node + 1]; ++k) {
      ASSERT_LT(words.indices[k - 1], words.indices[k]);
    }
  }
}

TEST(Generator, PpiIsManyLabelsOnDisjointGraphs) {
  const Dataset ppi = GenerateDataset(MakeContext(2), Shape("ppi"));
  const GeneratorPlan plan = ResolveGeneratorPlan(Shape("ppi"));
  ASSERT_TRUE(ppi.labels.multilabel);
  const double on = static_cast<double>(std::count(ppi.labels.matrix.begin(), ppi.labels.matrix.end(), 1));
  EXPECT_NEAR(on / static_cast<double>(ppi.labels.matrix.size()), 0.30, 0.02);
  ASSERT_EQ(plan.parts(), 24u);
  for (uint32_t part = 0; part < plan.parts(); ++part) {
    const uint8_t role = ppi.splits[0].roles[plan.part_begin[part]];
    EXPECT_EQ(role, static_cast<uint8_t>(part < 20 ? Role::kTrain : part < 22 ? Role::kVal : Role::kTest));
    for (uint32_t node = plan.part_begin[part]; node < plan.part_begin[part + 1]; ++node) {
      ASSERT_EQ(ppi.splits[0].roles[node], role);
      for (uint64_t e = ppi.graph.indptr[node]; e < ppi.graph.indptr[node + 1]; ++e) {
        ASSERT_GE(ppi.graph.indices[e], plan.part_begin[part]);
        ASSERT_LT(ppi.graph.indices[e], plan.part_begin[part + 1]);
      }
    }
  }
}

TEST(Generator, Papers100mLabelsOnlyWhatHasARole) {
  const Dataset papers = GenerateDataset(MakeContext(2), Shape("papers100m", 0.001));
  uint64_t labelled = 0;
  for (uint32_t node = 0; node < papers.nodes(); ++node) {
    const bool has_role = papers.splits[0].roles[node] != static_cast<uint8_t>(Role::kNone);
    ASSERT_EQ(papers.labels.classes_of[node] >= 0, has_role);
    labelled += has_role;
  }
  EXPECT_NEAR(static_cast<double>(labelled) / papers.nodes(), 0.0139, 0.0002);
}

// Share of test nodes whose class mean, taken over training nodes, is the nearest to them.
double NearestMean(const Dataset& dataset, const std::vector<float>& x, size_t columns) {
  const auto& roles = dataset.splits[0].roles;
  std::vector<double> means(dataset.labels.classes * columns, 0.0), counts(dataset.labels.classes, 1e-9);
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (roles[node] != static_cast<uint8_t>(Role::kTrain)) continue;
    const int32_t label = dataset.labels.classes_of[node];
    ++counts[label];
    for (size_t c = 0; c < columns; ++c) means[label * columns + c] += x[node * columns + c];
  }
  uint64_t right = 0, all = 0;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (roles[node] != static_cast<uint8_t>(Role::kTest)) continue;
    double nearest = INFINITY;
    int32_t guess = 0;
    for (uint32_t label = 0; label < dataset.labels.classes; ++label) {
      double distance = 0;
      for (size_t c = 0; c < columns; ++c) {
        const double gap = x[node * columns + c] - means[label * columns + c] / counts[label];
        distance += gap * gap;
      }
      if (distance < nearest) nearest = distance, guess = static_cast<int32_t>(label);
    }
    ++all;
    right += guess == dataset.labels.classes_of[node];
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

// x + the mean over the node and its neighbours: one step of the paper's operator.
std::vector<float> Aggregated(const Graph& graph, const std::vector<float>& x, size_t columns) {
  std::vector<float> out = x;
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    const float weight = 1.0f / static_cast<float>(graph.degree(node) + 1);
    for (size_t c = 0; c < columns; ++c) out[node * columns + c] += weight * x[node * columns + c];
    for (uint64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
      for (size_t c = 0; c < columns; ++c) {
        out[node * columns + c] += weight * x[graph.indices[e] * columns + c];
      }
    }
  }
  return out;
}

std::vector<float> DenseFeatures(const Dataset& dataset) {
  const size_t columns = dataset.features.cols();
  if (!dataset.features.is_sparse()) {
    return {dataset.features.matrix().values.begin(), dataset.features.matrix().values.end()};
  }
  const CsrMatrix& words = dataset.features.csr();
  std::vector<float> x(dataset.nodes() * columns, 0.0f);
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    for (uint64_t k = words.indptr[node]; k < words.indptr[node + 1]; ++k) {
      x[node * columns + words.indices[k]] = words.values[k];
    }
  }
  return x;
}

TEST(Generator, TheGraphRevealsWhatRawFeaturesHide) {
  const Context context = MakeContext(2);
  for (const GenerateOptions& options :
       {Shape("pubmed", 0.2), Shape("amazon670k", 0.01), Shape("reddit", 0.01)}) {
    SCOPED_TRACE(options.shape);
    const Dataset dataset = GenerateDataset(context, options);
    const size_t columns = dataset.features.cols();
    std::vector<float> x = DenseFeatures(dataset);
    double score = NearestMean(dataset, x, columns);
    for (int hops = 1; hops <= 3; ++hops) {
      x = Aggregated(dataset.graph, x, columns);
      const double deeper = NearestMean(dataset, x, columns);
      EXPECT_GT(deeper, score + (hops == 1 ? 0.05 : 0.01)) << hops << " hops";
      score = deeper;
    }
  }
}

TEST(Generator, OverridesScaleAndKeepTheMeanDegree) {
  GenerateOptions options = Shape("reddit", 0.5);
  options.nodes = 4000;
  options.features = 7;
  options.classes = 5;
  const Dataset dataset = GenerateDataset(MakeContext(2), options);
  EXPECT_EQ(dataset.nodes(), 2000u);
  EXPECT_NEAR(2.0 * static_cast<double>(dataset.edges) / 2000, 2.0 * 11606919 / 232965, 0.1);
  EXPECT_EQ(dataset.features.cols(), 7u);
  EXPECT_EQ(dataset.labels.classes, 5u);
  EXPECT_LT(*std::max_element(dataset.labels.classes_of.begin(), dataset.labels.classes_of.end()), 5);
  options.edges = 30000;
  EXPECT_EQ(ResolveGeneratorPlan(options).edges, 15000u);
  options = Shape("cora");
  options.nodes = 40;
  options.features = 3;
  options.classes = 60;  // more classes than nodes a block: most groups are empty
  ExpectSimpleAndSymmetric(GenerateDataset(MakeContext(1), options).graph);
}

// Homophily, label noise and topics do what they say.
TEST(Generator, StrengthsCanBeChosen) {
  GenerateOptions options = Shape("pubmed", 0.2);
  const auto same_class_share = [](const Dataset& dataset) {
    uint64_t same = 0;
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      for (uint64_t e = dataset.graph.indptr[node]; e < dataset.graph.indptr[node + 1]; ++e) {
        same += dataset.labels.classes_of[node] == dataset.labels.classes_of[dataset.graph.indices[e]];
      }
    }
    return static_cast<double>(same) / static_cast<double>(dataset.graph.entries());
  };
  const Context context = MakeContext(1);
  options.label_noise = 0;
  options.homophily = 1;
  EXPECT_EQ(same_class_share(GenerateDataset(context, options)), 1);
  options.homophily = 0;
  EXPECT_NEAR(same_class_share(GenerateDataset(context, options)), 1.0 / 3, 0.05);
  const Dataset clean = GenerateDataset(context, options);
  options.label_noise = 0.3;
  const Dataset noisy = GenerateDataset(context, options);
  uint32_t moved = 0;
  for (uint32_t node = 0; node < clean.nodes(); ++node) {
    moved += clean.labels.classes_of[node] != noisy.labels.classes_of[node];
  }
  EXPECT_NEAR(moved, 0.3 * clean.nodes(), 0.03 * clean.nodes());

  options = Shape("pubmed", 0.2);
  options.topics = 4;
  options.homophily = 1;
  options.label_noise = 0;
  EXPECT_EQ(ResolveGeneratorPlan(options).groups, 12u);
  const Dataset topical = GenerateDataset(context, options);
  EXPECT_EQ(same_class_share(topical), 1);
  EXPECT_EQ(*std::max_element(topical.labels.classes_of.begin(), topical.labels.classes_of.end()), 2);
}

// Each class is so many times as large as the next, whatever the number of its communities; 1 leaves every byte as it was.
TEST(Generator, ClassesCanBeUnequal) {
  const Context context = MakeContext(1);
  GenerateOptions options = Shape("pubmed", 0.2);
  options.classes = 2;
  options.topics = 8;
  options.label_noise = 0;
  options.skew = 4;
  const Dataset dataset = GenerateDataset(context, options);
  const auto small = std::count(dataset.labels.classes_of.begin(), dataset.labels.classes_of.end(), 1);
  EXPECT_NEAR(static_cast<double>(small), 0.2 * dataset.nodes(), 0.02 * dataset.nodes());
  ExpectSimpleAndSymmetric(dataset.graph);
}

TEST(Generator, RefusesWhatCannotBe) {
  const Context context = MakeContext(1);
  const auto refusal = [&](ErrorKind kind, const GenerateOptions& options) {
    return ErrorOf(kind, [&] { GenerateDataset(context, options); });
  };
  EXPECT_MENTIONS(refusal(ErrorKind::kInput, Shape("papers100m")), "needs 66.3 GiB");
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, Shape("pubmet")), "did you mean pubmed");
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, Shape("pubmed", 0)), "--scale 0");
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, Shape("ppi", 0.001)), "too few");
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, Shape("papers100m", 40)), "32 bits");
  GenerateOptions options = Shape("cora");
  options.edges = 2708ull * 2707 / 2;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "too many");
  options = Shape("cora");
  options.classes = 1;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "--classes 1");
  options = Shape("cora");
  options.signal = 1.5;  // a share of words
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "--signal 1.5: expected a number from 0 to 1");
  options = Shape("cora");
  options.homophily = -0.1;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "--homophily -0.1");
  options = Shape("ppi");
  options.topics = 2;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "label sets");
  options = Shape("ppi");
  options.skew = 2;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "label sets");
  options = Shape("cora");
  options.skew = 0.5;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "--skew 0.5: expected a number from 1 to 100");
  options = Shape("cora");
  options.topics = 10000;
  EXPECT_MENTIONS(refusal(ErrorKind::kUsage, options), "expected 1 to 9362");
  const TemporaryFolder folder;
  folder.Write("there/file", "kept");
  EXPECT_THROW(GenerateToDirectory(context, Shape("cora"), (folder.path() / "there").string(), true), Error);
  EXPECT_EQ(ReadTextFile(folder.path() / "there" / "file"), "kept");
}

}  // namespace
}  // namespace l2gcn
