// Collects a run's figures: one table for people, one JSON file for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ceilings.h"

namespace l2gcn::bench {

struct Figure {
  std::string group;  // "kernel", "layer", "aggregate", "whole", "growth"
  std::string name;
  double seconds = 0;
  double gflops = 0;  // 0: not arithmetic
  double gbps = 0;    // 0: not traffic
  std::string note;
  double ceiling = 0;  // the most gflops or gbps, measured beside this figure; 0: the run's own ceiling holds
};

class Report {
 public:
  LibraryCeilings ceilings;

  // Adds the figure and prints its line at once.
  void Add(const Figure& figure);
  void PrintCeilings() const;
  // Further facts for the JSON file alone.
  nlohmann::json extra = nlohmann::json::object();
  void WriteJson(const std::string& path) const;

 private:
  double SgemmBeside(const Figure& figure) const;
  double CopyBeside(const Figure& figure) const;
  std::vector<Figure> figures_;
};

}  // namespace l2gcn::bench
