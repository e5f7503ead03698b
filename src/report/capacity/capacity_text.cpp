// The measurement of Theorems 5 and 6 as a table and as JSON: the same counts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "l2gcn/version.h"
#include "report/capacity/capacity.h"
#include "report/capacity/capacity_chart.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

std::string CountsText(const std::vector<uint64_t>& counts) {
  std::string text;
  for (const uint64_t count : counts) text += fmt::format(" {:>6}", count);
  return text;
}

// By depth: the count, or least–most over the seeds.
std::string SeedCountsText(const CapacityNetworks& networks) {
  std::string text;
  for (size_t depth = 0; depth < networks.classes.front().size(); ++depth) {
    uint64_t least = networks.classes.front()[depth], most = least;
    for (const auto& seed : networks.classes) {
      least = std::min(least, seed[depth]);
      most = std::max(most, seed[depth]);
    }
    text += least == most ? fmt::format(" {:>6}", least) : fmt::format(" {}–{}", least, most);
  }
  return text;
}

std::string NetworkLine(const CapacityNetworks& networks) {
  return fmt::format("  {:<9} {:<11} {:<6} {:>5} {}{}{}{}\n", networks.features, networks.training,
                     networks.operation, networks.width, SeedCountsText(networks),
                     networks.matches_refinement ? "" : "  < exact",
                     networks.monotone ? "" : "  falls with depth",
                     networks.tolerance_free ? "" : "  depends on the tolerance");
}

// Graphs that look alike: whether anything tells them apart at full depth.
std::string HardSetText(const CapacitySet& set) {
  uint64_t refined = 0, networks = 0;
  for (const CapacityRefinement& refinement : set.refinements) {
    refined = std::max(refined, refinement.classes.back());
  }
  for (const CapacityNetworks& kind : set.networks) {
    for (const auto& seed : kind.classes) networks = std::max(networks, seed.back());
  }
  return fmt::format(", none isomorphic; classes by colour refinement {}, by any network {}\n", refined,
                     networks);
}

Json PairsJson(const std::vector<GraphPair>& pairs) {
  Json list = Json::array();
  for (const auto& [a, b] : pairs) list.push_back({a, b});
  return list;
}

Json SetJson(const CapacitySet& set) {
  Json json = {
      {"name", set.name}, {"nodes", set.nodes}, {"graphs", set.graphs}, {"enumerated", set.enumerated}};
  for (const CapacityRefinement& refinement : set.refinements) {
    if (refinement.operation == "own+neighbours")
      json["colour_classes"][refinement.features] = refinement.classes;
  }
  json["operators"] = Json::array();
  for (const CapacityRefinement& refinement : set.refinements) {
    if (refinement.operation == "own+neighbours") continue;
    json["operators"].push_back({{"operator", refinement.operation},
                                 {"features", refinement.features},
                                 {"classes", refinement.classes},
                                 {"confused_at", refinement.confused_at},
                                 {"confused", PairsJson(refinement.confused)}});
  }
  json["networks"] = Json::array();
  for (const CapacityNetworks& networks : set.networks) {
    json["networks"].push_back({{"training", networks.training},
                                {"features", networks.features},
                                {"operator", networks.operation},
                                {"width", networks.width},
                                {"classes", networks.classes},
                                {"matches_refinement", networks.matches_refinement},
                                {"monotone", networks.monotone},
                                {"tolerance_free", networks.tolerance_free},
                                {"missed", PairsJson(networks.missed)}});
  }
  return json;
}

}  // namespace

std::string CapacityToText(const CapacityResult& result) {
  std::string text = fmt::format(
      "Classes of graphs told apart, by rounds or layers 1, 2, …; networks: {} seeds, {}, float64\n",
      result.options.seeds, result.options.activation);
  for (const CapacitySet& set : result.sets) {
    text += fmt::format("{}: {} graphs", set.name, set.graphs);
    if (!set.enumerated) {
      text += HardSetText(set);
      continue;
    }
    text += "\n";
    for (const CapacityRefinement& refinement : set.refinements) {
      const bool itself = refinement.operation == "own+neighbours";
      text +=
          fmt::format("  {:<9} {:<11} {:<6} {:>5} {}\n", refinement.features, itself ? "colours" : "exact",
                      itself ? "" : refinement.operation, "", CountsText(refinement.classes));
    }
    for (const CapacityNetworks& networks : set.networks) text += NetworkLine(networks);
  }
  text +=
      "colours: colour refinement; exact: what an operator can see at best; sum: A+I, row: D⁻¹(A+I), row+i: "
      "D⁻¹(A+I)+I\n";
  return text + fmt::format("{:.1f} seconds", result.seconds);
}

Chart CapacityChart(const CapacityResult& result) {
  Chart chart;
  chart.title = "Graphs told apart, by depth (constant features)";
  chart.x_label = "rounds of colour refinement, or layers";
  chart.y_label = "classes told apart, % of the graphs";
  chart.whole_x = true;
  int colour = 0;
  const auto add = [&](std::string name, const std::vector<double>& classes, uint64_t graphs,
                       SeriesStyle style) {
    ChartSeries series;
    series.name = std::move(name);
    series.style = style;
    series.colour = colour;
    for (size_t depth = 0; depth < classes.size(); ++depth) {
      series.x.push_back(static_cast<double>(depth + 1));
      series.y.push_back(100 * classes[depth] / static_cast<double>(graphs));
    }
    chart.series.push_back(std::move(series));
  };
  for (const CapacitySet& set : result.sets) {
    if (!set.enumerated) continue;
    std::vector<double> exact(set.refinements.front().classes.begin(), set.refinements.front().classes.end());
    exact.resize(std::max<size_t>(exact.size(), result.options.layers), exact.back());
    add(set.name + ", colour refinement", exact, set.graphs, SeriesStyle::kLine);
    const uint32_t widest = *std::max_element(result.options.widths.begin(), result.options.widths.end());
    for (const CapacityNetworks& networks : set.networks) {
      if (networks.width != widest || networks.operation != "sum" ||
          networks.features != set.refinements.front().features) {
        continue;
      }
      std::vector<double> mean(result.options.layers, 0.0);
      for (const auto& seed : networks.classes) {
        for (size_t d = 0; d < mean.size(); ++d)
          mean[d] += static_cast<double>(seed[d]) / static_cast<double>(networks.classes.size());
      }
      const bool layerwise = networks.training == "layer-wise";
      add(set.name + ", " + networks.training, mean, set.graphs,
          layerwise ? SeriesStyle::kPoints : SeriesStyle::kHollowPoints);
    }
    ++colour;
  }
  return chart;
}

std::string CapacityToJson(const CapacityResult& result) {
  Json sets = Json::array();
  for (const CapacitySet& set : result.sets) sets.push_back(SetJson(set));
  const ReproduceOptions::Theorems& options = result.options;
  const Json json = {{"settings",
                      {{"layers", options.layers},
                       {"widths", options.widths},
                       {"seeds", options.seeds},
                       {"seed", result.seed},
                       {"features", options.features},
                       {"activation", options.activation},
                       {"steps", options.steps}}},
                     {"sets", sets},
                     {"seconds", result.seconds},
                     {"version", Version()}};
  return json.dump(2);
}

}  // namespace l2gcn
