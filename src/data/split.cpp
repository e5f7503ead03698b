// Splits by name and at random. Both random kinds shuffle the labelled nodes with RandomStream(seed, kSplit)
// and depend on nothing else:
//
//   uniform:a,b,c   cuts the order by the fractions
//   random:a,b,c    where a node has one label, cuts each class's part of the order by the fractions, so that
//                   every part has the classes in the same shares (stratified): parts as large as uniform's,
//                   a class's own count rounded down or up, and at least one train node of each class where
//                   there is room. Label sets are cut as by uniform.
//
// Splits by a column of the node table are in split_columns.cpp.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/usable.h"
#include "data/split_columns.h"
#include "data/validate.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {
namespace {

constexpr const char* kDefaultRandom = "random:0.6,0.2,0.2";

struct Fractions {
  double train = 0, val = 0, test = 0;
};

// `spec` is KIND:a,b,c.
Fractions ParseFractions(const std::string& spec) {
  Fractions fractions;
  double* const parts[] = {&fractions.train, &fractions.val, &fractions.test};
  const size_t colon = spec.rfind(':');
  const char* at = spec.c_str() + colon + 1;
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
        "--split {}: expected {}:TRAIN,VAL,TEST with fractions between 0 and 1, at most 1 together and "
        "TRAIN above 0, e.g. {}",
        spec, spec.substr(0, colon), kDefaultRandom);
  }
  return fractions;
}

// How many nodes each part takes of `count`.
struct PartSizes {
  uint32_t sizes[3];
};
PartSizes SizesOf(const Fractions& fractions, uint32_t count) {
  const auto end_of = [&](double fraction) {
    return static_cast<uint32_t>(std::min<double>(count, std::llround(fraction * count)));
  };
  const uint32_t train_end = end_of(fractions.train);
  const uint32_t val_end = std::max(train_end, end_of(fractions.train + fractions.val));
  const uint32_t test_end = std::max(val_end, end_of(fractions.train + fractions.val + fractions.test));
  return {{train_end, val_end - train_end, test_end - val_end}};
}

// Shares `seats` among classes of `members` by `fraction`, no more than `room` each: whole parts first, then
// one more to the largest remainders, the first of equals. A class gets at least `least` where it has room.
std::vector<uint32_t> Apportion(uint32_t seats, double fraction, const std::vector<uint32_t>& members,
                                const std::vector<uint32_t>& room, uint32_t least) {
  const size_t classes = members.size();
  std::vector<uint32_t> given(classes, 0), order(classes, 0);
  std::vector<double> remainder(classes);
  uint64_t total = 0;
  for (size_t c = 0; c < classes; ++c) {
    order[c] = static_cast<uint32_t>(c);
    const double quota = fraction * members[c];
    given[c] = std::min(room[c], std::max(static_cast<uint32_t>(quota), least));
    remainder[c] = quota - given[c];
    total += given[c];
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return remainder[a] > remainder[b]; });
  // Rounding leaves a few seats over; `least` may have given away a few too many.
  while (total < seats) {
    const uint64_t before = total;
    for (uint32_t c : order) {
      if (total < seats && given[c] < room[c]) ++given[c], ++total;
    }
    if (total == before) break;
  }
  for (const uint32_t kept : {least, 0u}) {
    for (size_t i = classes; total > seats && i > 0; --i) {
      uint32_t& one = given[order[i - 1]];
      const uint32_t spare = one > kept ? one - kept : 0;
      const auto taken = static_cast<uint32_t>(std::min<uint64_t>(total - seats, spare));
      one -= taken;
      total -= taken;
    }
  }
  return given;
}

// Roles of the labelled nodes in `order`, by how many of each class a part takes; of[i] is the class of
// order's i-th node.
void AssignRoles(const std::vector<uint32_t>& order, const std::vector<uint32_t>& of,
                 std::vector<uint32_t> (&takes)[3], Array<uint8_t>& roles) {
  constexpr Role kRoles[] = {Role::kTrain, Role::kVal, Role::kTest};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t part = 0; part < 3; ++part) {
      uint32_t& left = takes[part][of[i]];
      if (left == 0) continue;
      --left;
      roles.mutable_data()[order[i]] = static_cast<uint8_t>(kRoles[part]);
      break;
    }
  }
}

// What a random split gives to each part before it is known which nodes they are.
struct Shares {
  std::vector<uint32_t> labelled;  // nodes with a label, ascending
  bool by_class = false;           // stratified; else all nodes count as one class
  std::vector<uint32_t> takes[3];  // of train, val and test: nodes of each class
};

