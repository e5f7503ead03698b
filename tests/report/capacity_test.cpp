#include "report/capacity/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/rng.h"
#include "l2gcn/error.h"
#include "report/capacity/capacity_chart.h"
#include "report/capacity/network.h"
#include "report/capacity/refinement.h"

namespace l2gcn::capacity {
namespace {

SmallGraph Shuffled(const SmallGraph& graph, uint64_t seed) {
  const Permutation to(graph.nodes, RandomStream(seed, RandomUse::kShuffle));
  SmallGraph moved;
  moved.nodes = graph.nodes;
  for (uint32_t i = 0; i < graph.nodes; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      if (graph.HasEdge(i, j)) moved.AddEdge(to(i), to(j));
    }
  }
  return moved;
}

TEST(SmallGraphs, EnumerationHasTheKnownNumbersOfGraphs) {
  const Context context = MakeContext(2);
  const size_t known[] = {1, 2, 4, 11, 34, 156, 1044};
  for (uint32_t n = 1; n <= 7; ++n) EXPECT_EQ(AllGraphs(context, n).size(), known[n - 1]) << n;
}

TEST(SmallGraphs, CanonicalFormForgetsTheLabelsAndNothingElse) {
  const Context context = MakeContext(1);
  std::set<std::string> forms;
  for (const SmallGraph& graph : AllGraphs(context, 6)) {
    const SmallGraph form = CanonicalForm(graph);
    EXPECT_TRUE(forms.insert(ToGraph6(form)).second);
    for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(CanonicalForm(Shuffled(graph, seed)), form);
  }
}

TEST(SmallGraphs, Graph6IsNautys) {
  SmallGraph path;  // 0–2, 0–4, 1–3, 3–4: the example of nauty's description of the format
  path.nodes = 5;
  path.AddEdge(0, 2), path.AddEdge(0, 4), path.AddEdge(1, 3), path.AddEdge(3, 4);
  EXPECT_EQ(ToGraph6(path), "DQc");
}

// Counts by rounds, counted independently of this code.
TEST(Refinement, HasTheReferenceCounts) {
  const Context context = MakeContext(2);
  const std::vector<std::vector<uint64_t>> known = {{31, 34}, {102, 152}, {342, 952, 1018, 1022}};
  for (uint32_t n = 5; n <= 7; ++n) {
    const GraphSet set(AllGraphs(context, n));
    for (const Operation operation : {Operation::kOwnAndNeighbours, Operation::kSum}) {
      std::vector<uint32_t> colours = FirstColours(set, "constant");
      for (const uint64_t expected : known[n - 5]) {
        colours = RefineOnce(set, colours, operation).rank;
        EXPECT_EQ(ClassesOfGraphs(set, colours).distinct, expected) << n << " " << NameOf(operation);
      }
    }
  }
}

TEST(Refinement, DegreesAreOneRoundAhead) {
  const GraphSet set(AllGraphs(MakeContext(1), 6));
  std::vector<uint32_t> late = FirstColours(set, "constant"), early = FirstColours(set, "degree");
  late = RefineOnce(set, late, Operation::kOwnAndNeighbours).rank;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(ClassesOfGraphs(set, late).distinct, ClassesOfGraphs(set, early).distinct);
    late = RefineOnce(set, late, Operation::kOwnAndNeighbours).rank;
    early = RefineOnce(set, early, Operation::kOwnAndNeighbours).rank;
  }
}

