// A data set of four nodes a b c d: a triangle a b c and the lone node d. Every optional part is present.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

template <class T>
Array<T> ArrayOf(const std::vector<T>& values) {
  return Array<T>::CopyOf(values);
}

inline Dataset SampleDataset(bool sparse, bool multilabel) {
  Dataset dataset;
  dataset.name = "sample";
  dataset.format = "test";
  dataset.graph.nodes = 4;
  dataset.graph.indptr = ArrayOf<uint64_t>({0, 2, 4, 6, 6});
  dataset.graph.indices = ArrayOf<uint32_t>({1, 2, 0, 2, 0, 1});
  dataset.graph.weights = ArrayOf<float>({1, 2, 1, 3, 2, 3});
  dataset.edges = 3;
  dataset.self_loops = 1;
  if (sparse) {
    dataset.features = Features::Sparse(
        {4, 5, ArrayOf<uint64_t>({0, 1, 2, 2, 3}), ArrayOf<uint32_t>({4, 0, 1}), ArrayOf<float>({1, 2, 3})});
  } else {
    dataset.features = Features::Dense({ArrayOf<float>({1, 2, 3, 4, 5, 6, 7, 8}), 4, 2});
  }
  dataset.labels.classes = 2;
  if (multilabel) {
    dataset.labels.multilabel = true;
    dataset.labels.matrix = ArrayOf<uint8_t>({1, 0, 1, 1, 0, 0, 0, 1});
    dataset.labels.labelled = ArrayOf<uint8_t>({1, 1, 1, 0});
  } else {
    dataset.labels.classes_of = ArrayOf<int32_t>({0, 1, 1, -1});
  }
  dataset.class_names = {"red", "blue"};
  dataset.splits = {{"paper", ArrayOf<uint8_t>({1, 2, 3, 0})}, {"file:0", ArrayOf<uint8_t>({3, 2, 1, 1})}};
  dataset.node_names = NameTable::FromStrings(std::vector<std::string>{"a", "b", "c", "d"});
  dataset.node_ids = ArrayOf<int64_t>({10, 20, 30, -40});
  return dataset;
}

template <class T>
void ExpectSameArray(const Array<T>& a, const Array<T>& b, const char* what) {
  EXPECT_EQ(std::vector<T>(a.begin(), a.end()), std::vector<T>(b.begin(), b.end())) << what;
}

inline void ExpectSameFeatures(const Features& a, const Features& b) {
  ASSERT_EQ(a.stores_sparse(), b.stores_sparse());
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  EXPECT_EQ(a.type(), b.type());
  if (a.stores_sparse()) {
    ExpectSameArray(a.csr().indptr, b.csr().indptr, "feature offsets");
    ExpectSameArray(a.csr().indices, b.csr().indices, "feature columns");
    ExpectSameArray(a.csr().values, b.csr().values, "feature values");
  } else if (a.type() == FeatureType::kF32) {
    ExpectSameArray(a.matrix().values, b.matrix().values, "dense features");
  } else {
    ExpectSameArray(a.halves(), b.halves(), "16-bit features");
  }
}

inline void ExpectSameData(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.preset_row, b.preset_row);
  EXPECT_EQ(a.edges, b.edges);
  EXPECT_EQ(a.self_loops, b.self_loops);
  EXPECT_EQ(a.inductive, b.inductive);
  EXPECT_EQ(a.graph.directed, b.graph.directed);
  ExpectSameArray(a.graph.indptr, b.graph.indptr, "indptr");
  ExpectSameArray(a.graph.indices, b.graph.indices, "indices");
  ExpectSameArray(a.graph.weights, b.graph.weights, "weights");
  ExpectSameFeatures(a.features, b.features);
  EXPECT_EQ(a.labels.multilabel, b.labels.multilabel);
  EXPECT_EQ(a.labels.classes, b.labels.classes);
  ExpectSameArray(a.labels.classes_of, b.labels.classes_of, "classes");
  ExpectSameArray(a.labels.matrix, b.labels.matrix, "label matrix");
  ExpectSameArray(a.labels.labelled, b.labels.labelled, "labelled");
  EXPECT_EQ(a.class_names, b.class_names);
  ASSERT_EQ(a.splits.size(), b.splits.size());
  for (size_t k = 0; k < a.splits.size(); ++k) {
    EXPECT_EQ(a.splits[k].name, b.splits[k].name);
    ExpectSameArray(a.splits[k].roles, b.splits[k].roles, "roles");
  }
  ASSERT_EQ(a.node_names.size(), b.node_names.size());
  for (size_t i = 0; i < a.node_names.size(); ++i) EXPECT_EQ(a.node_names[i], b.node_names[i]);
  ExpectSameArray(a.node_ids, b.node_ids, "ids");
}

}  // namespace l2gcn