Shares SharesOf(const Dataset& dataset, const std::string& spec) {
  const Fractions fractions = ParseFractions(spec);
  const Labels& labels = dataset.labels;
  Shares shares;
  shares.by_class = spec.starts_with("random:") && labels.task() == Task::kClass;
  std::vector<uint32_t> members(shares.by_class ? labels.classes : 1, 0);
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (!labels.IsLabelled(node)) continue;
    shares.labelled.push_back(node);
    ++members[shares.by_class ? static_cast<size_t>(labels.classes_of[node]) : 0];
  }
  const PartSizes parts = SizesOf(fractions, static_cast<uint32_t>(shares.labelled.size()));
  const double wanted[] = {fractions.train, fractions.val, fractions.test};
  std::vector<uint32_t> room = members;
  for (size_t part = 0; part < 3; ++part) {
    shares.takes[part] = Apportion(parts.sizes[part], wanted[part], members, room, part == 0 ? 1 : 0);
    for (size_t c = 0; c < room.size(); ++c) room[c] -= shares.takes[part][c];
  }
  return shares;
}

Split DrawSplit(const Dataset& dataset, const std::string& spec, uint64_t seed) {
  Shares shares = SharesOf(dataset, spec);
  const auto count = static_cast<uint32_t>(shares.labelled.size());
  const Permutation shuffle(count, RandomStream(seed, RandomUse::kSplit));
  std::vector<uint32_t> order(count), of(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    order[i] = shares.labelled[shuffle(i)];
    if (shares.by_class) of[i] = static_cast<uint32_t>(dataset.labels.classes_of[order[i]]);
  }
  Split split{spec, Array<uint8_t>::Zeros(dataset.nodes())};
  AssignRoles(order, of, shares.takes, split.roles);
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

// The split of the data set's own that `spec` names; null where one is to be drawn.
const Split* StoredSplit(const Dataset& dataset, const std::string& spec) {
  CheckLengths(dataset);
  if (!dataset.checked) ValidateLabels(MakeContext(1), dataset);
  if (spec.starts_with("random:") || spec.starts_with("uniform:") || IsByColumn(spec)) return nullptr;
  if (const Split* found = FindSplit(dataset, spec.empty() ? "paper" : spec)) return found;
  if (spec.empty()) return dataset.splits.empty() ? nullptr : &dataset.splits[0];
  std::vector<std::string> names;
  for (const Split& split : dataset.splits) names.push_back(split.name);
  names.push_back(kDefaultRandom);
  const std::string nearest = NearestName(spec, names);
  ThrowUsage("--split {}: {} has no such split; it has {}{}", spec, dataset.name, fmt::join(names, ", "),
             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

std::vector<uint32_t> LabelledNodes(const Dataset& dataset) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (dataset.labels.IsLabelled(node)) nodes.push_back(node);
  }
  return nodes;
}

std::string DrawnSpec(const std::string& spec) { return spec.empty() ? kDefaultRandom : spec; }

}  // namespace

Split ResolveSplit(const Dataset& dataset, const std::string& spec, uint64_t seed) {
  if (const Split* stored = StoredSplit(dataset, spec)) return OnlyLabelled(dataset, *stored);
  if (!IsByColumn(spec)) return DrawSplit(dataset, DrawnSpec(spec), seed);
  const Fractions fractions = ParseFractions(spec);
  return DrawByColumn(dataset, spec, {fractions.train, fractions.val, fractions.test}, LabelledNodes(dataset),
                      seed);
}

Split::Counts CountSplit(const Dataset& dataset, const std::string& spec, uint64_t seed) {
  uint64_t counts[] = {0, 0, 0, 0};  // by role
  const auto count = [&](const Array<uint8_t>& roles) {
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      const size_t role = roles[node];
      if (role < std::size(counts) && dataset.labels.IsLabelled(node)) ++counts[role];
    }
  };
  if (const Split* stored = StoredSplit(dataset, spec)) {
    count(stored->roles);
  } else if (IsByColumn(spec)) {
    count(ResolveSplit(dataset, spec, seed).roles);
  } else {
    const Shares shares = SharesOf(dataset, DrawnSpec(spec));
    for (size_t part = 0; part < 3; ++part) {
      for (const uint32_t taken : shares.takes[part]) counts[part + 1] += taken;
    }
  }
  return {counts[1], counts[2], counts[3]};
}

}  // namespace l2gcn