// Colour refinement sees nothing in graphs whose nodes all look alike.
TEST(HardPairs, AreDifferentAndLookAlike) {
  SmallGraph k4;
  k4.nodes = 4;
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t j = 0; j < i; ++j) k4.AddEdge(i, j);
  }
  const std::vector<SmallGraph> cfi = CfiPair(k4), regular = RandomRegularGraphs(10, 3, 6, 1);
  ASSERT_EQ(cfi.size(), 2u);
  EXPECT_EQ(cfi[0].nodes, 16u);
  EXPECT_FALSE(CanonicalForm(cfi[0]) == CanonicalForm(cfi[1]));
  ASSERT_EQ(regular.size(), 6u);
  for (const auto& graphs : {cfi, regular}) {
    const GraphSet set(graphs);
    for (uint32_t row = 0; row < set.rows(); ++row) EXPECT_EQ(set.Degree(row), set.most_degree);
    const Ranking once = RefineOnce(set, FirstColours(set, "degree"), Operation::kOwnAndNeighbours);
    EXPECT_EQ(ClassesOfGraphs(set, once.rank).distinct, 1u);
  }
}

TEST(Network, RowsWithinTheToleranceAreOneColour) {
  Dense x(5, 2);
  x.values = {1, 2, 1 + 1e-14, 2, 1, 2.001, 5, 5, 5, 5 - 1e-13};
  const Ranking colours = ColoursOfRows(x, 1e-10);
  EXPECT_EQ(colours.distinct, 3u);
  EXPECT_EQ(colours.rank[0], colours.rank[1]);
  EXPECT_NE(colours.rank[0], colours.rank[2]);
  EXPECT_EQ(colours.rank[3], colours.rank[4]);
}

ReproduceOptions::Theorems SmallMeasurement() {
  ReproduceOptions::Theorems options;
  options.least_nodes = 4;
  options.most_nodes = 5;
  options.layers = 2;
  options.widths = {8};
  options.seeds = 2;
  options.steps = 10;
  return options;
}

TEST(Capacity, NetworksTellApartWhatRefinementDoesForAnyNumberOfThreads) {
  const CapacityResult result = MeasureCapacity(MakeContext(1), SmallMeasurement());
  for (const CapacitySet& set : result.sets) {
    for (const CapacityNetworks& networks : set.networks) {
      EXPECT_TRUE(networks.matches_refinement)
          << set.name << " " << networks.training << " " << networks.operation;
      EXPECT_TRUE(networks.monotone) << set.name;
      EXPECT_TRUE(networks.tolerance_free) << set.name;
    }
  }
  auto one = nlohmann::json::parse(CapacityToJson(result));
  auto two = nlohmann::json::parse(CapacityToJson(MeasureCapacity(MakeContext(2), SmallMeasurement())));
  EXPECT_EQ(one.at("sets")[1].at("colour_classes").at("constant"), nlohmann::json({31, 34}));
  EXPECT_EQ(one.at("sets")[1].at("operators")[1].at("classes"), nlohmann::json({1})) << "D⁻¹(A+I), constant";
  one.erase("seconds");
  two.erase("seconds");
  EXPECT_EQ(one, two);
  EXPECT_EQ(CapacityChart(result).series.size(), 6u);
}

// One unit cannot: the count is smaller, and the pairs are named.
TEST(Capacity, WhatIsMissedIsListed) {
  ReproduceOptions::Theorems options = SmallMeasurement();
  options.least_nodes = options.most_nodes = 6;
  options.layers = 1;
  options.widths = {1};
  options.features = {"degree"};
  options.steps = 0;
  const CapacityResult result = MeasureCapacity(MakeContext(2), options);
  const CapacityNetworks& networks = result.sets.front().networks.front();
  EXPECT_FALSE(networks.matches_refinement);
  EXPECT_FALSE(networks.missed.empty());
  EXPECT_NE(CapacityToText(result).find("< exact"), std::string::npos);
}

TEST(Capacity, RefusesWhatItCannotDo) {
  ReproduceOptions::Theorems options;
  options.most_nodes = 9;
  EXPECT_THROW(MeasureCapacity(MakeContext(1), options), Error);
  options = {};
  options.features = {"colour"};
  EXPECT_THROW(MeasureCapacity(MakeContext(1), options), Error);
}

}  // namespace
}  // namespace l2gcn::capacity
