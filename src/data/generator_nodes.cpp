#include "data/generator_nodes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error_format.h"
#include "data/generator_random.h"

namespace l2gcn {
namespace {

constexpr uint64_t kWordDraws = 1u << 12;  // numbers set aside for a node's words
constexpr double kLengthSpread = 0.3;      // deviation of a node's word count over its mean

// P(PowerRank(…, count) < rank).
double PowerShare(uint32_t rank, uint32_t count) {
  return std::pow(static_cast<double>(rank) / count, kPowerRankExponent);
}

}  // namespace

GeneratorNodes::GeneratorNodes(const GeneratorPlan& plan, const GeneratorLayout& layout)
    : plan_(plan),
      layout_(layout),
      split_order_(plan.nodes, GeneratorStream(plan_.seed, GeneratorUse::kSplit)) {
  if (plan.multilabel) DrawLabelSets();
  if (plan.sparse()) {
    DrawVocabulary();
  } else {
    DrawMeans();
  }
}

void GeneratorNodes::DrawMeans() {
  const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kMeans);
  const auto scale = static_cast<float>(plan_.signal / std::sqrt(static_cast<double>(plan_.features)));
  means_.resize(static_cast<size_t>(plan_.groups) * plan_.features);
  for (size_t k = 0; k < means_.size(); ++k) means_[k] = scale * BellNoise(stream.Word(k));
}

// Label l is on for a fixed number of groups, 1 in 10 to 1 in 2 of them, chosen anew for each label: about 30
// % of all entries.
void GeneratorNodes::DrawLabelSets() {
  label_sets_.assign(static_cast<size_t>(plan_.groups) * plan_.classes, 0);
  for (uint32_t label = 0; label < plan_.classes; ++label) {
    const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kLabelSets, label);
    const Permutation order(plan_.groups, stream);
    const double share = 0.1 + 0.4 * label / std::max(1u, plan_.classes - 1);
    const auto count = std::max(1u, static_cast<uint32_t>(std::lround(share * plan_.groups)));
    for (uint32_t k = 0; k < count; ++k)
      label_sets_[static_cast<size_t>(order(k)) * plan_.classes + label] = 1;
  }
}

void GeneratorNodes::DrawVocabulary() {
  const uint32_t columns = plan_.features;
  const Permutation order(columns, GeneratorStream(plan_.seed, GeneratorUse::kVocabulary));
  vocabulary_.resize(columns);
  rarity_.assign(columns, 1.0f);
  for (uint32_t rank = 0; rank < columns; ++rank) {
    const uint32_t column = vocabulary_[rank] = order(rank);
    if (plan_.kind != FeatureKind::kTfIdfWords) continue;
    const double background = PowerShare(rank + 1, columns) - PowerShare(rank, columns);
    const double chance = (1 - plan_.signal) * background + plan_.signal / columns;
    const double share_of_nodes = 1 - std::pow(1 - chance, plan_.words);
    rarity_[column] = static_cast<float>(std::log(1 / share_of_nodes));
  }
}

// visit(offset from begin, group) for every node of the range.
template <class Visit>
void GeneratorNodes::EachGroup(uint32_t begin, uint32_t count, const Visit& visit) const {
  uint32_t offset = 0;
  for (uint32_t block = layout_.BlockOf(begin); offset < count; ++block) {
    const uint32_t end = std::min(count, layout_.BlockBegin(block) + layout_.BlockRows(block) - begin);
    for (; offset < end; ++offset) visit(offset, layout_.GroupOf(block, begin + offset));
  }
}

void GeneratorNodes::FillDense(uint32_t begin, uint32_t count, float* rows) const {
  const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kNoise);
  const uint32_t columns = plan_.features;
  const uint64_t draws = (columns + 3) / 4;
  EachGroup(begin, count, [&](uint32_t offset, uint32_t group) {
    const float* mean = means_.data() + static_cast<size_t>(group) * columns;
    float* row = rows + static_cast<size_t>(offset) * columns;
    const uint64_t first = (static_cast<uint64_t>(begin) + offset) * draws;
    uint32_t column = 0;
    for (; column + 4 <= columns; column += 4) {
      const Philox4 bits = stream.Block(first + column / 4);
      for (uint32_t k = 0; k < 4; ++k) row[column + k] = mean[column + k] + BellNoise(bits.v[k]);
    }
    if (column < columns) {
      const Philox4 bits = stream.Block(first + column / 4);
      for (uint32_t k = 0; column + k < columns; ++k)
        row[column + k] = mean[column + k] + BellNoise(bits.v[k]);
    }
  });
}

