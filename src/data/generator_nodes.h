// Features, labels and roles of a synthetic graph's nodes, each a pure function of (plan, node): any range of
// nodes can be made on its own, by any thread.
//
// Gaussian features: the mean of the node's group plus unit noise. Word features: as many different words as
// the node is long, each from the topic of its group or from the background; both follow Zipf-like laws over
// one shuffled vocabulary, a topic being the background rotated. TF-IDF values: the word's share of the
// node's text times the logarithm of its expected rarity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.h"
#include "data/generator_graph.h"
#include "data/generator_shapes.h"

namespace l2gcn {

inline constexpr size_t kNodeGrain = 256;  // nodes a thread takes at least

class GeneratorNodes {
 public:
  // Both must outlive this.
  GeneratorNodes(const GeneratorPlan& plan, const GeneratorLayout& layout);

  // Rows of nodes begin, begin+1, …: rows is (count × features).
  void FillDense(uint32_t begin, uint32_t count, float* rows) const;

  // Words a node has.
  uint32_t WordCount(uint32_t node) const;
  // The words of nodes begin … begin+count−1, columns ascending within a node; both are (Σ WordCount).
  void FillWords(uint32_t begin, uint32_t count, uint32_t* columns, float* values) const;

  void FillClasses(uint32_t begin, uint32_t count, int32_t* classes) const;
  void FillLabelSets(uint32_t begin, uint32_t count, uint8_t* matrix) const;  // (count × classes)
  void FillRoles(uint32_t begin, uint32_t count, uint8_t* roles) const;

 private:
  Role RoleOf(uint32_t node) const;
  template <class Visit>
  void EachGroup(uint32_t begin, uint32_t count, const Visit& visit) const;
  void DrawMeans();
  void DrawLabelSets();
  void DrawVocabulary();
  void FillWordsOf(uint32_t node, uint32_t group, std::span<uint32_t> columns, float* values,
                   std::vector<uint8_t>& taken) const;

  const GeneratorPlan& plan_;
  const GeneratorLayout& layout_;
  Permutation split_order_;
  std::vector<float> means_;          // (groups × features), Gaussian features
  std::vector<uint8_t> label_sets_;   // (groups × classes), multi-label
  std::vector<uint32_t> vocabulary_;  // (features) column of each word, by falling background frequency
  std::vector<float> rarity_;         // (features) by column: log(1 / expected share of nodes with it), or 1
};

}  // namespace l2gcn
