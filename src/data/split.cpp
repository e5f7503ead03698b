// Splits by name and at random. A random split shuffles the labelled nodes with RandomStream(seed, kSplit)
// and cuts the order by the fractions; it depends on nothing else.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/usable.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {
namespace {

constexpr const char* kDefaultRandom = "random:0.6,0.2,0.2";

struct Fractions {
  double train = 0, val = 0, test = 0;
};

Fractions ParseFractions(const std::string& spec) {
  Fractions fractions;
  double* const parts[] = {&fractions.train, &fractions.val, &fractions.test};
  const char* at = spec.c_str() + std::string_view("random:").size();
  size_t count = 0;
  for (; count < 3; ++count) {
    char* end = nullptr;
    *parts[count] = std::strtod(at, &end);
    if (end == at || !std::isfinite(*parts[count]) || *parts[count] < 0 || *parts[count] > 1) break;
    at = end;
    if (*at != ',') {
      ++count;
      break;
    }
    ++at;
  }
  const double sum = fractions.train + fractions.val + fractions.test;
  if (count != 3 || *at != '\0' || sum > 1 + 1e-9 || fractions.train <= 0) {
    ThrowUsage(
        "--split {}: expected random:TRAIN,VAL,TEST with fractions between 0 and 1, at most 1 together and "
        "TRAIN above 0, e.g. {}",
        spec, kDefaultRandom);
  }
  return fractions;
}

Split DrawSplit(const Dataset& dataset, const std::string& spec, uint64_t seed) {
  const Fractions fractions = ParseFractions(spec);
  std::vector<uint32_t> labelled;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (dataset.labels.IsLabelled(node)) labelled.push_back(node);
  }
  const auto count = static_cast<uint32_t>(labelled.size());
  const auto end_of = [&](double fraction) {
    return static_cast<uint32_t>(std::min<double>(count, std::llround(fraction * count)));
  };
  const uint32_t train_end = end_of(fractions.train);
  const uint32_t val_end = std::max(train_end, end_of(fractions.train + fractions.val));
  const uint32_t test_end = std::max(val_end, end_of(fractions.train + fractions.val + fractions.test));
  Split split{spec, Array<uint8_t>::Zeros(dataset.nodes())};
  const Permutation order(count, RandomStream(seed, RandomUse::kSplit));
  for (uint32_t i = 0; i < test_end; ++i) {
    const Role role = i < train_end ? Role::kTrain : i < val_end ? Role::kVal : Role::kTest;
    split.roles.mutable_data()[labelled[order(i)]] = static_cast<uint8_t>(role);
  }
  return split;
}

// The same split with the roles of unlabelled nodes removed.
Split OnlyLabelled(const Dataset& dataset, const Split& split) {
  Split masked{split.name, Array<uint8_t>::CopyOf(split.roles.span())};
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (!dataset.labels.IsLabelled(node)) masked.roles.mutable_data()[node] = 0;
  }
  return masked;
}

const Split* FindSplit(const Dataset& dataset, const std::string& spec) {
  const std::string wanted = spec == "file" ? "file:0" : spec;
  for (const Split& split : dataset.splits) {
    if (split.name == wanted) return &split;
  }
  // "file" is also whatever single split of its own a set brings under another name.
  if (spec == "file" && !dataset.splits.empty()) return &dataset.splits[0];
  return nullptr;
}

}  // namespace

Split ResolveSplit(const Dataset& dataset, const std::string& spec, uint64_t seed) {
  CheckLengths(dataset);
  if (spec.starts_with("random:")) return DrawSplit(dataset, spec, seed);
  if (spec.empty()) {
    if (const Split* paper = FindSplit(dataset, "paper")) return OnlyLabelled(dataset, *paper);
    if (!dataset.splits.empty()) return OnlyLabelled(dataset, dataset.splits[0]);
    return DrawSplit(dataset, kDefaultRandom, seed);
  }
  if (const Split* found = FindSplit(dataset, spec)) return OnlyLabelled(dataset, *found);
  std::vector<std::string> names;
  for (const Split& split : dataset.splits) names.push_back(split.name);
  names.push_back(kDefaultRandom);
  const std::string nearest = NearestName(spec, names);
  ThrowUsage("--split {}: {} has no such split; it has {}{}", spec, dataset.name, fmt::join(names, ", "),
             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

}  // namespace l2gcn