uint32_t GeneratorNodes::WordCount(uint32_t node) const {
  const uint32_t bits = GeneratorStream(plan_.seed, GeneratorUse::kWords).Block(node * kWordDraws).v[0];
  const double length = plan_.words * (1 + kLengthSpread * BellNoise(bits));
  const uint32_t most = std::max(1u, plan_.features / 2);
  return std::clamp(static_cast<uint32_t>(std::max(1.0, std::round(length))), 1u, most);
}

void GeneratorNodes::FillWordsOf(uint32_t node, uint32_t group, std::span<uint32_t> columns, float* values,
                                 std::vector<uint8_t>& taken) const {
  const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kWords);
  const auto topical = static_cast<float>(plan_.signal);
  const uint32_t words = plan_.features;
  const auto topic = static_cast<uint32_t>(static_cast<uint64_t>(words) * group / plan_.groups);
  uint32_t total = 0;
  for (size_t k = 0, draw = 1; k < columns.size(); ++draw) {
    const Philox4 bits = stream.Block(node * kWordDraws + draw);
    uint32_t word = PowerRank(UnitOf(bits.v[1]), words);
    if (UniformFloat(bits.v[0]) < topical) word = (word + topic) % words;
    const bool out_of_draws = draw + 1 >= kWordDraws;
    while (out_of_draws && taken[vocabulary_[word]] != 0) word = word + 1 == words ? 0 : word + 1;
    const uint32_t column = vocabulary_[word];
    if (taken[column] != 0) continue;
    const int times = 1 + std::min(6, std::countl_zero(bits.v[2]));  // halves with each further occurrence
    taken[column] = static_cast<uint8_t>(times);
    total += static_cast<uint32_t>(times);
    columns[k++] = column;
  }
  std::sort(columns.begin(), columns.end());
  const bool weighted = plan_.kind == FeatureKind::kTfIdfWords;
  for (size_t k = 0; k < columns.size(); ++k) {
    const uint32_t column = columns[k];
    values[k] =
        weighted ? static_cast<float>(taken[column]) / static_cast<float>(total) * rarity_[column] : 1.0f;
    taken[column] = 0;
  }
}

void GeneratorNodes::FillWords(uint32_t begin, uint32_t count, uint32_t* columns, float* values) const {
  std::vector<uint8_t> taken(plan_.features, 0);  // occurrences of each word in the current node
  EachGroup(begin, count, [&](uint32_t offset, uint32_t group) {
    const uint32_t length = WordCount(begin + offset);
    FillWordsOf(begin + offset, group, {columns, length}, values, taken);
    columns += length;
    values += length;
  });
}

void GeneratorNodes::FillClasses(uint32_t begin, uint32_t count, int32_t* classes) const {
  const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kLabel);
  const auto noise = static_cast<float>(plan_.label_noise);
  EachGroup(begin, count, [&](uint32_t offset, uint32_t group) {
    const uint32_t node = begin + offset;
    const Philox4 bits = stream.Block(node);
    uint32_t label = group % plan_.classes;
    if (UniformFloat(bits.v[0]) < noise) {  // any other class, all alike
      label += 1 + static_cast<uint32_t>((static_cast<uint64_t>(bits.v[1]) * (plan_.classes - 1)) >> 32);
      label %= plan_.classes;
    }
    const bool hidden = plan_.unlabelled_rest && RoleOf(node) == Role::kNone;
    classes[offset] = hidden ? -1 : static_cast<int32_t>(label);
  });
}

void GeneratorNodes::FillLabelSets(uint32_t begin, uint32_t count, uint8_t* matrix) const {
  const RandomStream stream = GeneratorStream(plan_.seed, GeneratorUse::kLabel);
  const auto noise = static_cast<float>(plan_.label_noise);
  EachGroup(begin, count, [&](uint32_t offset, uint32_t group) {
    const uint8_t* set = label_sets_.data() + static_cast<size_t>(group) * plan_.classes;
    uint8_t* row = matrix + static_cast<size_t>(offset) * plan_.classes;
    const uint64_t first = (static_cast<uint64_t>(begin) + offset) * plan_.classes;
    for (uint32_t label = 0; label < plan_.classes; ++label) {
      row[label] = set[label] ^ static_cast<uint8_t>(stream.Uniform(first + label) < noise);
    }
  });
}

Role GeneratorNodes::RoleOf(uint32_t node) const {
  const uint32_t position = plan_.shuffled_split ? split_order_(node) : node;
  const auto stretch = std::upper_bound(plan_.split.begin(), plan_.split.end(), position,
                                        [](uint32_t p, const SplitStretch& s) { return p < s.end; });
  return stretch->role;
}

void GeneratorNodes::FillRoles(uint32_t begin, uint32_t count, uint8_t* roles) const {
  for (uint32_t offset = 0; offset < count; ++offset) {
    roles[offset] = static_cast<uint8_t>(RoleOf(begin + offset));
  }
}

}  // namespace l2gcn
